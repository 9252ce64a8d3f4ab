"""Write files atomically."""

import json
import os
import shutil
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any, TextIO

from robustparse.errors import InputError
from robustparse.files.output_folders import make_folder

if TYPE_CHECKING:
    from _typeshed import SupportsWrite


def unwritable(text: str) -> str | None:
    """Describe the first character of a text that cannot be written to a file of sentences.

    These are control characters (including NUL, tabs and line ends) and halves of surrogate pairs.
    Returns None if there is no such character.
    """
    for character in text:
        if unicodedata.category(character) in ("Cc", "Cs"):
            name = "NUL" if character == "\0" else "control"
            kind = "half a surrogate pair" if character >= "\ud800" else f"a {name} character"
            return f"{kind} (U+{ord(character):04X})"
    return None


def write_text(path: Path, content: str) -> None:
    """Write a text file; see `written`."""
    with written(path) as file:
        file.write(content)


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write a JSON object, indented; see `written`."""
    write_text(path, json.dumps(content, indent=2) + "\n")


def write_bytes(path: Path, content: bytes) -> None:
    """Write a binary file; see `written`."""
    with _replaced(path) as temporary:
        temporary.write_bytes(content)


@contextmanager
def written(path: Path) -> Iterator[TextIO]:
    """Open a temporary file that replaces the file at the end, so that readers never see a part.

    If the path is a symbolic link, its target is written. An existing file keeps its permissions;
    those of a new file follow the umask.

    Raises:
        InputError: the path is a folder or a device, or cannot be written (full disk).
    """
    with _replaced(path) as temporary, temporary.open("x", encoding="utf-8") as file:
        yield file


def write_pieces(file: "SupportsWrite[str]", pieces: Iterable[str]) -> str:
    """Write pieces of text; return the first one, the head of a file of examples."""
    several = iter(pieces)
    head = next(several, "")
    file.write(head)
    for piece in several:
        file.write(piece)
    return head


@contextmanager
def _replaced(path: Path) -> Iterator[Path]:
    """Give the name of a temporary file that replaces the file at the end; see `written`."""
    if path.is_dir():
        raise InputError("a folder", path=path, expected="the name of a file to write")
    if path.exists() and not path.is_file():
        raise InputError("not a regular file", path=path, expected="the name of a file to write")
    make_folder(path.parent)
    target = path.resolve()
    temporary = target.with_name(f".{target.name}.{token_hex(4)}")
    try:
        with writing(path):
            yield temporary
            with temporary.open("rb+") as file:
                os.fsync(file.fileno())
            if target.exists():
                shutil.copymode(target, temporary)
            temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def writing(
    path: Path,
    kept: str = "an earlier one is kept",
    remedy: str = "make room and run the command again",
) -> Iterator[None]:
    """Report errors of the operating system while writing a file, such as a full disk.

    Args:
        path: the file.
        kept: what is not lost, for the message.
        remedy: what the user can do.

    Raises:
        InputError: an `OSError` was raised inside.
    """
    try:
        yield
    except OSError as error:
        message = f"cannot be written ({error.strerror or error}); {kept}"
        raise InputError(message, path=path, remedy=remedy) from error
