"""Files with one line per scored answer, so that systems can be compared row by row.

``answers.jsonl`` has a line for each sentence of the unperturbed data. ``perturbed.jsonl`` has a
line for each sentence under each operation, changed or not, and for each row of ready-made
perturbed texts.
"""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from robustparse.files.json_text import as_written, decode_json
from robustparse.files.reading import read_lines
from robustparse.files.writing import written
from robustparse.metrics import PunctuationPolicy
from robustparse.tasks.task import Task
from robustparse.types import Example, Prediction

ANSWERS, PERTURBED = "answers.jsonl", "perturbed.jsonl"


@dataclass(frozen=True, slots=True)
class PerturbedAnswers:
    """A sentence before and after an operation, and a victim's answers to both.

    Args:
        operation: name of the operation.
        original: the example before the operation.
        perturbed: the example after the operation.
        before: the answer to the original example.
        after: the answer to the perturbed example.
        losses: losses of the gold answer before and after; None if the victim has no losses.
    """

    operation: str
    original: Example
    perturbed: Example
    before: Any
    after: Any
    losses: tuple[float, float] | None = None


def write_answers_of_rows(
    folder: Path,
    task: Task,
    examples: Sequence[Example],
    predictions: Iterable[Prediction],
    punctuation: PunctuationPolicy,
) -> None:
    """Write ``answers.jsonl``; for arguments see `scores_of`."""
    answers = {each.id: each.answer for each in predictions}
    lines = (_answered(task, each, answers[each.id], punctuation) for each in examples)
    _write(folder / ANSWERS, lines)


def write_perturbed_rows(
    folder: Path, task: Task, rows: Iterable[PerturbedAnswers], punctuation: PunctuationPolicy
) -> None:
    """Write ``perturbed.jsonl``."""
    _write(folder / PERTURBED, (_perturbed(task, row, punctuation) for row in rows))


def read_rows(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield the number and the content of each line of one of the files.

    Raises:
        InputError: the file is missing, or a line is not a JSON object.
    """
    for number, line in read_lines(path):
        yield number, decode_json(line, dict, path=path, line=number)


def right_parts(task: Task, row: Mapping[str, Any], path: Path, line: int) -> dict[str, int]:
    """Return how many parts of a row's answer are counted, and how many are right by each score.

    Raises:
        InputError: `evaluate` does not write such a row.
    """
    with as_written(path, "evaluate", line=line):
        right = {name: row["correct"][name] for name in task.scores.sums}
        counted = row["counted"]
        if any(type(each) is not int or not 0 <= each <= counted for each in right.values()):
            raise ValueError(f"{right} right parts of {counted}")
        return {"counted": counted, **right}


def _answered(
    task: Task, example: Example, answer: Any, punctuation: PunctuationPolicy
) -> dict[str, Any]:
    sums = task.scores.correct(answer, example, task.scores.counted(example.sentence, punctuation))
    context = example.sentence.context
    return {
        "row": example.id + 1,
        **({"context": list(context)} if context else {}),
        "tokens": list(example.sentence.words),
        "gold": task.answers.to_record(example.gold),
        "answer": task.answers.to_record(answer),
        "right": task.scores.complete(sums),
        "counted": sums["counted"],
        "correct": {name: sums[name] for name in task.scores.sums},
    }


def _perturbed(task: Task, row: PerturbedAnswers, punctuation: PunctuationPolicy) -> dict[str, Any]:
    before = _answered(task, row.original, row.before, punctuation)
    losses = None
    if row.losses is not None:
        # The last digits depend on what else was in a batch.
        rounded = (round(loss, 4) if math.isfinite(loss) else None for loss in row.losses)
        losses = dict(zip(("original", "perturbed"), rounded, strict=True))
    return {
        "operation": row.operation,
        **_answered(task, row.perturbed, row.after, punctuation),
        "original": {key: before[key] for key in ("tokens", "answer", "right")},
        "changed": row.perturbed.sentence.words != row.original.sentence.words,
        "losses": losses,
    }


def _write(path: Path, lines: Iterable[Mapping[str, Any]]) -> None:
    with written(path) as file:
        file.writelines(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines)
