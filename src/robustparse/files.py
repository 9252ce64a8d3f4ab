"""Reading text with clear errors, writing it whole or not at all."""

import hashlib
import json
import os
import tempfile
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO, TypeVar

from robustparse.errors import InputError, reason

T = TypeVar("T")


def read_text(path: Path) -> str:
    """Return the text of a UTF-8 file.

    Raises:
        InputError: it is missing, unreadable, empty or not UTF-8.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise InputError("no such file", path=path) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path=path) from None
    if not content.strip():
        raise InputError("the file is empty", path=path)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # The codec counts from after a byte order mark, in the bytes it was left with.
        line = error.object[: error.start].count(b"\n") + 1
        found = "utf-16" if content.startswith((BOM_UTF16_LE, BOM_UTF16_BE)) else "latin1"
        raise InputError(
            f"not UTF-8 (byte 0x{error.object[error.start]:02x})",
            path=path,
            line=line,
            remedy=f"convert the file, for example with iconv -f {found} -t utf-8",
        ) from None


def read_json(path: Path, kind: type[T], remedy: str | None = None) -> T:
    """Read a UTF-8 file that holds one JSON object or list.

    Args:
        path: the file.
        kind: `dict` for an object, `list` for a list, `object` for either.
        remedy: what the user can do about a file that cannot be used.

    Raises:
        InputError: the file cannot be read, is not JSON or not of the kind, or an object in it has
            a key twice; names the file, and line or key.
    """
    expected = "a JSON object" if kind is dict else "a JSON list" if kind is list else "JSON"
    content = read_text(path)

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        table = dict(pairs)
        if len(table) < len(pairs):
            keys = [key for key, _ in pairs]
            repeated = next(key for key in keys if keys.count(key) > 1)
            raise InputError("appears twice", path=path, key=repr(repeated), remedy=remedy)
        return table

    try:
        found: object = json.loads(content, object_pairs_hook=unique)
    except InputError:
        raise
    except (ValueError, RecursionError) as error:
        line = error.lineno if isinstance(error, json.JSONDecodeError) else None
        reason = error.msg if isinstance(error, json.JSONDecodeError) else error
        raise InputError(
            f"not JSON ({reason})", path=path, line=line, expected=expected, remedy=remedy
        ) from None
    if not isinstance(found, kind):
        raise InputError(
            f"found {type(found).__name__}", path=path, expected=expected, remedy=remedy
        )
    return found


@contextmanager
def as_written(path: Path, by: str, key: str | None = None) -> Iterator[None]:
    """Make one error of all that is wrong with a file that a command writes.

    Args:
        path: the file.
        by: the command.
        key: what is read of it.

    Raises:
        InputError: something that is read within is missing or of another type.
    """
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        found = f"not as `robustparse {by}` writes it ({reason(error)})"
        raise InputError(found, path=path, key=key, remedy=f"run {by} again") from None


def file_digest(path: Path) -> str:
    """SHA-256 of a file's content.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def folder_digest(path: Path) -> str:
    """SHA-256 over the names and contents of all files in and below a folder, hidden ones not.

    Raises:
        OSError: one cannot be read.
    """
    whole = hashlib.sha256()
    for inner in sorted(path.rglob("*")):
        name = inner.relative_to(path)
        if inner.is_file() and not any(part.startswith(".") for part in name.parts):
            whole.update(f"{name.as_posix()} {file_digest(inner)}\n".encode())
    return whole.hexdigest()


def make_folder(path: Path) -> Path:
    """Create an output folder and make sure that it can be written to.

    Raises:
        InputError: it cannot.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            return path
    except OSError as error:
        raise InputError(
            f"{path}: the output folder is not writable ({error.strerror}); choose another"
        ) from None


def write_text(path: Path, content: str) -> None:
    """Write a whole text; see `written`."""
    with written(path) as file:
        file.write(content)


@contextmanager
def written(path: Path) -> Iterator[TextIO]:
    """Give a file that is written aside, then renamed: readers see the old one or the new one,
    whole.

    Raises:
        InputError: it is a folder, or the folder that it is to lie in is not writable.
    """
    if path.is_dir():
        raise InputError(f"{path}: a folder; expected the name of a file to write")
    make_folder(path.parent)
    handle, aside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(aside, 0o644)
        os.replace(aside, path)
    except BaseException:
        os.unlink(aside)
        raise
