"""Fields of the JSON that a report reads; a complaint names file or line, key and value."""

import json
import math
from typing import Any, TypeVar

from robustparse.errors import InputError
from robustparse.evaluation.pairs import REMEDY

Json = dict[str, Any]
T = TypeVar("T")


def is_number(value: object) -> bool:
    """Whether a value is a finite number, no boolean."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer beyond every float
        return False


def figure(record: Json, key: str, where: str) -> float | None:
    """Return a number, or null.

    Raises:
        InputError: it is neither, or missing.
    """
    if key not in record or (record[key] is not None and not is_number(record[key])):
        found = repr(record[key]) if key in record else "nothing"
        raise InputError(f"{where}: {key} must be a number or null, got {found}; {REMEDY}")
    return None if record[key] is None else float(record[key])


def get(record: Json, key: str, kind: type[T], where: str) -> T:
    """Return a value of a type.

    Raises:
        InputError: it is of another one, or missing.
    """
    value = record.get(key)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        found = f"got {value!r}" if key in record else "it is missing"
        raise InputError(f"{where}: {key} must be of type {kind.__name__}, {found}; {REMEDY}")
    return value


def parsed(text: str, where: str) -> Json:
    """Return the JSON object of a text.

    Raises:
        InputError: it is none.
    """
    record = parsed_any(text, where)
    if not isinstance(record, dict):
        raise InputError(f"{where}: expected a JSON object, got {type(record).__name__}; {REMEDY}")
    return record


def parsed_any(text: str, where: str) -> object:
    """Whatever JSON a text is.

    Raises:
        InputError: it is none.
    """
    try:
        found: object = json.loads(text)
        return found
    except ValueError as error:
        raise InputError(f"{where}: not JSON ({error}); {REMEDY}") from None
