"""A bidirectional language model over characters, without its output (Peters et al. 2018, 3.1).

A word vector comes from convolutions over the word's bytes and highway layers (Kim et al. 2016;
Jozefowicz et al. 2016). Two independent stacks of LSTMs with projections read it, one in each
direction.

The files of a published model are options in JSON and weights in HDF5, in the layout of the
released code (``bilm-tf``), which AllenNLP reads, too.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from robustparse.errors import InputError, optional_library, reason
from robustparse.models.encoders.lstm import reversed_rows, take_rows

# Ids of characters: 0 means none, byte b is 1 + b, and these follow.
_BYTES = 256
BEGIN_SENTENCE, END_SENTENCE, BEGIN_WORD, END_WORD, PADDING = range(1 + _BYTES, 6 + _BYTES)
CHARACTERS = PADDING + 1

_REMEDY = "give the options and the weights of one published model"


@dataclass(frozen=True)
class Sizes:
    """The sizes of a model, from its options file.

    Args:
        max_characters: maximum characters of a word, with the marks at both ends.
        character_dim: size of the character embeddings.
        filters: width and number of each convolution.
        activation: activation of the convolutions, ``relu`` or ``tanh``.
        highways: number of highway layers.
        projection: size of word vectors and of the states of a direction.
        cells: number of cells of an LSTM.
        layers: LSTM layers per direction.
        skip: whether every layer but the first adds its inputs to its states.
        cell_clip: largest absolute value of a cell; None: no limit.
        projection_clip: largest absolute value of a state; None: no limit.
    """

    max_characters: int
    character_dim: int
    filters: tuple[tuple[int, int], ...]
    activation: str
    highways: int
    projection: int
    cells: int
    layers: int
    skip: bool
    cell_clip: float | None
    projection_clip: float | None


class BiLM(nn.Module):
    """The whole model; its weights are zero or random until `fill` reads them from a file."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.sizes = sizes
        self.spelling = Spelling(sizes)
        count = range(sizes.layers)
        self.forwards = nn.ModuleList(ProjectedLSTM(sizes) for _ in count)
        self.backwards = nn.ModuleList(ProjectedLSTM(sizes) for _ in count)

    def read(self, inputs: Tensor, lengths: Tensor) -> list[Tensor]:
        """Read words in both directions.

        Args:
            inputs: ``(batch, length, projection)`` word vectors, with the marks at both ends of a
                sentence.
            lengths: ``(batch,)`` number of vectors.

        Returns:
            ``(batch, length, 2 * projection)`` per layer; the first is the inputs, twice.
        """
        rows = reversed_rows(lengths, inputs.shape[1])
        left, right = inputs, take_rows(inputs, rows)
        layers = [torch.cat([inputs, inputs], dim=-1)]
        for forward, backward in zip(self.forwards, self.backwards, strict=True):
            skip = self.sizes.skip and len(layers) > 1
            left = forward(left) + left if skip else forward(left)
            right = backward(right) + right if skip else backward(right)
            layers.append(torch.cat([left, take_rows(right, rows)], dim=-1))
        return layers

    def named_weights(self) -> Iterator[tuple[str, Tensor]]:
        """Yield each weight's name in a published file and a view of it in the file's layout."""
        spelling: Any = self.spelling
        stacks: Any = (self.forwards, self.backwards)
        yield "char_embed", spelling.characters.weight[1:]  # the file has no row for id 0
        for k, convolution in enumerate(spelling.convolutions):
            yield f"CNN/W_cnn_{k}", convolution.weight.permute(2, 1, 0).unsqueeze(0)
            yield f"CNN/b_cnn_{k}", convolution.bias
        for k, highway in enumerate(spelling.highways):
            yield f"CNN_high_{k}/W_carry", highway.carry.weight.T
            yield f"CNN_high_{k}/b_carry", highway.carry.bias
            yield f"CNN_high_{k}/W_transform", highway.transform.weight.T
            yield f"CNN_high_{k}/b_transform", highway.transform.bias
        yield "CNN_proj/W_proj", spelling.projection.weight.T
        yield "CNN_proj/b_proj", spelling.projection.bias
        for direction, stack in enumerate(stacks):
            for k, lstm in enumerate(stack):
                cell = f"RNN_{direction}/RNN/MultiRNNCell/Cell{k}/LSTMCell"
                yield f"{cell}/W_0", lstm.weight
                yield f"{cell}/B", lstm.bias
                yield f"{cell}/W_P_0", lstm.projection


class Spelling(nn.Module):
    """Computes word vectors from character ids."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.activation = {"relu": torch.relu, "tanh": torch.tanh}[sizes.activation]
        self.widest = max(width for width, _ in sizes.filters)
        self.characters = nn.Embedding(CHARACTERS, sizes.character_dim, padding_idx=0)
        self.convolutions = nn.ModuleList(
            nn.Conv1d(sizes.character_dim, number, width) for width, number in sizes.filters
        )
        filters = sum(number for _, number in sizes.filters)
        self.highways = nn.ModuleList(Highway(filters) for _ in range(sizes.highways))
        self.projection = nn.Linear(filters, sizes.projection)

    def forward(self, ids: Tensor) -> Tensor:
        """``(words, max_characters)`` -> ``(words, projection)``."""
        # All windows of padding are equal, so one per filter is enough for the maximum.
        used = int(((ids > 0) & (ids != PADDING)).any(0).sum())
        embedded = self.characters(ids[:, : used + self.widest]).transpose(1, 2)
        maxima = [self.activation(layer(embedded).amax(-1)) for layer in self.convolutions]
        states = torch.cat(maxima, dim=-1)
        for highway in self.highways:
            states = highway(states)
        projected: Tensor = self.projection(states)
        return projected


class Highway(nn.Module):
    """``g * relu(W x + b) + (1 - g) * x``, ``g = sigmoid(W' x + b')`` (Srivastava et al. 2015).

    Args:
        dim: of x.
    """

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.carry, self.transform = nn.Linear(dim, dim), nn.Linear(dim, dim)

    def forward(self, states: Tensor) -> Tensor:
        """``(..., dim)`` -> ``(..., dim)``."""
        gate = self.carry(states).sigmoid()
        changed: Tensor = gate * self.transform(states).relu() + (1 - gate) * states
        return changed


class ProjectedLSTM(nn.Module):
    """One layer in one direction (Sak et al. 2014), as TensorFlow computes and stores it.

    Gates are in the order input, new cell, forget, output; 1 is added to the forget gate. Cells and
    projected states are clipped at each step, which no fused kernel of torch supports; therefore a
    Python loop runs over time.
    """

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.cell_clip, self.projection_clip = sizes.cell_clip, sizes.projection_clip
        # Rows of the inputs, followed by rows of the states.
        self.weight = nn.Parameter(torch.zeros(2 * sizes.projection, 4 * sizes.cells))
        self.bias = nn.Parameter(torch.zeros(4 * sizes.cells))
        self.projection = nn.Parameter(torch.zeros(sizes.cells, sizes.projection))

    def forward(self, inputs: Tensor) -> Tensor:
        """``(batch, length, projection)`` -> states of the same shape."""
        of_input, of_state = self.weight.chunk(2)
        from_inputs = inputs @ of_input + self.bias
        state = inputs.new_zeros(len(inputs), self.projection.shape[1])
        cell = inputs.new_zeros(len(inputs), self.projection.shape[0])
        states = []
        for from_input in from_inputs.unbind(1):
            gates = from_input + state @ of_state
            enter, new, forget, leave = gates.chunk(4, dim=-1)
            cell = (forget + 1).sigmoid() * cell + enter.sigmoid() * new.tanh()
            cell = _clipped(cell, self.cell_clip)
            state = (leave.sigmoid() * cell.tanh()) @ self.projection
            state = _clipped(state, self.projection_clip)
            states.append(state)
        return torch.stack(states, dim=1)


def _clipped(values: Tensor, limit: float | None) -> Tensor:
    return values if limit is None else values.clamp(-limit, limit)


def read_options(path: str) -> str:
    """Return the text of an options file.

    Raises:
        InputError: it cannot be read.
    """
    try:
        return Path(path).expanduser().read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        message = f"the options cannot be read ({reason(error)})"
        raise InputError(message, path=path, key="ELMoEncoder: options") from error


def sizes_of(text: str, path: str | None) -> Sizes:
    """Read the sizes from the text of an options file.

    Args:
        text: the content of the file.
        path: the file, for errors; None if the text comes from a checkpoint.

    Raises:
        InputError: a value is missing or invalid; names its key, such as ``lstm.dim``.
    """
    try:
        held = json.loads(text)
    except (ValueError, RecursionError) as error:
        message = f"the options are not JSON ({reason(error)})"
        raise InputError(message, path=path, key="ELMoEncoder: options") from error
    options = _Options(held, path)
    sizes = Sizes(
        max_characters=options.whole("char_cnn.max_characters_per_token"),
        character_dim=options.whole("char_cnn.embedding.dim"),
        filters=options.filters("char_cnn.filters"),
        activation=options.one_of("char_cnn.activation", ("relu", "tanh")),
        highways=options.whole("char_cnn.n_highway"),
        projection=options.whole("lstm.projection_dim"),
        cells=options.whole("lstm.dim"),
        layers=options.whole("lstm.n_layers"),
        skip=options.one_of("lstm.use_skip_connections", (True, False)),
        cell_clip=options.limit("lstm.cell_clip"),
        projection_clip=options.limit("lstm.proj_clip"),
    )
    # Options written by training do not count id 0.
    options.one_of("char_cnn.n_characters", (CHARACTERS - 1, CHARACTERS))
    # The marks of a word's begin and end and one character.
    least = max(3, *(width for width, _ in sizes.filters))
    if sizes.max_characters < least:
        message = f"must be >= {least}, for its filters, got {sizes.max_characters}"
        raise InputError(message, path=path, key="char_cnn.max_characters_per_token")
    return sizes


class _Options:
    """Checked access to values by dotted keys."""

    def __init__(self, held: Any, path: str | None) -> None:
        self._held, self._path = held, path

    def _get(self, key: str) -> Any:
        node = self._held
        for name in key.split("."):
            if not isinstance(node, Mapping) or name not in node:
                expected = "the options of a bidirectional language model over characters"
                raise InputError("it is missing", path=self._path, key=key, expected=expected)
            node = node[name]
        return node

    def _refused(self, key: str, limit: str, value: object) -> InputError:
        return InputError(f"must be {limit}, got {value!r}", path=self._path, key=key)

    def whole(self, key: str) -> int:
        value = self._get(key)
        if type(value) is not int or value < 1:
            raise self._refused(key, "a whole number >= 1", value)
        return value

    def limit(self, key: str) -> float | None:
        value = self._get(key)
        if value is not None and (type(value) not in (int, float) or not value > 0):
            raise self._refused(key, "a number > 0 or null", value)
        return None if value is None else float(value)

    def one_of(self, key: str, allowed: tuple[Any, ...]) -> Any:
        value = self._get(key)
        if not any(type(value) is type(choice) and value == choice for choice in allowed):
            raise self._refused(key, f"one of {', '.join(map(str, allowed))}", value)
        return value

    def filters(self, key: str) -> tuple[tuple[int, int], ...]:
        value = self._get(key)
        pairs = value if isinstance(value, list) else []
        if not pairs or not all(
            isinstance(pair, list)
            and len(pair) == 2
            and all(type(number) is int and number > 0 for number in pair)
            for pair in pairs
        ):
            raise self._refused(key, "a list of pairs of width and number, each >= 1", value)
        return tuple((width, number) for width, number in pairs)


@torch.no_grad()
def fill(network: BiLM, path: str, options: str) -> None:
    """Read the weights of a network from a file.

    Args:
        network: a network with the sizes in the options.
        path: the file of the weights.
        options: the file of the options, for errors.

    Raises:
        InputError: h5py is missing; the file cannot be read; or its weights do not have the names
            and shapes that follow from the options, or are not finite.
    """
    extra = "run `pip install 'robustparse[elmo]'`"
    h5py = optional_library("h5py", "ELMoEncoder: weights", extra)
    try:
        with h5py.File(Path(path).expanduser(), "r") as file:
            held: dict[str, Any] = {}
            # Links into other files are not visited.
            file.visititems(lambda name, node: held.update({name: node}))
            shapes = {name: node.shape for name, node in held.items() if hasattr(node, "shape")}
            expected = {name: tuple(view.shape) for name, view in network.named_weights()}
            _check_shapes(shapes, expected, path, options)
            for name, view in network.named_weights():
                view.copy_(_numbers(held[name][()], name, path))
    except (OSError, RuntimeError) as error:
        message = f"the weights cannot be read ({reason(error)})"
        expected_file = "the HDF5 file of a published model"
        key = "ELMoEncoder: weights"
        raise InputError(message, path=path, key=key, expected=expected_file) from error


def _check_shapes(
    actual: Mapping[str, tuple[int, ...]],
    expected: Mapping[str, tuple[int, ...]],
    path: str,
    options: str,
) -> None:
    for name, shape in expected.items():
        if actual.get(name) != shape:
            message = f"has shape {list(actual[name])}" if name in actual else "it is missing"
            wanted = f"shape {list(shape)}, as {options} says"
            raise InputError(message, path=path, key=name, expected=wanted, remedy=_REMEDY)
    for name in sorted(actual.keys() - expected.keys()):
        if name.startswith(("CNN", "RNN")):
            message = f"has shape {list(actual[name])}, but the model has no such layer"
            wanted = f"only the layers of {options}"
            raise InputError(message, path=path, key=name, expected=wanted, remedy=_REMEDY)


def _numbers(values: NDArray[Any], name: str, path: str) -> Tensor:
    if values.dtype.kind != "f" or not np.isfinite(values).all():
        message = f"holds {values.dtype} values, not all of them finite numbers"
        raise InputError(message, path=path, key=name, expected="finite floating-point numbers")
    return torch.from_numpy(values.astype(np.float32))
