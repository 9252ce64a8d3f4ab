"""Reading word vectors: text files of GloVe, word2vec or counter-fitted vectors, plain or .gz.

One word a line, its values behind it, all divided by blanks; an optional first line `count dim`.
Empty lines are none; a line that begins with a blank holds the vector of the empty word.
"""

import gzip
import re
import warnings
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from robustparse.errors import InputError

_LINES_AT_ONCE = 4096
_NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def read_vectors(path: Path, limit: int | None = None) -> tuple[list[str], NDArray[np.float32]]:
    """Words and their vectors `(words, dim)`, in the order of the file.

    Args:
        path: the file, UTF-8, compressed by gzip or not.
        limit: the first so many words; None is all of them. Lines behind the last are not checked.

    Raises:
        InputError: the file is missing, unreadable, empty or not UTF-8; a line has another width
            than the first, a value that is no number, NaN or infinite in single precision, or a
            word met before; the header promises another size; limit is below 1.
    """
    if limit is not None and limit < 1:
        raise InputError(f"{path}: limit must be at least 1 word, got {limit}")
    table = _Table(path)
    with _opened(path) as file:
        lines = enumerate(file, start=1)
        numbered = ((number, _fields(line)) for number, line in lines if line.strip())
        entries = table.beyond_header(numbered)
        while chunk := list(islice(entries, table.wanted(limit))):
            table.add(chunk)
    return table.finished(limit)


class _Table:
    """The words and vectors of one file so far.

    A line comes as (number, fields): the word, and the rest of the line if there is any.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lines: dict[str, int] = {}  # word to the line it stands in
        self._blocks: list[NDArray[np.float32]] = []
        self._dim = 0  # 0: not known yet
        self._promised: int | None = None

    def wanted(self, limit: int | None) -> int:
        """Lines to read next."""
        return min(_LINES_AT_ONCE, (limit or len(self._lines) + _LINES_AT_ONCE) - len(self._lines))

    def beyond_header(
        self, lines: Iterator[tuple[int, list[bytes]]]
    ) -> Iterator[tuple[int, list[bytes]]]:
        """The lines of words; a first line of two whole numbers is the header."""
        for number, fields in islice(lines, 1):
            fields[0] = fields[0].removeprefix(b"\xef\xbb\xbf")
            rest = fields[1].split() if len(fields) == 2 else []
            self._dim = len(rest)
            if len(rest) == 1 and fields[0].isdigit() and rest[0].isdigit():
                self._promised, self._dim = int(fields[0]), int(rest[0])
            else:
                yield number, fields
            if not self._dim:
                raise self._error(number, "no values behind the word; expected `word v1 v2 …`")
        yield from lines

    def add(self, chunk: Sequence[tuple[int, list[bytes]]]) -> None:
        """Take lines in."""
        for number, fields in chunk:
            width = len(fields[1].split()) if len(fields) == 2 else 0
            if width != self._dim:
                raise self._error(
                    number,
                    f"{width} values behind the word {_shown(fields[0])}, expected {self._dim} as "
                    "in the lines before; words must not hold blanks",
                )
            self._lines.setdefault(word := self._decoded(number, fields[0]), number)
            if self._lines[word] != number:
                raise self._error(
                    number,
                    f"the word {word!r} stands in line {self._lines[word]} already; delete one",
                )
        values = _parsed(b" ".join(fields[1] for _, fields in chunk))
        if values is None or len(values) != len(chunk) * self._dim or not np.isfinite(values).all():
            raise self._bad_value(chunk)
        self._blocks.append(values.reshape(len(chunk), self._dim))

    def finished(self, limit: int | None) -> tuple[list[str], NDArray[np.float32]]:
        """All words and vectors."""
        size = len(self._lines)
        if not size:
            raise InputError(f"{self._path}: the file holds no word vectors")
        if self._promised not in (None, size) and (limit is None or size < limit):
            raise InputError(
                f"{self._path}:1: the header promises {self._promised} words, the file holds "
                f"{size}; expected a whole file, or correct the header"
            )
        return list(self._lines), np.concatenate(self._blocks)

    def _decoded(self, number: int, word: bytes) -> str:
        try:
            return word.decode("utf-8")
        except UnicodeDecodeError as error:
            raise self._error(
                number, f"the word {_shown(word)} is not UTF-8; convert the file"
            ) from error

    def _bad_value(self, chunk: Sequence[tuple[int, list[bytes]]]) -> InputError:
        for number, (_, rest) in chunk:
            for token in rest.split():
                if token.lower().lstrip(b"+-") in (b"nan", b"inf", b"infinity"):
                    return self._error(number, f"the value {_shown(token)}; expected finite values")
                if not _NUMBER.fullmatch(token):
                    return self._error(number, f"{_shown(token)} is no number")
                if abs(float(token)) > float(np.finfo(np.float32).max):
                    return self._error(
                        number, f"the value {_shown(token)} is infinite in single precision"
                    )
        raise AssertionError(f"{self._path}: a chunk of sound values could not be read")

    def _error(self, line: int, found: str) -> InputError:
        return InputError(f"{self._path}:{line}: {found}")


def _fields(line: bytes) -> list[bytes]:
    """The word and the rest of a line, if there is any."""
    return [b"", line] if line[:1].isspace() else line.split(None, 1)


def _parsed(text: bytes) -> NDArray[np.float32] | None:
    """All numbers of a text, or None where it holds something else."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # some versions only warn of what they cannot read
        try:
            return np.fromstring(text.decode("latin-1"), dtype=np.float32, sep=" ")
        except (ValueError, DeprecationWarning):
            return None


def _shown(token: bytes) -> str:
    return repr(token.decode("utf-8", errors="replace"))


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    """The file's bytes, unpacked where it is compressed."""
    try:
        with path.open("rb") as file:
            packed = file.read(2) == b"\x1f\x8b"
            file.seek(0)
            if packed:
                with gzip.open(file) as unpacked:
                    yield cast(BinaryIO, unpacked)
            else:
                yield file
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path}: cannot be read: {error}") from None
