"""Read text files, compressed or not, with clear errors."""

from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BytesIO
from pathlib import Path
from typing import IO

from robustparse.errors import InputError, reason
from robustparse.files.compression import (
    START,
    UNREADABLE,
    all_unpacked,
    damaged,
    packed_by,
    unpacking,
)
from robustparse.files.paths import remedy_for_url

# The beginning of what Git leaves in place of a large file that it has not fetched.
_POINTER = b"version https://git-lfs.github.com/spec/v1\n"
_ENDLESS = {Path("/dev") / name for name in ("zero", "full", "random", "urandom")}
_PIECE = 1 << 20  # bytes of lines that are read at once
_EMPTY = "the file is empty"
NUL = "a NUL character, which does not occur in text"


def check_fetched(path: Path) -> None:
    """Check that a file is not the pointer that Git leaves in place of a file it has not fetched.

    A file that cannot be read passes: what reads it reports that.

    Raises:
        InputError: it is a pointer of Git LFS.
    """
    with suppress(OSError), path.open("rb") as file:
        _check_fetched(file.read(len(_POINTER)), path)


def _check_fetched(start: bytes, path: Path) -> None:
    if start.startswith(_POINTER):
        problem = "a pointer of Git LFS to a file that was not fetched"
        raise InputError(problem, path=path, remedy="run `git lfs pull` in its folder")


def read_bytes(path: Path) -> bytes:
    """Return the content of a file, unpacked if it is packed: gzip, xz, or zip with one file in it.

    The format is recognised by the first bytes, not by the name.

    Raises:
        InputError: see `opened`; or the file expands to more than `MOST_UNPACKED` bytes.
    """
    with unpacked(path) as file:
        return file.read()


@contextmanager
def unpacked(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for reading bytes, which is unpacked as by `read_bytes`.

    A packed file is unpacked whole first, because damage shows only at its end.

    Raises:
        InputError: see `read_bytes`.
    """
    with _opened(path) as (file, how):
        yield file if how is None else BytesIO(all_unpacked(file, how, path))


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for reading bytes piece by piece, unpacked as by `read_bytes`.

    Raises:
        InputError: it is missing, not fetched, unreadable, damaged, holds several files, or is
            packed in another format.
    """
    with _opened(path) as (file, _):
        yield file


@contextmanager
def _opened(path: Path) -> Iterator[tuple[IO[bytes], str | None]]:
    """Open a file, see `opened`; also return the format of compression, or None."""
    how = None
    try:
        if path.resolve() in _ENDLESS:
            raise InputError("a device that never ends", path=path, expected="a file")
        with path.open("rb") as file:
            start = file.read(START)
            _check_fetched(start, path)
            how = packed_by(start)
            whole: IO[bytes] = file if file.seekable() else BytesIO(start + file.read())
            whole.seek(0)
            yield (whole if how is None else unpacking(whole, how, path)), how
    except FileNotFoundError:
        raise InputError("no such file", path=path, remedy=remedy_for_url(path)) from None
    except IsADirectoryError:
        raise InputError(
            "a folder", path=path, expected="a file", remedy="name one in it"
        ) from None
    except UNREADABLE as error:
        if how is not None:
            raise damaged(path, how, error) from None
        said = error.strerror if isinstance(error, OSError) else None
        raise InputError(f"cannot be read: {said or reason(error)}", path=path) from None


def read_text(path: Path) -> str:
    """Return the text of a UTF-8 file, packed or not.

    Raises:
        InputError: see `read_bytes`; or it is empty or not UTF-8, or holds a NUL character.
    """
    content = read_bytes(path)
    if not content.strip():
        raise _empty(path)
    text = _decoded(content, path, 1)
    # Old programs end lines with only a carriage return.
    return text if "\n" in text else text.replace("\r", "\n")


def read_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield number and text of each line of a UTF-8 file, without empty lines at the end.

    Only some lines are in memory at a time, unless the file is packed.

    Raises:
        InputError: see `read_text`; what was read before the mistake has been yielded.
    """
    blank: list[tuple[int, str]] = []  # lines since the last one with text
    has_text = False
    for number, line in enumerate(_each_line(path), start=1):
        if line.strip():
            yield from blank
            yield number, line
            blank, has_text = [], True
        else:
            blank.append((number, line))
    if not has_text:
        raise _empty(path)
    while blank and not blank[-1][1].strip("\r"):
        blank.pop()
    yield from blank


def _empty(path: Path) -> InputError:
    remedy = None if path.is_file() else "save the data in a file: a pipe can be read only once"
    return InputError(_EMPTY, path=path, remedy=remedy)


def _each_line(path: Path) -> Iterator[str]:
    """Yield each line of a UTF-8 file without its end."""
    with unpacked(path) as file:
        number = 1
        while content := file.readlines(_PIECE):
            text = _decoded(b"".join(content), path, number)
            if number == 1 and "\n" not in text:
                text = text.replace("\r", "\n")  # as old programs end lines
            yield from (line.removesuffix("\r") for line in text.removesuffix("\n").split("\n"))
            number += len(content)


def _decoded(content: bytes, path: Path, first: int) -> str:
    """Decode UTF-8 without byte order marks, which joined files have in front of later lines, too.

    Args:
        content: whole lines of a file.
        path: the file.
        first: the number of the first line in them.
    """
    try:
        text = content.decode("utf-8-sig").replace("\n\ufeff", "\n")
    except UnicodeDecodeError as error:
        # The position is relative to the bytes after a byte order mark.
        line = first + error.object[: error.start].count(b"\n")
        raise InputError(
            f"not UTF-8 (byte 0x{error.object[error.start]:02x})",
            path=path,
            line=line,
            remedy=_remedy_for_encoding(content),
        ) from None
    if (at := text.find("\0")) >= 0:
        raise InputError(NUL, path=path, line=first + text.count("\n", 0, at))
    return text


def _remedy_for_encoding(content: bytes) -> str:
    """Return what the user can do about a file that is not UTF-8."""
    if content.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        encoding = "utf-16"
    elif b"\0" in content:
        remedy = "save it as text, a spreadsheet as CSV for example"
        return f"{remedy}; for a dataset that `datasets` saved, name its folder"
    else:
        encoding = "cp1252"  # Latin-1 and the characters that Windows adds
    return f"convert the file, for example with iconv -f {encoding} -t utf-8"
