"""The files of an output folder: their names, the types of what they hold, and their one decoder.

An attack writes ``examples.jsonl`` (an `ExampleRecord` a line), ``summary.json`` (`Summary`) and
``run.json`` (`RunRecord`); `evaluate` writes ``scores.json`` (`ScoresRecord`). The decoder checks
the type of every field and drops unknown fields; a damaged line or file is one `InputError`.
"""

import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import (
    Annotated,
    Any,
    Generic,
    Literal,
    NamedTuple,
    NotRequired,
    Required,
    TextIO,
    TypedDict,
    TypeVar,
    cast,
)

import msgspec
import numpy as np

from robustparse.attacks.results import AttackResult
from robustparse.data.columns import Known
from robustparse.errors import InputError
from robustparse.files import as_written, check_folder, in_short, read_text, writing
from robustparse.tasks.registry import named
from robustparse.tasks.task import Task
from robustparse.types import Example

T = TypeVar("T")
Row = TypeVar("Row", bound=Mapping[str, Any])
"""The type of the lines of a file, each with the id of its sentence."""

EXAMPLES, SUMMARY, RUN = "examples.jsonl", "summary.json", "run.json"
"""The files of an attack: its sentences, its scores, and what it was run with."""

SCORES = "scores.json"
"""The file of `evaluate`."""

REMEDY = "give a folder that `robustparse attack --out` wrote, or run the attack again"
SCORES_REMEDY = "give a folder that `robustparse evaluate --out` wrote, or run it again"
_LINE_REMEDY = "remove the line and run the same command again"

When = Literal["clean", "attacked"]
WHEN: tuple[When, When] = ("clean", "attacked")

Count = Annotated[int, msgspec.Meta(ge=0)]
Word = Annotated[str, msgspec.Meta(min_length=1)]
Percentages = dict[str, float | None]
Measure = dict[str, float | str | None]
"""Means by a model, and the names of the model and of its measure."""


class Queries(TypedDict):
    """Queries of a sentence: ``charged`` to the budget, and ``unique`` states."""

    charged: Count
    unique: Count


class Candidates(TypedDict):
    """Candidates of a sentence; see `attacks.engine.candidate_counts.CandidateCounts`."""

    slots: Count
    sums: dict[str, dict[str, Count]]
    judged_by_tag: NotRequired[dict[str, dict[str, Count]]]


class ExampleRecord(TypedDict):
    """A finished sentence, a line of ``examples.jsonl``.

    Attributes:
        id: the example's id.
        context: words of the other text of a pair; left out if there is none.
        tokens, adversarial_tokens: the words before and after the attack, as many; a word that was
            left out or merged into the word before is empty, and an inserted word stands with the
            word next to it, separated by a blank.
        read, adversarial_read: what the victim reads; left out if it reads the tokens.
        edited: positions of the changed words, from 0.
        gold: the gold answer (`Task.to_record`).
        clean, attacked: the victim's answers before and after, with the number of their correct
            parts (`Task.sums`) and their scores.
        counted: parts of an answer that enter the scores.
        uncounted: positions of words that do not enter the scores; left out if all do.
        targeted: whether the goal finds anything to attack in the sentence.
        skipped: whether the sentence reaches the goal without a change.
        success: whether the attack succeeded.
        queries: what the attack cost.
        edited_tags: tags (`Sentence.tagged`) of the changed words in the original sentence; empty
            if the data have no tags.
        candidates: how many were made, and how many passed each constraint.
        unseen: changed words that the victim does not know (`attacks.unseen`).
    """

    id: Count
    context: NotRequired[list[str]]
    tokens: list[Word]
    adversarial_tokens: list[str]
    read: NotRequired[list[str]]
    adversarial_read: NotRequired[list[str]]
    edited: list[Count]
    gold: dict[str, Any]
    clean: dict[str, Any]
    attacked: dict[str, Any]
    counted: Count
    uncounted: NotRequired[list[Count]]
    targeted: bool
    skipped: bool
    success: bool
    queries: Queries
    edited_tags: list[str]
    candidates: Candidates
    unseen: dict[str, list[Count] | None] | None


class CandidateMeans(TypedDict, total=False):
    """Candidates of an attack; see `attack_details.Candidates`."""

    slots: Count
    sums: dict[str, dict[str, Count]]
    means: dict[str, dict[str, float | None]]
    vetoed: dict[str, dict[str, Percentages]]


class Summary(TypedDict, total=False):
    """The scores of an attack, ``summary.json``; rates are percentages, None if not computed."""

    task: Required[str]
    language: str
    attack: Required[str]
    victims: list[str]
    seed: int | None
    n_sentences: Required[Count]
    n_skipped: Count
    n_words: Required[Count]
    clean: Required[Percentages]
    attacked: Required[Percentages]
    success_rate: Required[float | None]
    targeted: Percentages
    edits_per_sentence: Required[float | None]
    edit_rate: float | None
    queries_per_sentence: Percentages
    strict_success_rate: dict[str, float] | None
    edits_per_success: float | None
    queries_per_success: Percentages
    perturbed_words: float | None
    queries_per_failure: Percentages
    success_by_class: dict[str, Percentages] | None
    success_within: dict[str, float] | None
    candidates: CandidateMeans | None
    unseen: dict[str, Count | dict[str, Count | None]] | None
    by_tag: dict[str, Percentages] | None
    by_relation: dict[str, Percentages] | None
    perplexity: Measure | None
    word_similarity: Measure | None
    sentence_similarity: Measure | None
    reach: dict[str, Count]
    warnings: list[str]
    victim_forwards: Count | None
    victim_texts: Count | None
    texts_per_forward: float | None
    seconds: float | None
    other_model_seconds: dict[str, float] | None
    sentences_per_second: float | None
    victim_share_of_seconds: float | None
    service: dict[str, Count] | None
    versions: dict[str, str]


class VictimRun(TypedDict, total=False):
    """What every run on a victim is distinguished by: the victim, the data and their digests."""

    victims: list[str]
    seed: int | None
    limit: int | None
    decoder: str | None
    beam: int | None
    precision: str | None
    mean: str | None
    victim: Any
    data: str | list[str]
    fraction: float | None
    fraction_of: str | None
    columns: list[str] | None
    shard: str
    sha256: dict[str, Any]


def data_name(data: str | Sequence[str]) -> str:
    """Return the name of data without folders; of several files, see `in_short`."""
    return in_short([Path(each).name for each in ([data] if isinstance(data, str) else data)])


class RunRecord(VictimRun, total=False):
    """What an attack was run with, ``run.json``: what distinguishes it from other runs."""

    attack: str
    settings: dict[str, Any]
    tagger: str | None


@dataclass(frozen=True)
class ScoresRecord:
    """What `evaluate` wrote into ``scores.json``.

    Args:
        task: of the answers.
        clean: percentages by score, of the unperturbed data.
        perturbed: percentages by operation and score.
        perturbed_files: rows and percentages by operation, of perturbed texts made beforehand.
        sentences: the number of sentences, if the file has it.
    """

    task: Task
    clean: Percentages
    perturbed: dict[str, Percentages]
    perturbed_files: dict[str, Percentages]
    sentences: int | None = None


def decode(
    content: bytes | str,
    kind: type[T],
    path: Path,
    line: int | None = None,
    remedy: str | None = None,
) -> T:
    """Decode a JSON text into a typed record.

    Args:
        content: the text.
        kind: the type of the record.
        path: the file that the text comes from.
        line: the line of the file, if the text is only that line.
        remedy: what the user can do about a damaged file.

    Raises:
        InputError: the text is not JSON, a field is missing or has another type.
    """
    try:
        value: T = _decoder(cast(Hashable, kind)).decode(content)
    except msgspec.ValidationError as error:
        problem, _, key = str(error).partition(" - at `$")
        key = key.rstrip("`").lstrip(".")
        raise InputError(problem, path=path, line=line, key=key or None, remedy=remedy) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        if line is None:
            at = re.search(r"\(byte (\d+)\)", str(error))
            before = content[: int(at[1])] if at else content.rstrip()
            line = 1 + before.count(b"\n" if isinstance(before, bytes) else "\n")  # type: ignore[arg-type]
        raise InputError(f"not JSON ({error})", path=path, line=line, remedy=remedy) from None
    return value


@cache
def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind)


def converted(value: Any, kind: type[T]) -> T:
    """Return a decoded value as a more specific type.

    Raises:
        TypeError: it has another type.
    """
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise TypeError(str(error)) from None


def read_record(path: Path, kind: type[T], remedy: str | None = REMEDY) -> T:
    """Read a file that holds one JSON record.

    Raises:
        InputError: see `files.read_text` and `decode`.
    """
    return decode(read_text(path), kind, path, remedy=remedy)


def encode_record(record: Mapping[str, Any]) -> bytes:
    """Encode a record as a line of a file such as ``examples.jsonl``."""
    return msgspec.json.encode(record) + b"\n"


def append_record(path: Path, record: Mapping[str, Any]) -> int:
    """Append a record to a file; return the position of its first byte.

    The file is opened for each record: if it is deleted meanwhile, only earlier records are lost.

    Raises:
        InputError: the file cannot be written; the next reader ignores a half-written line.
    """
    content = memoryview(encode_record(record))
    size = len(content)
    with writing(path, "the sentences finished so far are kept"), path.open("ab", 0) as file:
        while content:  # a disk that fills up takes a part, and refuses the rest
            content = content[file.write(content) :]
        return file.tell() - size


class StoredRecord(NamedTuple, Generic[Row]):
    """A record with its file, its line (from 1), and its first and last byte (exclusive)."""

    record: Row
    path: Path
    line: int
    begin: int
    end: int


def stored_records(path: Path, kind: type[Row], begin: int = 0) -> Iterator[StoredRecord[Row]]:
    """Yield the records of a growing file; a last line torn by a kill is ignored.

    Args:
        path: the file, such as ``examples.jsonl``; a missing file has no records.
        kind: the type of the records.
        begin: the byte to start from; lines are counted from there.

    Raises:
        InputError: a complete line is not a record, or has the id of an earlier line.
    """
    if not path.exists():
        return
    lines: dict[int, int] = {}
    with path.open("rb") as file:
        file.seek(begin)
        # Split bytes, not text: U+2028 does not end a line, and a kill may tear a character.
        for line, row in enumerate(file, start=1):
            end = begin + len(row)
            if row.strip(b"\n"):
                try:
                    record = decode(row, kind, path, line, _LINE_REMEDY)
                except InputError:
                    if not row.endswith(b"\n"):
                        return
                    raise
                if (first := lines.setdefault(record["id"], line)) != line:
                    problem = f"repeats the sentence {record['id']} of line {first}"
                    raise InputError(problem, path=path, line=line, key="id", remedy=_LINE_REMEDY)
                yield StoredRecord(record, path, line, begin, end)
            begin = end


class RecordFile(Generic[Row]):
    """The records of a run, which are appended as sentences finish and sorted by id at the end.

    Args:
        path: the file, such as ``examples.jsonl``; it need not exist yet.
        kind: the type of the records.

    Attributes:
        positions: the first byte of each record by id.
    """

    def __init__(self, path: Path, kind: type[Row]) -> None:
        self.path, self.kind = path, kind
        self.positions: dict[int, int] = {}
        self._end = 0  # of the last record

    def keep(self, stored: StoredRecord[Row]) -> None:
        """Keep a record that stands in the file; records are kept in the order of the file."""
        self.positions[stored.record["id"]], self._end = stored.begin, stored.end

    def new_records(self) -> Iterator[Row]:
        """Yield the complete records that another process has appended since the last call."""
        for stored in stored_records(self.path, self.kind, self._end):
            self.keep(stored)
            yield stored.record

    def cut_off(self) -> None:
        """Remove the incomplete line that a killed run may have left at the end of the file."""
        if self.path.exists():
            with self.path.open("rb+") as file:
                if self._end < self.path.stat().st_size:
                    file.truncate(self._end)
                file.seek(max(0, self._end - 1))
                if file.read(1) not in (b"", b"\n"):
                    file.write(b"\n")

    def append(self, record: Row) -> None:
        """Append a record, which is on disk when this returns.

        Raises:
            InputError: see `append_record`.
        """
        self.positions[record["id"]] = append_record(self.path, record)

    def sorted_into(self, text: TextIO) -> Iterator[Row]:
        """Write all records by id into another file; yield each of them.

        Raises:
            InputError: records are gone, because another program changed the file; raised at the
                end.
        """
        lost = 0
        self.path.touch()  # nothing may have been written, or another program deleted the file
        with self.path.open("rb") as file:
            for id_, position in sorted(self.positions.items()):
                file.seek(position)
                try:
                    record = decode(file.readline(), self.kind, self.path)
                except InputError:
                    record = None
                if record is None or record["id"] != id_:
                    lost += 1
                    continue
                text.write(encode_record(record).decode())
                yield record
        if lost:
            raise InputError(
                f"lacks {lost} of {len(self.positions)} sentences: another program changed it "
                "during the run",
                path=self.path,
                remedy="run the same command again, which does them again",
            )


def read_records(path: Path) -> Iterator[ExampleRecord]:
    """Yield the records of an ``examples.jsonl``.

    Raises:
        InputError: see `stored_records`; or the changed words of a sentence are not those that its
            record names.
    """
    for stored in stored_records(path, ExampleRecord):
        record = stored.record
        with as_written(path, "attack", line=stored.line):
            if record["edited"] != edited_positions(record["tokens"], record["adversarial_tokens"]):
                raise ValueError("edited does not follow from the words")
        yield record


def edited_positions(words: Sequence[str], new: Sequence[str]) -> list[int]:
    """Return the positions of changed words, from 0.

    Raises:
        ValueError: there are not as many words as before.
    """
    both = enumerate(zip(words, new, strict=True))
    return [position for position, (old, word) in both if old != word]


def share_file(folder: Path, rank: int) -> Path:
    """Return the file where one of several processes keeps its records until they are collected."""
    return folder / f"examples.{rank}.jsonl"


def share_files(folder: Path) -> list[Path]:
    """Return the files of `share_file` that a folder has."""
    return sorted(folder.glob("examples.[0-9]*.jsonl"))


def all_records(folder: Path) -> Iterator[StoredRecord[ExampleRecord]]:
    """Yield each sentence of a folder once, from ``examples.jsonl`` and the files of processes.

    Raises:
        InputError: see `stored_records`.
    """
    known: set[int] = set()
    for path in (folder / EXAMPLES, *share_files(folder)):
        for stored in stored_records(path, ExampleRecord):
            if stored.record["id"] not in known:
                known.add(stored.record["id"])
                yield stored


def example_record(task: Task, result: AttackResult) -> ExampleRecord:
    """Return the record of a finished sentence."""
    example, text = result.example, result.text
    counted, tags = np.array(result.counted, dtype=np.bool_), text.tagged()

    clean, attacked = (
        task.scores.correct(answer, example, counted) for answer in (result.clean, result.attacked)
    )

    def scored(answer: Any, right: Mapping[str, int]) -> dict[str, Any]:
        scores = task.scores.score({name: right[name] for name in ("counted", *task.scores.sums)})
        return {
            **task.answers.to_record(answer),
            **{name: right[name] for name in task.scores.sums},
            **{n: None if score is None else round(score, 4) for n, score in scores.items()},
        }

    record: ExampleRecord = {
        "id": result.id,
        "tokens": list(text.words),
        "adversarial_tokens": list(result.words),
        "edited": list(result.edited),
        "gold": task.answers.to_record(example.gold),
        "clean": scored(result.clean, clean),
        "attacked": scored(result.attacked, attacked),
        "counted": clean["counted"],
        "targeted": result.targeted,
        "skipped": result.skipped,
        "success": result.success,
        "queries": {"charged": result.charged, "unique": result.unique},
        "edited_tags": [tags[position] for position in result.edited] if tags else [],
        "candidates": result.candidates,  # type: ignore[typeddict-item]
        "unseen": result.unseen,
    }
    if example.sentence.context:
        record["context"] = list(example.sentence.context)
    if text.words != example.sentence.words:
        record["read"] = list(example.sentence.words)
        record["adversarial_read"] = list(result.read)
    if not counted.all():
        record["uncounted"] = np.flatnonzero(~counted).tolist()
    return record


def check_record(task: Task, record: ExampleRecord, example: Example) -> None:
    """Check that a record belongs to a sentence and that its figures follow from its answers.

    Raises:
        Exception: the record's values do not fit together; see `files.as_written`.
    """
    reading, new = task.files.reading(example), tuple(record["adversarial_tokens"])
    counted = np.ones(len(example.sentence), dtype=np.bool_)
    counted[record.get("uncounted", [])] = False
    _, clean, attacked = task.answers.of(record)
    result = AttackResult(
        example=example,
        text=reading.sentence,
        words=new,
        read=reading.of(new),
        edited=tuple(edited_positions(reading.sentence.words, new)),
        clean=clean,
        attacked=attacked,
        counted=tuple(counted.tolist()),
        targeted=record["targeted"],
        skipped=record["skipped"],
        success=record["success"],
        charged=record["queries"]["charged"],
        unique=record["queries"]["unique"],
        candidates=dict(record["candidates"]),
        unseen=record["unseen"],
    )
    expected: Mapping[str, Any] = example_record(task, result)
    for key in expected.keys() | record.keys():
        if record.get(key) != expected.get(key):
            raise ValueError(f"{key} belongs to another sentence or does not follow from the rest")


def read_summary(folder: Path, remedy: str = REMEDY) -> Summary:
    """Read the ``summary.json`` of a folder.

    Raises:
        InputError: it is missing or damaged.
    """
    check_folder(folder, remedy=remedy)
    if not (folder / SUMMARY).exists():
        expected = "the output folder of an attack"
        raise InputError("no such file", path=folder / SUMMARY, expected=expected, remedy=remedy)
    return read_record(folder / SUMMARY, Summary, remedy)


def read_finished(folder: Path) -> tuple[Summary, list[ExampleRecord]]:
    """Read the summary and the records of a finished attack.

    Raises:
        InputError: a file is missing or damaged, or the two differ in their numbers of sentences.
    """
    summary = read_summary(folder)
    if not (folder / EXAMPLES).exists():
        raise InputError("no such file", path=folder / EXAMPLES, remedy=REMEDY)
    records = list(read_records(folder / EXAMPLES))
    check_count(folder, summary, records)
    return summary, records


def check_count(folder: Path, summary: Summary, records: Sequence[ExampleRecord]) -> None:
    """Check that a folder has a record for each sentence of its summary.

    A file may have been cut, or a run with a higher limit may have been interrupted.

    Raises:
        InputError: it has fewer or more records.
    """
    if len(records) != summary["n_sentences"]:
        raise InputError(
            f"has {len(records)} sentences",
            path=folder / EXAMPLES,
            expected=f"{summary['n_sentences']}, as in {SUMMARY}",
            remedy="run the same attack again, which attacks missing sentences",
        )


def read_run(folder: Path) -> RunRecord:
    """Read the ``run.json`` of a folder, empty if it has none.

    Raises:
        InputError: it is damaged.
    """
    return read_record(folder / RUN, RunRecord) if (folder / RUN).exists() else {}


def read_scores(folder: Path) -> ScoresRecord:
    """Read the ``scores.json`` of a folder.

    Raises:
        InputError: it is missing or damaged, or lacks a score of its task.
    """
    path = folder / SCORES
    content: dict[str, Any] = read_record(path, dict[str, Any], SCORES_REMEDY)
    with as_written(path, "evaluate"):
        task = named(content["task"])
        sentences = content.get("n_sentences")
        operations = converted(content.get("perturbed", {}), dict[str, Percentages])
        return ScoresRecord(
            task,
            converted({name: content[name] for name in task.scores.names}, Percentages),
            {
                name: {score: row[score] for score in task.scores.names}
                for name, row in operations.items()
            },
            converted(content.get("perturbed_files", {}), dict[str, Percentages]),
            None if sentences is None else converted(sentences, int),
        )


def read_adversarial(folder: Path, task: Task, records: Sequence[ExampleRecord]) -> list[Example]:
    """Read the adversarial sentences of a finished attack, in the order of its records.

    Raises:
        InputError: there is not exactly one such file, or it has another number of sentences.
    """
    paths = sorted(folder.glob("adversarial.*"))
    if len(paths) != 1:
        problem = f"{len(paths)} files adversarial.*"
        raise InputError(problem, path=folder, expected="one", remedy=REMEDY)
    labels = {label for record in records if isinstance(label := record["gold"].get("label"), str)}
    copies = task.files.read(paths[0], known=Known(read_run(folder).get("columns"), labels or None))
    if len(copies) != len(records):
        problem = f"{len(copies)} sentences, and {len(records)} lines in {EXAMPLES}"
        raise InputError(problem, path=paths[0], remedy=REMEDY)
    return copies
