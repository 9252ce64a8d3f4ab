"""The record of an attacked sentence: made, checked, and read again."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from robustparse.attacks.results import AttackResult
from robustparse.evaluation.record_files import StoredRecord, stored_records
from robustparse.evaluation.records import EXAMPLES, ExampleRecord
from robustparse.files.json_text import as_written
from robustparse.tasks.task import Task, scored_parts
from robustparse.types import Example


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
        Exception: the record's values do not fit together; see `as_written`.
    """
    reading, new = task.files.reading(example), tuple(record["adversarial_tokens"])
    counted = scored_parts(record, len(example.sentence))
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
