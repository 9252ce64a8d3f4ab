"""Scores on data as they are and under operations, from the ``scores.json`` of `evaluate`.

The file also holds the scores on perturbed texts made beforehand, which `pairs` shows.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from robustparse.evaluation.lines import SCORES
from robustparse.files import as_written, read_json
from robustparse.metrics import score_label
from robustparse.reports.folders import Json, number
from robustparse.reports.tables.details import Table, shown
from robustparse.reports.tables.pairs import PairScores, pair_scores
from robustparse.tasks.task import Task, named

REMEDY = "give a folder that `robustparse evaluate --out` wrote, or run it again"


@dataclass(frozen=True, slots=True)
class Evaluated:
    """What one system scores.

    Args:
        name: of the system.
        task: whose scores they are.
        rows: percentages by score, of the data as they are, whose name is empty, and by operation.
    """

    name: str
    task: Task
    rows: dict[str, dict[str, float | None]]


def read_scores(folder: Path, name: str) -> tuple[PairScores | None, Evaluated | None]:
    """Read the scores of a folder.

    Returns:
        Those on perturbed texts made beforehand, None where none were computed; and the others,
        None where the first say it all.

    Raises:
        InputError: there is no ``scores.json``, or it is not as `evaluate` writes it.
    """
    found = read_json(folder / SCORES, dict, REMEDY)
    with as_written(folder / SCORES, "evaluate"):
        return pair_scores(name, found), _evaluated(name, found)


def _evaluated(name: str, found: Json) -> Evaluated | None:
    operations = found.get("perturbed", {})
    if found.get("perturbed_files") and not operations:
        return None
    task = named(found["task"])
    every = {"": found, **operations}
    rows = {key: {one: number(row[one]) for one in task.scores} for key, row in every.items()}
    return Evaluated(name, task, rows)


def evaluated_tables(systems: Sequence[Evaluated]) -> list[Table]:
    """Make a table for each task, with a row for each system and operation."""
    tasks = {one.task.name: one.task for one in systems}
    return [
        Table(
            f"Scores, {task.name}",
            ("Scored", *map(score_label, task.scores)),
            [*_rows([one for one in systems if one.task.name == task.name])],
        )
        for task in tasks.values()
    ]


def _rows(systems: Sequence[Evaluated]) -> Iterator[tuple[str, list[str]]]:
    for one in systems:
        for operation, scores in one.rows.items():
            name = ", ".join(filter(None, (one.name, operation)))
            yield name, [*map(shown, scores.values())]
