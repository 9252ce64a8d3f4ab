"""Decode untrusted JSON, with clear errors."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from robustparse.errors import InputError, reason
from robustparse.files.reading import NUL, read_text

T = TypeVar("T")
# Escapes of characters that no UTF-8 text contains: NUL, and halves of surrogate pairs.
_SUSPECT = re.compile(r"\\u(?:0000|[dD][89a-fA-F])")
_HALF = re.compile("[\ud800-\udfff]")


def read_json(path: Path, kind: type[T], remedy: str | None = None) -> T:
    """Read a UTF-8 file that holds one JSON object or list.

    Args:
        path: the file.
        kind: `dict` for an object, `list` for a list, `object` for either.
        remedy: what the user can do if the file cannot be used.

    Raises:
        InputError: the file cannot be read or is not of this kind; or see `decode_json`.
    """
    return decode_json(read_text(path), kind, path=path, remedy=remedy)


def decode_json(
    text: str,
    kind: type[T],
    *,
    path: Path | None = None,
    line: int | None = None,
    remedy: str | None = None,
) -> T:
    """Decode untrusted JSON.

    Args:
        text: the JSON text.
        kind: see `read_json`.
        path: the file of the text.
        line: the line of the text in the file; None if the text is the whole file.
        remedy: see `read_json`.

    Raises:
        InputError: the text is not JSON, not of this kind, or nested too deep; or it has an integer
            of more digits than Python accepts, a repeated key, a NUL character or half a surrogate
            pair.
    """
    expected = "a JSON object" if kind is dict else "a JSON list" if kind is list else "JSON"

    def refused(problem: str, **place: Any) -> InputError:
        return InputError(problem, **{"path": path, "line": line, "remedy": remedy, **place})

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        table = dict(pairs)
        if len(table) < len(pairs):
            keys = [key for key, _ in pairs]
            repeated = next(key for key in keys if keys.count(key) > 1)
            raise refused("appears twice", key=repr(repeated))
        return table

    try:
        value: object = json.loads(text, object_pairs_hook=unique)
        if _SUSPECT.search(text):
            check_texts(value)
    except json.JSONDecodeError as error:
        place = error.lineno if line is None else line
        raise refused(f"not JSON ({error.msg})", line=place, expected=expected) from None
    except RecursionError:
        raise refused("nested too deep") from None
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        # A number over Python's limit of digits, or a text that cannot be written to a file.
        raise refused(f"cannot be used ({reason(error).partition(';')[0]})") from None
    if not isinstance(value, kind):
        raise refused(f"found {type(value).__name__}", expected=expected)
    return value


def check_texts(value: object) -> None:
    """Reject keys and values of JSON that cannot be written to a text file.

    Raises:
        ValueError: names the character.
    """
    if isinstance(value, str):
        if "\0" in value:
            raise ValueError(NUL)
        if half := _HALF.search(value):
            raise ValueError(f"half a surrogate pair, {half[0]!a}, which is no character")
    elif isinstance(value, dict):
        check_texts([*value, *value.values()])
    elif isinstance(value, list):
        for item in value:
            check_texts(item)


@contextmanager
def as_written(
    path: Path, by: str, key: str | None = None, line: int | None = None
) -> Iterator[None]:
    """Report errors in the content of a file that a command wrote as an `InputError`.

    Args:
        path: the file.
        by: the command that writes it.
        key: the key that is read.
        line: the line that is read.

    Raises:
        InputError: a value that is read inside is missing or has a wrong type.
    """
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        message = f"not as `robustparse {by}` writes it ({reason(error)})"
        remedy = f"run {by} again"
        raise InputError(message, path=path, key=key, line=line, remedy=remedy) from None
