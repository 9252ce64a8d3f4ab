"""Unpack files that are compressed by gzip, xz or zip."""

import gzip
import lzma
import zipfile
import zlib
from pathlib import Path
from typing import IO, cast

from robustparse.errors import InputError, reason

MOST_UNPACKED = 2 << 30  # bytes; a damaged or hostile file may expand to much more
# First bytes of packed files; only gzip, xz and zip are unpacked.
_PACKED = {
    b"\x1f\x8b": "gzip",
    b"\xfd7zXZ\0": "xz",
    b"PK\x03\x04": "zip",
    b"PK\x05\x06": "zip",  # an empty archive
    b"BZh91AY&SY": "bzip2",
    b"\x28\xb5\x2f\xfd": "zstandard",
    b"7z\xbc\xaf\x27\x1c": "7-Zip",
    b"Rar!\x1a\x07": "RAR",
    b"\x1f\x9d": "compress",
    b"]\0\0": "LZMA",
    b"\x04\x22\x4d\x18": "LZ4",
}
_TAR = (257, b"ustar")  # offset and content of the mark of an archive
START = 262  # number of first bytes that `packed_by` needs
# What reading a file raises, and what opening a packed one raises besides: zipfile raises a
# RuntimeError if a file needs a password, and a kind of it if its method is not known.
UNREADABLE = (OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile)
_UNOPENED = (ValueError, RuntimeError)


def all_unpacked(file: IO[bytes], how: str, path: Path) -> bytes:
    """Return what a packed file holds.

    Raises:
        InputError: it is too large, or packed itself.
    """
    content = file.read(MOST_UNPACKED + 1)
    if len(content) > MOST_UNPACKED:
        problem = f"compressed by {how}, and over {MOST_UNPACKED >> 30} GiB when it is unpacked"
        raise InputError(problem, path=path, remedy="divide the file")
    if (inner := packed_by(content)) is not None:
        problem = f"compressed by {how}, and then by {inner}"
        raise InputError(problem, path=path, expected="one file", remedy="unpack the file")
    return content


def unpacking(file: IO[bytes], how: str, path: str | Path) -> IO[bytes]:
    """Return the unpacked content of a file.

    Raises:
        InputError: it is packed in another format than gzip, xz and zip, or holds several files.
    """
    try:
        if how == "gzip":
            return cast(IO[bytes], gzip.GzipFile(fileobj=file))
        if how == "xz":
            return lzma.open(file)
        if how == "zip":
            return zipfile.ZipFile(file).open(_only_member(file, path))
    except InputError:  # a `ValueError`, too
        raise
    except _UNOPENED as error:
        raise damaged(path, how, error) from None
    problem, remedy = f"compressed by {how}", "unpack the file"
    expected = "a plain file, or one compressed by gzip, xz or zip"
    raise InputError(problem, path=path, expected=expected, remedy=remedy)


def damaged(path: str | Path, how: str, error: Exception) -> InputError:
    """Return the error for a file that is compressed in a known format, but cannot be unpacked."""
    problem = f"compressed by {how}, and cannot be unpacked ({reason(error)})"
    return InputError(problem, path=path, remedy="copy the file again, or unpack it")


def packed_by(content: bytes) -> str | None:
    """Return the format in which a file is packed, by its first `START` bytes, or None."""
    if content.startswith(_TAR[1], _TAR[0]):
        return "tar"
    return next((name for start, name in _PACKED.items() if content.startswith(start)), None)


def _only_member(file: IO[bytes], path: str | Path) -> str:
    """Return the name of the only file in a zip archive.

    Raises:
        InputError: the archive is empty or holds several files.
    """
    with zipfile.ZipFile(file) as archive:
        names = [
            name
            for name in archive.namelist()
            # macOS adds a folder with metadata.
            if not name.endswith("/") and not name.startswith("__MACOSX/")
        ]
    if not {"[Content_Types].xml", "content.xml"}.isdisjoint(names):
        remedy = "save it as text, a spreadsheet as CSV for example"
        raise InputError("a file of an office program", path=path, remedy=remedy)
    if len(names) != 1:
        problem = f"a zip archive of {len(names)} files"
        raise InputError(problem, path=path, expected="one file in it", remedy="unpack the archive")
    return names[0]


def plain_name(path: str | Path) -> str:
    """Return the name of the unpacked file: ``a.tsv`` for ``a.tsv.gz``.

    For ``a.zip`` it is the name of the file in it, if the archive is readable and holds one file.
    """
    path = Path(path)
    if path.suffix.lower() in (".gz", ".xz"):
        return path.stem
    if path.suffix.lower() != ".zip":
        return path.name
    try:
        with path.open("rb") as file:
            return Path(_only_member(file, path)).name
    except (*UNREADABLE, *_UNOPENED):  # reported when the file is read
        return path.stem


def plain_ending(path: str | Path) -> str:
    """Return the ending of the name of the unpacked file in lower case, such as ``.tsv``."""
    return Path(plain_name(path)).suffix.lower()
