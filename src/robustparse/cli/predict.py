"""``robustparse predict``: write a model's answers on a file or on standard input.

Raw text and treebanks are processed piece by piece, so that memory does not grow with their size; a
table is read as a whole, except by a shard, and so is a pipe other than standard input. How the
input is divided does not change any answer, except where two scores are equal up to rounding.
"""

import sys
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from itertools import chain, islice, repeat
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO

from robustparse.api.inputs import Paths, check_same_kind
from robustparse.api.printed_tables import terminal
from robustparse.api.sources import Checkpoints, DataFile, known_to
from robustparse.cli.options import ShardOptions, TextOptions, VictimOptions
from robustparse.cli.streams import Stream, standard_output
from robustparse.data.chosen import Choose
from robustparse.data.length import check_length
from robustparse.data.plain_texts import examples_of
from robustparse.data.shard import Shard
from robustparse.data.tables import is_dataset, is_parquet, refuse_json
from robustparse.errors import InputError, check_least, located, say
from robustparse.evaluation.clean import AnsweringVictim, predictions
from robustparse.evaluation.shards import remove_record, write_shard
from robustparse.files.compression import plain_ending, plain_name
from robustparse.files.output_folders import check_no_input
from robustparse.files.paths import in_short
from robustparse.files.reading import read_text, unpacked
from robustparse.files.writing import write_pieces, writing, written
from robustparse.tasks.registry import other_task
from robustparse.tasks.task import Written
from robustparse.types import Example, Sentence

STANDARD = "-"  # input or output
RAW = "txt"
PIECE = 1 << 20  # bytes of raw text or of a treebank that are read at once
TABLES = ("json", "jsonl", "parquet")  # in tasks whose other files have several lines a sentence
ROWS = 10_000  # rows of a table that are answered at once


def predict(
    victim: VictimOptions,
    reading: TextOptions,
    sharing: ShardOptions,
    data: Paths = STANDARD,
    out: str = STANDARD,
    format: str | None = None,
) -> None:
    """Write the answers of a checkpoint, or a --victim, on sentences.

    Args:
        victim: the model.
        reading: how the texts are read.
        sharing: how several runs or machines share the sentences.
        data: raw text with one sentence per line, words separated by blanks (for a classifier of
            pairs: premise, tab, hypothesis); or a file or dataset in a format of the model's task,
            whose gold answers are ignored and may be missing; several of one kind are read as one,
            also as quoted patterns, such as 'part-*.txt'; matches are sorted by name; ``-`` is
            standard input.
        out: the file to write, in the format of the data or, for raw text, in the format of the
            model's task; ``-`` is standard output.
        format: the format of the data as a file ending, such as ``conllu``; ``txt`` is raw text. By
            default the ending of the file's name, and ``txt`` for names without an ending and for
            standard input.
    """
    file = DataFile(data)
    name, shard = _shown(file.name), _shard(sharing, file.names[0], out)
    check_least("--", max_length=reading.max_length)
    source = victim.source()
    opened = source.open(victim.device)
    ending = (format or _ending_of(file.names[0])).lstrip(".").lower() or RAW
    _check_formats(opened, file.names, ending, format, out)
    if out != STANDARD:
        inputs = [*file.names, *(source.names if isinstance(source, Checkpoints) else ())]
        check_no_input(Path(out), (each for each in inputs if each != STANDARD), key="--out")
    texts = _Input(file.names, ending, opened, reading, shard)
    warned: set[str] = set()
    count = 0

    def answered(output: object) -> Iterator[Written]:
        nonlocal count
        for examples in texts.pieces():
            if isinstance(output, Stream):
                output.check()  # further answers would reach nobody
            warnings = opened.warnings(examples, name, gold=False)
            for warning in chain(warnings, opened.task.files.not_written(examples, name)):
                if warning not in warned:
                    warned.add(warning)
                    say(warning)
            yield from _answered(opened, examples)
            count += len(examples)

    with standard_output() if out == STANDARD else written(Path(out)) as answers:
        if out != STANDARD:
            remove_record(Path(out))
        head = write_pieces(answers, opened.task.files.write_all(answered(answers)))
    if shard is not None:
        digests = {**source.digests(), "data": file.digest()}
        run = {"models": source.names, **source.settings, "data": file.recorded, "format": ending}
        run |= {"columns": reading.columns, "sha256": digests}
        write_shard(
            Path(out), "predict", str(shard), opened.task, run, {"texts": count}, {"": head}
        )
    if out != STANDARD:
        terminal().print(f"{count} texts with answers in {out}", soft_wrap=True)


def _shard(sharing: ShardOptions, data: str, out: str) -> Shard | None:
    """Return the shard of the options; None if all sentences are answered.

    Raises:
        InputError: there is no such shard, or it is not read from a file and written to a file.
    """
    parsed = sharing.parsed_shard()
    if parsed is None:
        return None
    for key, value, kind in (("--data", data, "input"), ("--out", out, "output")):
        if value == STANDARD:
            found = f"cannot be standard {kind} with --shard"
            raise InputError(found, key=key, remedy="name a file")
    return parsed


def _check_formats(
    victim: AnsweringVictim, names: Sequence[str], ending: str, format: str | None, out: str
) -> None:
    """Check ``--format``; warn if the name of the output belongs to another format.

    Raises:
        InputError: the model's task has no such format; or, without ``--format``, the data have
            different ones.
    """
    files, data = victim.task.files, names[0]
    if format is None:
        check_same_kind(names)
    if format is not None and ending != RAW and f".{ending}" not in files.endings:
        expected = f"{RAW} or one of {', '.join(each.lstrip('.') for each in files.endings)}"
        raise InputError(f"got {format!r}", key="--format", expected=expected)
    if out == STANDARD:
        return
    of_answers = files.ending(data if is_dataset(data) else f"data.{ending}")
    packed, named = plain_name(out) != Path(out).name, plain_ending(out)
    # Answers are never written as Parquet, but as JSON lines.
    misnamed = named in files.endings and (files.ending(out) != of_answers or named == ".parquet")
    if packed or misnamed or other_task(out, victim.task) is not None:
        say(
            f"the answers have the format {of_answers}, unpacked, but the name {out} says "
            f"otherwise: end it in {of_answers}"
        )


def _shown(name: str) -> str:
    return "standard input" if name == STANDARD else name


@dataclass(frozen=True)
class _Input:
    """The texts to answer.

    Args:
        names: the files or the dataset.
        ending: their format.
        victim: the victim, which is to answer them.
        reading: how they are read.
        shard: the shard to answer; None for all texts.
    """

    names: Sequence[str]
    ending: str
    victim: AnsweringVictim
    reading: TextOptions
    shard: Shard | None

    def pieces(self) -> Iterator[list[Example]]:
        """Yield the examples in pieces."""
        multiline = self.victim.task.files.multiline and self.ending not in TABLES
        if is_dataset(self.names[0]) or (self.ending != RAW and not multiline):
            return self._rows()
        return self._texts(multiline and self.ending != RAW)

    def _read(
        self, paths: Sequence[Path], name: str | Path, choose: Choose | None = None
    ) -> list[Example]:
        """Read and check examples; messages without a file name the data."""
        files, victim = self.victim.task.files, self.victim
        settings = (self.reading.max_length, False, "--max_length", self.reading.columns)
        examples = files.read(paths, *settings, known_to(victim), choose)
        files.check(examples, name, victim.check)
        return examples

    def _rows(self) -> Iterator[list[Example]]:
        """Yield the examples of tables, which are read first."""
        paths, copied, name = list[Path](), dict[str, str](), in_short(self.names)
        with TemporaryDirectory() as folder, _named(copied, _shown(name), 0):
            for number, data in enumerate(self.names):
                path = Path(data)
                if not is_dataset(data) and (data == STANDARD or self.ending != _ending_of(data)):
                    path = Path(folder, f"{number}.{self.ending}")
                    copied[str(path)] = _shown(data)
                    with _opened(data) as source:
                        _copy(path, _lines(source, _shown(data)))
                paths.append(path)
            shard = self.shard
            choose = None if shard is None else lambda lengths: shard.part(range(len(lengths)))
            examples = self._read(paths, name, choose)
        for first in range(0, len(examples), ROWS):
            yield examples[first : first + ROWS]

    def _texts(self, multiline: bool) -> Iterator[list[Example]]:
        """Yield the examples of each piece of raw texts or of treebanks.

        Sentences of other shards are counted and skipped, not read.

        Args:
            multiline: see `_pieces`.
        """
        names, victim, max_length = self.names, self.victim, self.reading.max_length
        if self.reading.columns is not None and self.ending == RAW:
            found = "raw text has no columns"
            name = _shown(in_short(names))
            raise InputError(found, path=name, key="--columns", remedy="leave them out")
        ranges: Iterable[tuple[int, int | None]] = repeat((0, None), len(names))
        if self.shard is not None:
            ranges = _shard_lines(self.shard, names, multiline)
        any_text = False
        with TemporaryDirectory() as folder:
            piece = Path(folder, f"piece.{self.ending}")
            for data, (skipped, end) in zip(names, ranges, strict=True):
                if end == skipped:
                    continue
                with _opened(data) as source:
                    lines = islice(_lines(source, _shown(data)), skipped, end)
                    # An empty file is an error only if all are empty.
                    needed = not any_text and data == names[-1]
                    for first, content in _pieces(lines, multiline, needed):
                        any_text = True
                        _copy(piece, [content])
                        with _named({str(piece): _shown(data)}, _shown(data), skipped + first):
                            if self.ending != RAW:
                                examples = self._read([piece], piece)
                            else:
                                if not first:
                                    _check_raw(piece, victim.pairs)
                                examples = _raw(piece, max_length, victim.pairs)
                                victim.check(examples)
                        yield examples


def _copy(piece: Path, content: Iterable[bytes]) -> None:
    needed, remedy = "it is needed for a piece of the data", "free some space there"
    with writing(piece, needed, remedy), piece.open("wb") as file:
        file.writelines(content)


def _ending_of(data: str) -> str:
    return "parquet" if is_parquet(data) else plain_ending(data).lstrip(".")


def _answered(victim: AnsweringVictim, examples: list[Example]) -> Iterator[Written]:
    """Yield examples with their answers, in their order."""
    answers = {each.id: each.answer for each in predictions(victim, examples, checked=False)}
    for example in examples:
        if example.block or example.row:
            yield example, None, answers[example.id]
        else:
            yield replace(example, gold=answers[example.id]), None, None


def _raw(path: Path, max_length: int, pairs: bool) -> list[Example]:
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
                remedy="correct the line",
            )
        sentence = Sentence(words, context=context[0] if pairs else ())
        with located(path, at + 1):
            check_length(sentence, max_length, "--max_length")
        rows.append((at, sentence))
    examples = examples_of([sentence for _, sentence in rows])
    return [replace(example, id=at) for example, (at, _) in zip(examples, rows, strict=True)]


def _check_raw(path: Path, pairs: bool) -> None:
    """Check that the first piece of raw text is not of a table, a treebank or JSON.

    Raises:
        InputError: it holds JSON; or every line besides comments has the same number of tabs.
    """
    content = read_text(path)
    refuse_json(path, content, "give its format, such as --format jsonl")
    lines = [
        (number, line)
        for number, line in enumerate(content.split("\n"), start=1)
        if line.strip() and not line.startswith("#")
    ]
    columns = {line.count("\t") + 1 for _, line in lines}
    if not pairs and len(columns) == 1 and columns != {1}:
        number, line = lines[0]
        raise InputError(
            f"{columns.pop()} columns in every line, such as {line!r:.60}",
            path=path,
            line=number,
            expected="raw text, a sentence a line",
            remedy="give its format, such as --format conllu or tsv, or replace the tabs by spaces",
        )


def _lines(source: IO[bytes], name: str) -> Iterator[bytes]:
    """Yield the lines of the data.

    Raises:
        InputError: a line cannot be read.
    """
    try:
        yield from source
    except OSError as error:
        found, remedy = f"cannot be read: {error.strerror}", "copy the file again"
        raise InputError(found, path=name, key="--data", remedy=remedy) from None


def _shard_lines(shard: Shard, names: Sequence[str], multiline: bool) -> list[tuple[int, int]]:
    """Return the first line of a shard in each file, from 0, and the line after its last one.

    They are equal if the shard has no example in the file.
    """
    starts = []
    for data in names:
        with _opened(data) as source:
            starts.append(_starts(_lines(source, data), multiline))
    chosen, ranges, first = shard.part(range(sum(len(each) - 1 for each in starts))), [], 0
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


def _opened(data: str) -> AbstractContextManager[IO[bytes]]:
    """Open a file, packed or not, or standard input."""
    return nullcontext(sys.stdin.buffer) if data == STANDARD else unpacked(Path(data))


@contextmanager
def _named(copied: Mapping[str, str], name: str, first: int) -> Iterator[None]:
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
