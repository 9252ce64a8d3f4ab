"""A bidirectional language model over characters, without its output (Peters et al. 2018, 3.1).

A word is spelled by convolutions over its bytes and highway layers (Kim et al. 2016; Jozefowicz et
al. 2016); its vector is read by two stacks of LSTMs with projections, one in each direction, which
do not see each other.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from robustparse.models.encoders.lstm import reversed_rows, take_rows

# Ids of characters: 0 stands for none, byte b is 1 + b, and these follow.
_BYTES = 256
BEGIN_SENTENCE, END_SENTENCE, BEGIN_WORD, END_WORD, PADDING = range(1 + _BYTES, 6 + _BYTES)
CHARACTERS = PADDING + 1


@dataclass(frozen=True)
class Sizes:
    """What an options file says of a model.

    Args:
        max_characters: of a word, with the marks of its begin and its end.
        character_dim: of the embeddings of characters.
        filters: width and number of each convolution.
        activation: of the convolutions, ``relu`` or ``tanh``.
        highways: how many layers.
        projection: of a word's vector, and of a direction's states.
        cells: of an LSTM.
        layers: of LSTMs in each direction.
        skip: add its inputs to the states of every layer but the first.
        cell_clip: largest size of a cell; None: no limit.
        projection_clip: largest size of a state; None: no limit.
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
    """The whole model; its weights are zero or random, to be filled from a file.

    Args:
        sizes: of its layers.
    """

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
            inputs: ``(batch, length, projection)`` vectors of spelled words, with the marks of
                the sentence's begin and end.
            lengths: ``(batch,)`` how many there are.

        Returns:
            ``(batch, length, 2 * projection)`` a layer; the first is the inputs, twice.
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
        """Yield each weight's name in a published file, and a view of it in that file's layout."""
        spelling: Any = self.spelling
        stacks: Any = (self.forwards, self.backwards)
        yield "char_embed", spelling.characters.weight[1:]  # the file has no row for none
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
    """Character ids of words -> a vector a word."""

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
        # Windows of only padding are all alike: of each filter's, one counts in the maximum.
        used = int(((ids > 0) & (ids != PADDING)).any(0).sum())
        embedded = self.characters(ids[:, : used + self.widest]).transpose(1, 2)
        found = [self.activation(one(embedded).amax(-1)) for one in self.convolutions]
        states = torch.cat(found, dim=-1)
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

    Gates are in the order input, new cell, forget, output; 1 is added to the forget gate. Cells
    and projected states are clipped at each step, before the next one reads them, which no fused
    kernel of torch does: hence a loop over time, each step of which is batched.
    """

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.cell_clip, self.projection_clip = sizes.cell_clip, sizes.projection_clip
        # The rows of the inputs come first, then those of the states.
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
