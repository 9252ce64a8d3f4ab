"""The texts that ``robustparse predict`` answers, read piece by piece.

Raw text and treebanks are read in pieces, so that memory does not grow with their size. Tables
(without ``--shard``) and pipes other than standard input are read whole. How the input is divided
does not change any answer, except where two scores are equal up to rounding.
"""

import sys
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from itertools import islice, repeat
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO

from robustparse.data.plain_texts import examples_of
from robustparse.data.read_options import ReadOptions
from robustparse.data.shard import Shard
from robustparse.data.tables import is_dataset, is_parquet, refuse_json
from robustparse.data.tags.tag_lines import hold_tags
from robustparse.errors import InputError, located
from robustparse.evaluation.clean import AnsweringVictim
from robustparse.files.compression import plain_ending
from robustparse.files.paths import in_short
from robustparse.files.reading import read_text, unpacked
from robustparse.files.writing import writing
from robustparse.types import Example, Sentence

STANDARD = "-"  # input or output
RAW = "txt"
PIECE = 1 << 20  # bytes of raw text or of a treebank that are read at once
TABLES = ("json", "jsonl", "parquet")  # in tasks whose other files have several lines a sentence
ROWS = 10_000  # rows of a table that are answered at once


def display_name(name: str) -> str:
    """Return the name of the data in messages."""
    return "standard input" if name == STANDARD else name


@dataclass(frozen=True)
class TextPieces:
    """The texts to answer, in pieces.

    Args:
        names: the files or the dataset.
        ending: their format.
        victim: the victim, which is to answer them.
        options: how they are read.
        shard: the shard to answer; None for all texts.
    """

    names: Sequence[str]
    ending: str
    victim: AnsweringVictim
    options: ReadOptions
    shard: Shard | None

    def pieces(self) -> Iterator[list[Example]]:
        """Yield the examples in pieces."""
        multiline = self.victim.task.files.multiline and self.ending not in TABLES
        if is_dataset(self.names[0]) or (self.ending != RAW and not multiline):
            return self._rows()
        return self._texts(multiline and self.ending != RAW)

    def _read(self, paths: Sequence[Path], name: str | Path, options: ReadOptions) -> list[Example]:
        """Read and check examples; messages without a file name the data."""
        files = self.victim.task.files
        examples = files.read(paths, options)
        files.check(examples, name, self.victim.check)
        return examples

    def _rows(self) -> Iterator[list[Example]]:
        """Yield the examples of tables, which are read first."""
        paths, copied, name = list[Path](), dict[str, str](), in_short(self.names)
        with TemporaryDirectory() as folder, _located_in_data(copied, display_name(name), 0):
            for number, data in enumerate(self.names):
                path = Path(data)
                if not is_dataset(data) and (data == STANDARD or self.ending != ending_of(data)):
                    path = Path(folder, f"{number}.{self.ending}")
                    copied[str(path)] = display_name(data)
                    _copy(path, _lines(data))
                paths.append(path)
            options = self.options
            if (shard := self.shard) is not None:
                options = replace(options, choose=lambda lengths: shard.select(range(len(lengths))))
            examples = self._read(paths, name, options)
        for first in range(0, len(examples), ROWS):
            yield examples[first : first + ROWS]

    def _texts(self, multiline: bool) -> Iterator[list[Example]]:
        """Yield the examples of each piece of raw texts or of treebanks.

        Sentences of other shards are counted and skipped, not read.

        Args:
            multiline: whether an example has several lines and ends with an empty line.
        """
        names = self.names
        if self.options.columns is not None and self.ending == RAW:
            problem = "raw text has no columns"
            name = display_name(in_short(names))
            raise InputError(problem, path=name, key="--columns", remedy="leave them out")
        ranges: Iterable[tuple[int, int | None]] = repeat((0, None), len(names))
        if self.shard is not None:
            ranges = _shard_lines(self.shard, names, multiline)
        any_text = False
        with TemporaryDirectory() as folder:
            piece = Path(folder, f"piece.{self.ending}")
            for data, (first, end) in zip(names, ranges, strict=True):
                if end == first:
                    continue
                # An empty file is an error only if all are empty.
                needed = not any_text and data == names[-1]
                for before, content in _pieces(islice(_lines(data), first, end), multiline, needed):
                    any_text = True
                    _copy(piece, [content])
                    name = display_name(data)
                    with _located_in_data({str(piece): name}, name, first + before):
                        examples = self._read_piece(piece, is_first=not before)
                    yield examples

    def _read_piece(self, piece: Path, is_first: bool) -> list[Example]:
        """Read and check a piece; the first one shows whether it is raw text."""
        if self.ending != RAW:
            return self._read([piece], piece, self.options)
        if is_first:
            _check_raw(piece, self.victim.pairs)
        examples = raw_texts(piece, self.options, self.victim.pairs)
        self.victim.check(examples)
        return examples


def _copy(piece: Path, lines: Iterable[bytes]) -> None:
    needed, remedy = "it is needed for a piece of the data", "free some space there"
    with writing(piece, needed, remedy), piece.open("wb") as file:
        file.writelines(lines)


def ending_of(data: str) -> str:
    """Return the format that the name of the data tells, without the dot."""
    return "parquet" if is_parquet(data) else plain_ending(data).lstrip(".")


def raw_texts(path: Path, options: ReadOptions, pairs: bool) -> list[Example]:
    """Read one sentence per line, or premise, tab, hypothesis; empty lines are left out.

    Ids are line numbers, from 0.
    """
    rows = []
    for at, line in enumerate(read_text(path).split("\n")):
        if not line.strip():
            continue
        *context, words = [(*text.split(),) for text in (line.split("\t") if pairs else [line])]
        if pairs and not (len(context) == 1 and context[0] and words):
            raise InputError(
                f"not a pair: {line[:60]!r}",
                path=path,
                line=at + 1,
                expected="a premise, a tab and a hypothesis",
                remedy="correct the line, or give the format of a table, such as --format tsv",
            )
        sentence = Sentence(words, context=context[0] if pairs else ())
        with located(path, at + 1):
            options.check_length(sentence)
        rows.append((at, sentence))
    examples = examples_of([sentence for _, sentence in rows])
    return [replace(example, id=at) for example, (at, _) in zip(examples, rows, strict=True)]


def _check_raw(path: Path, pairs: bool) -> None:
    """Check that the first piece of raw text is not of a table, a treebank or JSON.

    Raises:
        InputError: it holds JSON; or every line besides comments has the same number of tabs, or is
            that of a word and its tag.
    """
    content = read_text(path)
    refuse_json(path, content, "give its format, such as --format jsonl")
    lines = [
        (number, line)
        for number, line in enumerate(content.split("\n"), start=1)
        if line.strip() and not line.startswith("#")
    ]
    rows = [line.split() for _, line in lines]
    if not hold_tags(rows):
        rows = [line.split("\t") for _, line in lines]
    columns = {*map(len, rows)}
    if not pairs and len(columns) == 1 and columns != {1}:
        number, line = lines[0]
        raise InputError(
            f"{columns.pop()} columns in every line, such as {line!r:.60}",
            path=path,
            line=number,
            expected="raw text, a sentence a line",
            remedy="give its format, such as --format conllu, conll or tsv, or replace the tabs by "
            "spaces",
        )


def _lines(data: str) -> Iterator[bytes]:
    """Yield the lines of a file, packed or not, or of standard input.

    Raises:
        InputError: a line cannot be read.
    """
    opened: AbstractContextManager[IO[bytes]] = nullcontext(sys.stdin.buffer)
    with opened if data == STANDARD else unpacked(Path(data)) as source:
        try:
            yield from source
        except OSError as error:
            problem, remedy = f"cannot be read: {error.strerror}", "copy the file again"
            name = display_name(data)
            raise InputError(problem, path=name, key="--data", remedy=remedy) from None


def _shard_lines(shard: Shard, names: Sequence[str], multiline: bool) -> list[tuple[int, int]]:
    """Return the first line of a shard in each file, from 0, and the line after its last one.

    They are equal if the shard has no example in the file.
    """
    starts = [_starts(_lines(data), multiline) for data in names]
    chosen, ranges, first = shard.select(range(sum(len(each) - 1 for each in starts))), [], 0
    for each in starts:
        begin, end = (
            min(max(position - first, 0), len(each) - 1) for position in (chosen[0], chosen[-1] + 1)
        )
        ranges.append((each[begin], each[end]))
        first += len(each) - 1
    return ranges


def _starts(lines: Iterable[bytes], multiline: bool) -> "array[int]":
    """Return the line where each example begins, from 0, and the number of lines."""
    starts, inside, count = array("q"), False, 0
    for line in lines:
        blank = not line.strip()
        if not blank and not (multiline and inside):
            starts.append(count)
        inside, count = not blank, count + 1
    starts.append(count)
    return starts


def _pieces(source: Iterable[bytes], multiline: bool, needed: bool) -> Iterator[tuple[int, bytes]]:
    """Yield each piece, which holds whole examples, and the number of lines before it.

    Args:
        source: the lines of the data.
        multiline: whether an example has several lines and ends with an empty line.
        needed: whether to yield a piece of a source without text too.
    """
    first, lines, size = 0, [], 0
    for line in source:
        lines.append(line)
        size += len(line)
        if size >= PIECE and (not multiline or not line.strip()):
            if any(each.strip() for each in lines):
                needed = False
                yield first, b"".join(lines)
            first, lines, size = first + len(lines), [], 0
    if needed or any(each.strip() for each in lines):
        yield first, b"".join(lines)


@contextmanager
def _located_in_data(copied: Mapping[str, str], name: str, first: int) -> Iterator[None]:
    """Report errors in a copy of data, or of a piece of them, with the place in the data.

    Args:
        copied: copy -> the name of its data.
        name: the data, if an error names no file.
        first: the lines before the piece.
    """
    try:
        yield
    except InputError as error:
        error.path = copied.get(str(error.path), str(error.path or name))
        error.line = None if error.line is None else first + error.line
        raise
