"""Reading word vectors: text files of GloVe, word2vec or counter-fitted vectors, plain or .gz.

One word a line, its values after it, all divided by blanks; an optional first line `count dim`.
Empty lines are none; a line that begins with a blank holds the vector of the empty word. A word may
hold blanks itself, as some of GloVe's Common Crawl do: its values are then the last ones of the
line, as many as the header says or, without one, as the first line has in which only numbers stand
after the first blank. Such a line with too many numbers is a mistake, not a word with blanks.
"""

import gzip
import logging
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

from robustparse.errors import InputError, check_least
from robustparse.types import Floats

log = logging.getLogger(__name__)

_LINES_AT_ONCE = 4096
_LINES_WITHOUT_WIDTH = 4096  # at most, before the line that shows the width
_NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_COUNT = re.compile(rb"\d{1,15}")  # more digits than any file has words
_NOT_FINITE = (b"nan", b"inf", b"infinity")
# What begins a file that word2vec wrote with `-binary 1`, and bytes that no text has.
_BINARY_HEADER = re.compile(rb"\s*\d+[ \t]+(\d{1,9})[ \t\r]*\n")
_NO_TEXT = re.compile(rb"[\x00-\x08\x0e-\x1f]")
_START = 1 << 16  # bytes


def read_vectors(path: Path, limit: int | None = None) -> tuple[list[str], NDArray[np.float32]]:
    """Read words and their vectors `(words, dim)`, in the order of the file.

    Of a word that comes again, as in some published files, the first vector counts; a warning names
    it and says how many there are.

    Args:
        path: the file, UTF-8, compressed by gzip or not.
        limit: only the first words, as many as this; lines after the last are not checked.

    Raises:
        InputError: the file is missing, unreadable, empty, binary or not UTF-8; a line has another
            width than the others, or a value that is no finite number in single precision; the
            header promises another size; limit is below 1.
    """
    check_least(str(path), limit=limit)
    table = _Table(path)
    with _opened(path) as file:
        if _is_binary(file.read(_START)):
            raise InputError(
                "word vectors in word2vec's binary format",
                path=path,
                expected="text",
                remedy="convert them, with gensim: KeyedVectors.load_word2vec_format(path, "
                "binary=True).save_word2vec_format(text, binary=False)",
            )
        file.seek(0)
        lines = ((number, line) for number, line in enumerate(file, start=1) if line.strip())
        entries = table.beyond_header(lines)
        while chunk := list(islice(entries, table.wanted(limit))):
            table.add(chunk)
    return table.finished(limit)


def read_lowered(path: Path, limit: int | None = None) -> tuple[dict[str, int], Floats]:
    """Read vectors that are looked up by lower-cased words.

    Args:
        path: see `read_vectors`.
        limit: see `read_vectors`.

    Returns:
        The row of each lower-cased word, of several forms the first's; a word whose vector is zero
        has none. And the vectors, `float64 (words, dim)`.

    Raises:
        InputError: see `read_vectors`.
    """
    words, vectors = read_vectors(path, limit)
    row_of: dict[str, int] = {}
    for row in np.flatnonzero(vectors.any(axis=1)).tolist():
        row_of.setdefault(words[row].lower(), row)
    return row_of, vectors.astype(np.float64)


class _Table:
    """The words and vectors of one file so far. A line comes as (number, bytes)."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lines: dict[str, int] = {}  # word -> its line
        self._repeats: list[tuple[str, int]] = []  # words that come again, and their lines
        self._blocks: list[NDArray[np.float32]] = []
        self._dim = 0  # 0: not known yet
        self._dim_line = 0  # the line it is known from
        self._promised: int | None = None

    def wanted(self, limit: int | None) -> int:
        """Count the lines to read next."""
        return min(_LINES_AT_ONCE, (limit or len(self._lines) + _LINES_AT_ONCE) - len(self._lines))

    def beyond_header(self, lines: Iterator[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
        """Yield the lines of words; a first line of two whole numbers is the header."""
        held: list[tuple[int, bytes]] = []
        for number, line in islice(lines, _LINES_WITHOUT_WIDTH):
            text = line if held else line.removeprefix(b"\xef\xbb\xbf")
            word, rest = _divided(text)
            values = rest.split()
            if (
                not held
                and len(values) == 1
                and _COUNT.fullmatch(word)
                and _COUNT.fullmatch(values[0])
            ):
                self._promised, width = int(word), int(values[0])
            else:
                held.append((number, text))
                width = len(values)
            if not width:
                raise self._error(number, "no values after the word", "word v1 v2 …")
            tells = all(map(_is_number, values))
            if tells or not self._dim:  # the first line's width, if none tells
                self._dim, self._dim_line = width, number
            if tells:
                break
        yield from held
        yield from lines

    def add(self, chunk: Sequence[tuple[int, bytes]]) -> None:
        """Take lines in."""
        entries, new = [], []
        for number, line in chunk:
            word, rest = self._entry(number, line)
            entries.append((number, rest))
            self._lines.setdefault(text := self._decoded(number, word), number)
            new.append(self._lines[text] == number)
            if not new[-1]:
                self._repeats.append((text, number))
        values = _parsed(b" ".join([rest for _, rest in entries]))
        if values is None or len(values) != len(chunk) * self._dim or not np.isfinite(values).all():
            raise self._bad_value(entries)
        self._blocks.append(values.reshape(len(chunk), self._dim)[new])

    def _entry(self, number: int, line: bytes) -> tuple[bytes, bytes]:
        """Return the word and its values."""
        word, rest = _divided(line)
        width = len(rest.split())
        if width == self._dim:
            return word, rest
        # A word may hold blanks; a width of 1 is that of a damaged header.
        if width > self._dim > 1 and word:
            whole = line.rsplit(None, self._dim)[0]
            if not all(map(_is_number, whole.split()[1:])):
                return whole, line[len(whole) :]
        found = f"{width} values after the word {_shown(word)}"
        raise self._error(number, found, f"{self._dim} as in line {self._dim_line}")

    def finished(self, limit: int | None) -> tuple[list[str], NDArray[np.float32]]:
        """Return all words and vectors."""
        size = len(self._lines)
        if not size:
            raise InputError("the file holds no word vectors", path=self._path)
        held = size + len(self._repeats)
        if self._promised not in (None, held) and (limit is None or size < limit):
            found = f"the header promises {self._promised} words, the file holds {held}"
            raise self._error(1, found, "a whole file, or another header")
        if self._repeats:
            word, line = self._repeats[0]
            message = "%s:%d: the word %r is already in line %d, whose vector counts; repeats: %d"
            log.warning(message, self._path, line, word, self._lines[word], len(self._repeats))
        return list(self._lines), np.concatenate(self._blocks)

    def _decoded(self, number: int, word: bytes) -> str:
        try:
            if b"\0" not in word:
                return word.decode("utf-8")
            found = f"the word {_shown(word)} holds a NUL character"
        except UnicodeDecodeError:
            found = f"the word {_shown(word)} is not UTF-8"
        raise self._error(number, found)

    def _bad_value(self, entries: Sequence[tuple[int, bytes]]) -> InputError:
        """Find the first value that `_parsed` cannot read, or reads as infinite."""
        number, token = next(
            (number, token)
            for number, rest in entries
            for token in rest.split()
            if not _NUMBER.fullmatch(token) or abs(float(token)) > float(np.finfo(np.float32).max)
        )
        found = f"{_shown(token)} is no number"
        return self._error(number, found, "finite numbers in single precision")

    def _error(self, line: int, found: str, expected: str | None = None) -> InputError:
        return InputError(found, path=self._path, line=line, expected=expected)


def _divided(line: bytes) -> tuple[bytes, bytes]:
    """Return what stands before the first blank of a line, and the rest."""
    word, *rest = (b"", line) if line[:1].isspace() else line.split(None, 1)
    return word, rest[0] if rest else b""


def _is_binary(start: bytes) -> bool:
    """Tell whether a file begins as word2vec's binary ones do: bytes of numbers after a word."""
    header = _BINARY_HEADER.match(start)
    if header is None:
        return False
    # A line of text with as many values is at least so long.
    values = start[header.end() :].partition(b" ")[2][: 2 * int(header[1])]
    return bool(_NO_TEXT.search(values))


def _is_number(token: bytes) -> bool:
    return bool(_NUMBER.fullmatch(token)) or token.lower().lstrip(b"+-") in _NOT_FINITE


def _parsed(text: bytes) -> NDArray[np.float32] | None:
    """Read all numbers of a text; None where it holds something else."""
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
    """Give the file's bytes, unpacked where it is compressed."""
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
        raise InputError("no such file", path=path) from None
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"cannot be read: {error}", path=path) from None
