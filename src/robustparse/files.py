"""Reading text with clear errors, writing it whole or not at all."""

import hashlib
import os
import tempfile
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from robustparse.errors import InputError


def read_text(path: Path) -> str:
    """Return the text of a UTF-8 file.

    Raises:
        InputError: it is missing, unreadable, empty or not UTF-8.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    if not content.strip():
        raise InputError(f"{path}: the file is empty")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # The codec counts from behind a byte order mark, in the bytes it was left with.
        line = error.object[: error.start].count(b"\n") + 1
        found = "utf-16" if content.startswith((BOM_UTF16_LE, BOM_UTF16_BE)) else "latin1"
        raise InputError(
            f"{path}:{line}: not UTF-8 (byte 0x{error.object[error.start]:02x}); convert the file, "
            f"for example with iconv -f {found} -t utf-8"
        ) from None


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
