"""Limits on the content of a checkpoint, checked before memory is allocated.

A hostile file can state any size, and nest or repeat its settings. Its settings must not hold more
values than the file has bytes, and its layers not many more elements than its weights.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch.nn.modules import module as registration
from torch.utils._python_dispatch import TorchDispatchMode

from robustparse.errors import InputError, reason

TRAIN_AGAIN = "take another checkpoint or train the model again"
_DEEPEST = 64  # settings nested in settings
# Layers may need more elements than are stored: initial values, and tables that are not stored.
_TIMES, _FREE = 8, 1 << 24
_NUMBERED = {"aten.arange", "aten.eye", "aten.linspace", "aten.range"}
_NEW = ("aten.empty", "aten.zeros", "aten.ones", "aten.full", "aten.rand", "aten.new_")


def check_plain(settings: object, path: str | Path, key: str, most: int) -> None:
    """Check that settings are plain data, and not more than the file can hold.

    Args:
        settings: dictionaries, lists and tuples of texts, numbers, booleans and None.
        path: the file.
        key: the name of the settings in the file.
        most: the most values; the limit is needed because a stored value can be repeated.

    Raises:
        InputError: the settings are not plain data, too deep or too large.
    """
    waiting: list[tuple[object, int]] = [(settings, 0)]
    count = 0
    while waiting:
        value, depth = waiting.pop()
        count += 1
        if depth > _DEEPEST or count > most:
            problem = f"nested more than {_DEEPEST} deep" if depth > _DEEPEST else "repeats itself"
            raise InputError(problem, path=path, key=key, remedy=TRAIN_AGAIN)
        inner: Sequence[object] = ()
        if isinstance(value, dict):
            if not all(isinstance(name, str) for name in value):
                raise InputError("a key is not a text", path=path, key=key, remedy=TRAIN_AGAIN)
            inner = [*value.values()]
        elif isinstance(value, list | tuple):
            inner = value
        elif not (value is None or isinstance(value, bool | int | float | str)):
            problem = f"holds a {type(value).__name__}"
            raise InputError(problem, path=path, key=key, expected="plain data", remedy=TRAIN_AGAIN)
        waiting.extend((element, depth + 1) for element in inner)


def check_weights(weights: Mapping[Any, Any], path: str | Path, size: int) -> None:
    """Check that weights are dense tensors, and not larger than the file.

    Args:
        weights: the weights by name.
        path: the file.
        size: the size of the file in bytes.

    Raises:
        InputError: names the first such weight.
    """
    total = 0
    for name, weight in weights.items():
        fault = _fault(name, weight)
        total += weight.numel() if fault is None else 0
        if fault is None and total > size:
            fault = f"has {weight.numel()} elements, and the whole file {size} bytes"
        if fault is not None:
            problem = f"its weights do not fit a model: {name!r:.80} {fault}"
            raise InputError(problem, path=path, remedy=TRAIN_AGAIN)


def _fault(name: object, weight: object) -> str | None:
    if not isinstance(name, str):
        return "is not a text"
    if not isinstance(weight, torch.Tensor):
        return "is not a tensor"
    if weight.layout != torch.strided or weight.is_quantized or weight.is_complex():
        return f"has a type that no layer has ({weight.layout}, {weight.dtype})"
    return "has no values" if weight.is_meta else None


@contextmanager
def making_from(path: str | Path, weights: Mapping[str, torch.Tensor]) -> Iterator[None]:
    """Limit the layers that are made from a checkpoint's settings, and name its file in errors.

    Args:
        path: the checkpoint.
        weights: its weights.

    Raises:
        InputError: the layers need more elements than the weights have, or the settings raise
            another exception, such as negative sizes.
    """
    limits = _Limits(weights)
    hooks = [
        registration.register_module_parameter_registration_hook(limits.count),
        registration.register_module_module_registration_hook(limits.count),
    ]
    try:
        with limits:
            yield
    except InputError:
        raise
    except _TooMuchError as error:
        problem = f"its weights do not fit the model's settings: {error}"
        raise InputError(problem, path=path, remedy=TRAIN_AGAIN) from None
    except Exception as error:
        problem = f"its settings make no model ({type(error).__name__}: {reason(error)})"
        raise InputError(problem, path=path, remedy=TRAIN_AGAIN) from error
    finally:
        for hook in hooks:
            hook.remove()


class _TooMuchError(Exception):
    """Settings ask for more than the weights can fill."""


class _Limits(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts elements before they are allocated, and layers as they are made."""

    def __init__(self, weights: Mapping[str, torch.Tensor]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.stored = sum(weight.numel() for weight in weights.values())
        self.most = _TIMES * self.stored + _FREE
        self.most_layers = 16 * len(weights) + 1024
        self.elements = self.layers = 0

    def count(self, *_: object) -> None:
        """Count a parameter or a module."""
        self.layers += 1
        if self.layers > self.most_layers:
            raise _TooMuchError(f"more than {self.most_layers} layers")

    def __torch_dispatch__(
        self,
        func: Callable[..., Any],
        types: Any,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Run an operation of torch, unless its result would be too large."""
        name = str(func)
        new = name.startswith(_NEW)
        if (elements := _elements(name, args)) > self.most or (
            new and self.elements + elements > self.most
        ):
            raise _TooMuchError(f"a layer of {elements} elements, where {self.stored} are stored")
        self.elements += elements if new else 0
        return func(*args, **(kwargs or {}))


def _elements(name: str, arguments: Sequence[Any]) -> int:
    """Return the number of elements in the result of an operation of torch."""
    if name.rpartition(".")[0] in _NUMBERED:
        return math.prod(max(1, int(each)) for each in arguments if isinstance(each, int | float))
    shapes = (each for each in arguments if isinstance(each, list | tuple))
    sizes = ([size for size in shape if type(size) is int] for shape in shapes)
    return max((math.prod(max(1, size) for size in shape) for shape in sizes), default=0)
