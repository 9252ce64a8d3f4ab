"""Read text files, compressed or not, with clear errors; write files atomically."""

import gzip
import hashlib
import json
import lzma
import os
import re
import shutil
import tempfile
import unicodedata
import zipfile
import zlib
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from glob import iglob
from io import BytesIO
from pathlib import Path
from secrets import token_hex
from typing import IO, TYPE_CHECKING, Any, TextIO, TypeVar, cast

from filelock import FileLock, Timeout

from robustparse.errors import InputError, reason
from robustparse.pretrained.hub import HUB, VOCABULARY, WEIGHTS, fetched

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

T = TypeVar("T")

Sources = str | Path | Sequence[str | Path]
"""A file, or several that are read as if they were joined in this order; see `each_path`."""

LOCK = ".lock"
BLOCKS = ".blocks"  # the ending of the folder of blocks next to an output, see `cli.ray_blocks`
_PATTERN = re.compile(r"[*?[]")
_REMOTE = re.compile(r"[a-z][a-z0-9+.-]+:/", re.IGNORECASE)  # a scheme, in a path
_AS_VICTIM = (
    "a Hugging Face classifier is a victim: give --victim hf:FOLDER, in Python "
    "robustparse.victims.HuggingFaceClassifier(FOLDER)"
)
_CHECKPOINTS = ("best.ckpt", "last.ckpt", WEIGHTS)  # of a run, and of a shared model
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
# The beginning of what Git leaves in place of a large file that it has not fetched.
_POINTER = b"version https://git-lfs.github.com/spec/v1\n"
_ENDLESS = {Path("/dev") / name for name in ("zero", "full", "random", "urandom")}
_TAR = (257, b"ustar")  # offset and content of the mark of an archive
_START = 262  # number of first bytes that `_packed_by` needs
# What reading a file raises, and what opening a packed one raises besides.
_UNREADABLE = (OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile)
_UNOPENED = (ValueError, RuntimeError, NotImplementedError)
_PIECE = 1 << 20  # bytes of lines that are read at once
_EMPTY = "the file is empty"
_NUL = "a NUL character, which does not occur in text"
# Escapes of characters that no UTF-8 text contains: NUL, and halves of surrogate pairs.
_SUSPECT = re.compile(r"\\u(?:0000|[dD][89a-fA-F])")


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


def checkpoint_file(path: str | Path, key: str | None = None) -> Path:
    """Return the file of a checkpoint: in the folder of a run ``best.ckpt``, else ``last.ckpt``.

    Args:
        path: the file, the folder of a training run or of a shared model, or a model on the hub
            (``hf://OWNER/NAME``).
        key: the option that names it.

    Raises:
        InputError: there is no such checkpoint, or it was not fetched.
    """
    path = with_home(fetched(path) if isinstance(path, str) and path.startswith(HUB) else path)
    is_folder = os.path.isdir(path)  # noqa: PTH112 - `Path` rejects texts too long for a name
    for file in [path / name for name in _CHECKPOINTS] if is_folder else [path]:
        if os.path.isfile(file):  # noqa: PTH113
            check_fetched(file)
            if file.name == WEIGHTS and not file.with_name(VOCABULARY).is_file():
                found, expected = f"there is no {VOCABULARY} next to it", "a model of robustparse"
                raise InputError(found, path=file, key=key, expected=expected, remedy=_AS_VICTIM)
            return file
        if os.path.lexists(file):  # the folder's other checkpoint is not meant
            found = "a link to a missing file" if Path(file).is_symlink() else "not a regular file"
            raise InputError(found, path=file, key=key, expected="a checkpoint")
    folder = path if is_folder else path.parent
    others = ", ".join(sorted(other.name for other in folder.glob("*.ckpt") if other.is_file()))
    remedy = f"{folder} has {others}" if others else _of_remote(path)
    if path.name.startswith("hf:"):
        remedy = _AS_VICTIM
    raise InputError("no such checkpoint", path=path, key=key, remedy=remedy)


def with_home(path: str | Path) -> Path:
    """Return a path with the user's home folder in place of a first ``~``."""
    return Path(os.path.expanduser(path))  # noqa: PTH111 - `Path` raises on names such as ~a


def check_folder(
    folder: Path, *, key: str | None = None, expected: str | None = None, remedy: str | None = None
) -> None:
    """Check that a path is a folder; the other arguments are those of the error.

    Raises:
        InputError: there is no such folder, or it is a file.
    """
    if not folder.is_dir():
        found = "a file, not a folder" if folder.exists() else "no such folder"
        remedy = _of_remote(folder) or remedy
        raise InputError(found, path=folder, key=key, expected=expected, remedy=remedy)


def _of_remote(path: Path) -> str | None:
    """Return what to do if a path is a URL, whose slashes a `Path` has joined."""
    remedy = "download it; only options of the command line such as --data read URLs"
    return remedy if _REMOTE.match(path.as_posix()) else None


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
        found = "a pointer of Git LFS to a file that was not fetched"
        raise InputError(found, path=path, remedy="run `git lfs pull` in its folder")


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
        yield file if how is None else BytesIO(_all_unpacked(file, how, path))


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
            start = file.read(_START)
            _check_fetched(start, path)
            how = _packed_by(start)
            whole: IO[bytes] = file if file.seekable() else BytesIO(start + file.read())
            whole.seek(0)
            yield (whole if how is None else _unpacking(whole, how, path)), how
    except FileNotFoundError:
        raise InputError("no such file", path=path, remedy=_of_remote(path)) from None
    except IsADirectoryError:
        raise InputError(
            "a folder", path=path, expected="a file", remedy="name one in it"
        ) from None
    except _UNREADABLE as error:
        if how is not None:
            raise _damaged(path, how, error) from None
        said = error.strerror if isinstance(error, OSError) else None
        raise InputError(f"cannot be read: {said or reason(error)}", path=path) from None


def _all_unpacked(file: IO[bytes], how: str, path: Path) -> bytes:
    """Return what a packed file holds.

    Raises:
        InputError: it is too large, or packed itself.
    """
    content = file.read(MOST_UNPACKED + 1)
    if len(content) > MOST_UNPACKED:
        found = f"compressed by {how}, and over {MOST_UNPACKED >> 30} GiB when it is unpacked"
        raise InputError(found, path=path, remedy="divide the file")
    if (inner := _packed_by(content)) is not None:
        found = f"compressed by {how}, and then by {inner}"
        raise InputError(found, path=path, expected="one file", remedy="unpack the file")
    return content


def _unpacking(file: IO[bytes], how: str, path: str | Path) -> IO[bytes]:
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
        raise _damaged(path, how, error) from None
    found, remedy = f"compressed by {how}", "unpack the file"
    expected = "a plain file, or one compressed by gzip, xz or zip"
    raise InputError(found, path=path, expected=expected, remedy=remedy)


def _damaged(path: str | Path, how: str, error: Exception) -> InputError:
    found = f"compressed by {how}, and cannot be unpacked ({reason(error)})"
    return InputError(found, path=path, remedy="copy the file again, or unpack it")


def each_path(sources: Sources) -> list[Path]:
    """Return the path of each file; a pattern stands for all files that it matches.

    Raises:
        InputError: see `matching_files`.
    """
    several = [sources] if isinstance(sources, str | Path) else sources
    return [Path(file) for each in several for file in matching_files(str(each))]


def matching_files(pattern: str) -> list[str]:
    """Return the files that a pattern such as ``part-*.tsv`` matches, in the order of their names.

    ``**`` matches folders of any depth. A name without ``*``, ``?`` or ``[``, or of an existing
    file or folder, is returned as it is, apart from a leading ``~``.

    Raises:
        InputError: the pattern matches no file.
    """
    pattern = os.path.expanduser(pattern)  # noqa: PTH111 - of any length
    if not _PATTERN.search(pattern) or os.path.exists(pattern):  # noqa: PTH110 - of any length
        return [pattern]
    found = sorted(each for each in iglob(pattern, recursive=True) if Path(each).is_file())  # noqa: PTH207
    if not found:
        raise InputError("matches no file", path=pattern, remedy="correct the pattern")
    return found


def in_short(names: Sequence[str], most: int = 3) -> str:
    """Return a list of files for a message, which names at most `most` of them."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def _packed_by(content: bytes) -> str | None:
    """Return the format in which a file is packed, by its first `_START` bytes, or None."""
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
        found = f"a zip archive of {len(names)} files"
        raise InputError(found, path=path, expected="one file in it", remedy="unpack the archive")
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
    except (*_UNREADABLE, *_UNOPENED):  # reported when the file is read
        return path.stem


def plain_ending(path: str | Path) -> str:
    """Return the ending of the name of the unpacked file in lower case, such as ``.tsv``."""
    return Path(plain_name(path)).suffix.lower()


def read_text(path: Path) -> str:
    """Return the text of a UTF-8 file, packed or not.

    Raises:
        InputError: see `read_bytes`; or it is empty or not UTF-8, or holds a NUL character.
    """
    return _text(read_bytes(path), path)


def _text(content: bytes, path: Path) -> str:
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
    """Decode UTF-8.

    Args:
        content: bytes of a file.
        path: the file.
        first: the number of the first line in them; a byte order mark may stand before line 1.
    """
    try:
        text = content.decode("utf-8-sig" if first == 1 else "utf-8")
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
        raise InputError(_NUL, path=path, line=first + text.count("\n", 0, at))
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

    def refused(found: str, **place: Any) -> InputError:
        return InputError(found, **{"path": path, "line": line, "remedy": remedy, **place})

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        table = dict(pairs)
        if len(table) < len(pairs):
            keys = [key for key, _ in pairs]
            repeated = next(key for key in keys if keys.count(key) > 1)
            raise refused("appears twice", key=repr(repeated))
        return table

    try:
        found: object = json.loads(text, object_pairs_hook=unique)
        if _SUSPECT.search(text):
            check_texts(found)
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
    if not isinstance(found, kind):
        raise refused(f"found {type(found).__name__}", expected=expected)
    return found


def check_texts(value: object) -> None:
    """Reject keys and values of JSON that cannot be written to a text file.

    Raises:
        ValueError: names the character.
    """
    if isinstance(value, str):
        if "\0" in value:
            raise ValueError(_NUL)
        value.encode()
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


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file's content.

    Raises:
        OSError: the file cannot be read.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def folder_digest(path: Path) -> str:
    """Return the SHA-256 of the names and contents of all files below a folder, except hidden ones.

    Raises:
        OSError: a file cannot be read.
    """
    whole = hashlib.sha256()
    for inner in sorted(path.rglob("*")):
        name = inner.relative_to(path)
        if inner.is_file() and not any(component.startswith(".") for component in name.parts):
            whole.update(f"{name.as_posix()} {file_digest(inner)}\n".encode())
    return whole.hexdigest()


def path_digest(path: Path) -> str:
    """Return the digest of a file (`file_digest`) or a folder (`folder_digest`).

    Raises:
        OSError: it cannot be read.
    """
    # Pipes and devices are not read, since their content would be lost or has no end.
    return file_digest(path) if path.is_file() else folder_digest(path)


def make_folder(path: Path) -> Path:
    """Create an output folder and check that it is writable.

    Raises:
        InputError: it is not writable, or not local.
    """
    if remote := _REMOTE.match(path.as_posix()):
        remedy = "use a local folder; only --out on the command line may be remote"
        raise InputError(f"not a local folder: {remote[0]}...", path=path, remedy=remedy)
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            return path
    except OSError as error:
        found = f"the output folder is not writable ({error.strerror})"
        raise InputError(found, path=path, remedy="choose another") from None


def check_output_file(out: Path, inputs: Iterable[str], key: str = "out") -> None:
    """Check, before anything long runs, that a command can write its file.

    Args:
        out: the file.
        inputs: the files that the command reads; also ``KIND:FILE``, and names of other things.
        key: the option that names the file.

    Raises:
        InputError: it is a folder, its folder is not writable, or see `check_no_input`.
    """
    make_folder(out.parent)
    if out.is_dir():
        raise InputError("a folder", path=out, key=key, expected="the name of a file to write")
    check_no_input(out, inputs, key)


def check_no_input(out: Path, inputs: Iterable[str], key: str = "out") -> None:
    """Check that a command does not write over a file that it reads.

    Args:
        out: the file that it writes.
        inputs: see `check_output_file`.
        key: the option that names the file.

    Raises:
        InputError: it is one of the inputs.
    """
    files = (Path(name.partition(":")[2] or name).expanduser() for name in inputs)
    if out.exists() and any(file.exists() and file.samefile(out) for file in files):
        raise InputError("is also an input", path=out, key=key, remedy="choose another name")


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


@contextmanager
def locked(folder: Path, command: str, option: str) -> Iterator[None]:
    """Hold the lock of a folder, the file ``.lock``, which is deleted afterwards.

    If the process is killed, the file remains but the lock is released.

    Args:
        folder: the output folder of a command.
        command: the name of the command.
        option: the option that names the folder.

    Raises:
        InputError: another process holds the lock, or the file system does not support locks.
    """
    path = folder / LOCK
    try:
        lock = FileLock(path, timeout=0, fallback_to_soft=False).acquire()
    except Timeout:
        raise InputError(
            "another process is writing into this folder",
            path=folder,
            remedy=f"wait until it ends ({command} then resumes there), or choose another {option}",
        ) from None
    except (OSError, NotImplementedError) as error:
        raise InputError(
            f"cannot be locked ({reason(error)})",
            path=path,
            remedy=f"choose another {option}, on a file system that supports locks",
        ) from error
    with lock:
        try:
            yield
        finally:
            path.unlink(missing_ok=True)  # before releasing the lock: a later file is not ours
