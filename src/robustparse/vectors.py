"""Reading word vectors: text files of GloVe, word2vec or counter-fitted vectors, packed or not.

Each line has a word and its values, separated by blanks; an optional first line is `count dim`.
Empty lines are skipped; a line that begins with a blank has the vector of the empty word. A word
may contain blanks, as in GloVe's Common Crawl; its values are then the last ones of the line. Their
number comes from the header or, without one, from the first line with only numbers after the first
blank. If only numbers follow the first blank but they are too many, the line is an error.
"""

import logging
import re
import warnings
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from robustparse.errors import InputError, check_least
from robustparse.files.reading import opened
from robustparse.types import Floats

log = logging.getLogger(__name__)

_LINES_AT_ONCE = 4096
_LINES_WITHOUT_WIDTH = 4096  # maximum number of lines before one that shows the width
_NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_COUNT = re.compile(rb"\d{1,15}")  # longer numbers are not counts of words
_NOT_FINITE = (b"nan", b"inf", b"infinity")
# The beginning of word2vec's binary files, and bytes that do not occur in text.
_BINARY_HEADER = re.compile(rb"\s*\d+[ \t]+(\d{1,9})[ \t\r]*\n")
_NO_TEXT = re.compile(rb"[\x00-\x08\x0e-\x1f]")
_START = 1 << 16  # bytes
_WORD2VEC = (
    "word vectors in word2vec's binary format",
    "convert them, with gensim: KeyedVectors.load_word2vec_format(path, "
    "binary=True).save_word2vec_format(text, binary=False)",
)
_UTF_16 = ("text in UTF-16", "convert the file, for example with iconv -f utf-16 -t utf-8")
# First bytes of other formats, their names and remedies.
_FORMATS = {
    b"\xba\x16\x4f\x2f": ("a model in fastText's binary format", "name its .vec file instead"),
    BOM_UTF16_LE: _UTF_16,
    BOM_UTF16_BE: _UTF_16,
}


def read_vectors(path: Path, limit: int | None = None) -> tuple[list[str], NDArray[np.float32]]:
    """Read words and their vectors `(words, dim)`, in the order of the file.

    If a word is repeated, as in some published files, its first vector is used, and a warning names
    the first such word and the number of repeats.

    Args:
        path: the file, UTF-8; may be packed, see `files.reading.opened`.
        limit: read only the first N words; later lines are not checked.

    Raises:
        InputError: the file is missing, unreadable, empty, binary or not UTF-8; a line has another
            width than the others, or a value that is not a finite number in single precision; the
            header gives another size; limit is below 1.
    """
    check_least(str(path), limit=limit)
    table = _Table(path)
    with opened(path) as file:
        _check_format(file.read(_START), path)
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
        The row of each lower-cased word, that of its first form, without words whose vector is
        zero; and the vectors, `float64 (words, dim)`.

    Raises:
        InputError: see `read_vectors`.
    """
    words, vectors = read_vectors(path, limit)
    row_of: dict[str, int] = {}
    for row in np.flatnonzero(vectors.any(axis=1)).tolist():
        row_of.setdefault(words[row].lower(), row)
    return row_of, vectors.astype(np.float64)


class _Table:
    """The words and vectors of a file that were read so far. Lines are pairs (number, bytes)."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lines: dict[str, int] = {}  # word -> its line
        self._repeats: list[tuple[str, int]] = []  # repeated words and their lines
        self._undecoded: list[tuple[str, int]] = []  # words that are not UTF-8, and their lines
        self._blocks: list[NDArray[np.float32]] = []
        self._dim = 0  # 0: not known yet
        self._dim_line = 0  # the line from which it is known
        self._promised: int | None = None

    def wanted(self, limit: int | None) -> int:
        """Return the number of lines to read next."""
        return min(_LINES_AT_ONCE, (limit or len(self._lines) + _LINES_AT_ONCE) - len(self._lines))

    def beyond_header(self, lines: Iterator[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
        """Skip the header, a first line of two whole numbers, and yield the lines of words."""
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
            shows_width = all(map(_is_number, values))
            if shows_width or not self._dim:  # the default is the first line's width
                self._dim, self._dim_line = width, number
            if shows_width:
                break
        yield from held
        yield from lines

    def add(self, chunk: Sequence[tuple[int, bytes]]) -> None:
        """Parse lines and add their words and vectors."""
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
        """Split a line into the word and its values."""
        word, rest = _divided(line)
        width = len(rest.split())
        if width == self._dim:
            return word, rest
        # A word may contain blanks. A width of 1 comes from a damaged header.
        if width > self._dim > 1 and word:
            whole = line.rsplit(None, self._dim)[0]
            if not all(map(_is_number, whole.split()[1:])):
                return whole, line[len(whole) :]
        message = f"{width} values after the word {_shown(word)}"
        raise self._error(number, message, f"{self._dim} as in line {self._dim_line}")

    def finished(self, limit: int | None) -> tuple[list[str], NDArray[np.float32]]:
        """Return all words and vectors."""
        size = len(self._lines)
        if not size:
            raise InputError("the file holds no word vectors", path=self._path)
        held = size + len(self._repeats)
        if self._promised not in (None, held) and (limit is None or size < limit):
            message = f"the header promises {self._promised} words, the file holds {held}"
            raise self._error(1, message, "a whole file, or another header")
        if self._repeats:
            word, line = self._repeats[0]
            message = "%s:%d: the word %r is already in line %d, whose vector counts; repeats: %d"
            log.warning(message, self._path, line, word, self._lines[word], len(self._repeats))
        if self._undecoded:
            word, line = self._undecoded[0]
            message = "%s:%d: the word %s is not UTF-8 and will match no word; such words: %d"
            log.warning(message, self._path, line, word, len(self._undecoded))
        return list(self._lines), np.concatenate(self._blocks)

    def _decoded(self, number: int, word: bytes) -> str:
        """Decode a word. Words that word2vec and fastText truncate may end inside a character."""
        if b"\0" in word:
            raise self._error(number, f"the word {_shown(word)} holds a NUL character")
        try:
            return word.decode("utf-8")
        except UnicodeDecodeError:
            self._undecoded.append((_shown(word), number))
            return word.decode("utf-8", "backslashreplace")

    def _bad_value(self, entries: Sequence[tuple[int, bytes]]) -> InputError:
        """Return the error for the first value that is not a finite number."""
        number, token = next(
            (number, token)
            for number, rest in entries
            for token in rest.split()
            if not _NUMBER.fullmatch(token) or abs(float(token)) > float(np.finfo(np.float32).max)
        )
        message = f"{_shown(token)} is not a number"
        return self._error(number, message, "finite numbers in single precision")

    def _error(self, line: int, message: str, expected: str | None = None) -> InputError:
        return InputError(message, path=self._path, line=line, expected=expected)


def _divided(line: bytes) -> tuple[bytes, bytes]:
    """Split a line at its first blank."""
    word, *rest = (b"", line) if line[:1].isspace() else line.split(None, 1)
    return word, rest[0] if rest else b""


def _check_format(start: bytes, path: Path) -> None:
    """Reject files in known formats other than UTF-8 text by their first bytes.

    Raises:
        InputError: names the format, and a remedy.
    """
    usual = _WORD2VEC if _is_binary(start) else None
    other = next((each for mark, each in _FORMATS.items() if start.startswith(mark)), usual)
    if other is not None:
        name, remedy = other
        raise InputError(name, path=path, expected="text in UTF-8", remedy=remedy)


def _is_binary(start: bytes) -> bool:
    """Tell whether a file begins like word2vec's binary files, with binary numbers after a word."""
    header = _BINARY_HEADER.match(start)
    if header is None:
        return False
    # A line of text with this number of values would be at least as long.
    values = start[header.end() :].partition(b" ")[2][: 2 * int(header[1])]
    return bool(_NO_TEXT.search(values))


def _is_number(token: bytes) -> bool:
    return bool(_NUMBER.fullmatch(token)) or token.lower().lstrip(b"+-") in _NOT_FINITE


def _parsed(text: bytes) -> NDArray[np.float32] | None:
    """Read all numbers of a text; None if it contains anything else."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # some versions only warn about unreadable text
        try:
            return np.fromstring(text.decode("latin-1"), dtype=np.float32, sep=" ")
        except (ValueError, DeprecationWarning):
            return None


def _shown(token: bytes) -> str:
    return repr(token.decode("utf-8", errors="replace"))
