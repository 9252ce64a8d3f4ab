"""Files of a published bidirectional language model: options in JSON, weights in HDF5.

Their layout is that of Peters et al. (2018), released code (``bilm-tf``), and of AllenNLP, which
reads it.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from robustparse.errors import InputError, optional_library, reason
from robustparse.models.encoders.bilm.network import CHARACTERS, BiLM, Sizes

_REMEDY = "give the options and the weights of one published model"


def read_options(path: str) -> str:
    """Return the text of an options file.

    Raises:
        InputError: it cannot be read.
    """
    try:
        return Path(path).expanduser().read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        found = f"the options cannot be read ({reason(error)})"
        raise InputError(found, path=path, key="ELMoEncoder: options") from error


def sizes_of(text: str, path: str | None) -> Sizes:
    """Return what options say.

    Args:
        text: of an options file.
        path: of that file, for errors; None where a checkpoint holds the text.

    Raises:
        InputError: names the key, such as ``lstm.dim``, whose value is missing or of no use.
    """
    try:
        held = json.loads(text)
    except (ValueError, RecursionError) as error:
        found = f"the options are not JSON ({reason(error)})"
        raise InputError(found, path=path, key="ELMoEncoder: options") from error
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
    # Those of training do not count the id of no character.
    options.one_of("char_cnn.n_characters", (CHARACTERS - 1, CHARACTERS))
    # The marks of a word's begin and end and one character.
    least = max(3, *(width for width, _ in sizes.filters))
    if sizes.max_characters < least:
        found = f"must be >= {least}, for its filters, got {sizes.max_characters}"
        raise InputError(found, path=path, key="char_cnn.max_characters_per_token")
    return sizes


class _Options:
    """Values by dotted keys, checked."""

    def __init__(self, held: Any, path: str | None) -> None:
        self._held, self._path = held, path

    def _get(self, key: str) -> Any:
        node = self._held
        for part in key.split("."):
            if not isinstance(node, Mapping) or part not in node:
                expected = "the options of a bidirectional language model over characters"
                raise InputError("it is missing", path=self._path, key=key, expected=expected)
            node = node[part]
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
        if not any(type(value) is type(one) and value == one for one in allowed):
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
    """Fill a network with the weights of a file.

    Args:
        network: of the sizes that the options say.
        path: of the weights.
        options: where the sizes are from, for errors.

    Raises:
        InputError: h5py is missing, or the file cannot be read, or its weights have other names or
            shapes than the options ask for, or are not finite.
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
        found = f"the weights cannot be read ({reason(error)})"
        expected_file = "the HDF5 file of a published model"
        key = "ELMoEncoder: weights"
        raise InputError(found, path=path, key=key, expected=expected_file) from error


def _check_shapes(
    found: Mapping[str, tuple[int, ...]],
    expected: Mapping[str, tuple[int, ...]],
    path: str,
    options: str,
) -> None:
    for name, shape in expected.items():
        if found.get(name) != shape:
            there = f"has shape {list(found[name])}" if name in found else "it is missing"
            asked = f"shape {list(shape)}, as {options} says"
            raise InputError(there, path=path, key=name, expected=asked, remedy=_REMEDY)
    for name in sorted(found.keys() - expected.keys()):
        if name.startswith(("CNN", "RNN")):
            there = f"has shape {list(found[name])}, and no layer of the model takes it"
            asked = f"only the layers of {options}"
            raise InputError(there, path=path, key=name, expected=asked, remedy=_REMEDY)


def _numbers(values: NDArray[Any], name: str, path: str) -> Tensor:
    if values.dtype.kind != "f" or not np.isfinite(values).all():
        found = f"holds {values.dtype} values, not all of them finite numbers"
        raise InputError(found, path=path, key=name, expected="finite floating-point numbers")
    return torch.from_numpy(values.astype(np.float32))
