"""Refuse null for settings that take none; jsonargparse lets every null of a file pass."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints


def misplaced_nulls(
    target: Callable[..., Any], values: Mapping[str, Any], key: str
) -> Iterator[str]:
    """Yield the keys of the settings that are null although their type has no null.

    Args:
        target: the class or function that takes the settings.
        values: the settings. Those of objects, which name their classes, are not looked into.
        key: of the settings as a whole; may be empty.
    """
    for name, (hint, default) in _parameters(target).items():
        value = values.get(name, default)
        inner = f"{key}.{name}" if key else name
        if value is None and default is not None and not _takes_null(hint):
            yield inner
        elif isinstance(value, Mapping) and "class_path" not in value:
            for each in (hint, *get_args(hint)):
                if isinstance(each, type) and is_dataclass(each):
                    yield from misplaced_nulls(each, value, inner)


@cache
def _parameters(target: Callable[..., Any]) -> dict[str, tuple[Any, Any]]:
    """Return type and default of each parameter; a class also takes those of its bases."""
    parameters: dict[str, tuple[Any, Any]] = {}
    bases = target.__mro__ if isinstance(target, type) else ()
    constructors = [vars(base)["__init__"] for base in bases if "__init__" in vars(base)]
    for function in constructors or [target]:
        try:
            hints = get_type_hints(function, include_extras=True)
            signature = inspect.signature(function)
        except (NameError, TypeError, ValueError):  # types that are not imported, or code in C
            continue
        for name, parameter in signature.parameters.items():
            parameters.setdefault(name, (hints.get(name, Any), parameter.default))
    return parameters


def _takes_null(hint: Any) -> bool:
    """Tell whether null may be a value of a type; a type that is not understood takes all."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _takes_null(inner[0])
    if origin in (Union, UnionType):
        return any(map(_takes_null, inner))
    if origin is Literal:
        return None in inner
    return origin is None and (not isinstance(hint, type) or hint in (NoneType, object))
