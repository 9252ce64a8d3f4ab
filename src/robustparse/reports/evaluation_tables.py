"""The page's tables of `evaluate`: scores on clean data, under operations and on perturbed texts.

For the measures of perturbed texts from files see `evaluation.pairs` (Huang et al. 2021).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from robustparse.evaluation.finished_folders import read_scores
from robustparse.evaluation.records import SCORES, Percentages, ScoresRecord
from robustparse.evaluation.shared_adversaries import SharedAdversaries
from robustparse.files.json_text import as_written
from robustparse.metrics import score_label
from robustparse.reports.tables import MISSING, Section, Table, shown
from robustparse.tasks.task import Task

STANDARD, PERTURBED = "standard_accuracy", "perturbation_accuracy"
MEASURES = {
    STANDARD: "Standard accuracy",
    PERTURBED: "Perturbation accuracy",
    "robust_accuracy": "Robust accuracy",
    "blackbox_success_rate": "Black-box success rate",
}
WHOLE, MICRO, MACRO = "all texts", "micro", "macro"
ADVERSARIES = "Shared adversaries"


@dataclass(frozen=True, slots=True)
class PairScores:
    """A system's scores on perturbed texts.

    Args:
        name: the name of the system.
        rows: the number of perturbed texts of each operation, and of `MICRO` and `MACRO`.
        measures: for each of `MEASURES` the percentages by operation, `MICRO` and `MACRO`; the
            first also has `WHOLE`, the headline score on all clean texts.
    """

    name: str
    rows: dict[str, int]
    measures: dict[str, Percentages]


def pair_scores(name: str, scores: ScoresRecord) -> PairScores | None:
    """Return a system's scores on perturbed texts; None if it has none."""
    files = scores.perturbed_files
    if not files:
        return None
    rows = {operation: int(row["rows"] or 0) for operation, row in files.items()}
    measures = {
        measure: {operation: row[measure] for operation, row in files.items()}
        for measure in MEASURES
    }
    measures[STANDARD] = {WHOLE: scores.clean[scores.task.scores.headline], **measures[STANDARD]}
    return PairScores(name, rows, measures)


def pairs_tables(systems: Sequence[PairScores]) -> list[Table]:
    """Make a table for each measure that any system has, with a row for each operation.

    For all systems but the first, a column holds the differences from the first, if both were
    scored on the same number of texts.
    """
    return [
        _table(systems, measure, title)
        for measure, title in MEASURES.items()
        if any(
            value is not None for system in systems for value in system.measures[measure].values()
        )
    ]


def _table(systems: Sequence[PairScores], measure: str, title: str) -> Table:
    first, *others = systems
    differences = (
        ["Difference"] if len(others) == 1 else [f"{system.name}\nmore" for system in others]
    )
    operations = dict.fromkeys(name for system in systems for name in system.measures[measure])
    rows = []
    for operation in operations:
        cells = [shown(system.measures[measure].get(operation)) for system in systems]
        cells += [_difference(first, system, measure, operation) for system in others]
        rows.append((_called(operation, systems), cells))
    heads = ("Operation", *(system.name for system in systems), *differences)
    return Table("Perturbed texts", heads, rows, title)


def _called(operation: str, systems: Sequence[PairScores]) -> str:
    """Return an operation's name; with the number of its texts, if all systems have the same."""
    count, *more = {system.rows.get(operation) for system in systems}
    known = count is not None and not more and operation != MACRO
    return f"{operation} ({count})" if known else operation


def _difference(first: PairScores, other: PairScores, measure: str, operation: str) -> str:
    before, after = (system.measures[measure].get(operation) for system in (first, other))
    if None in (before, after) or first.rows.get(operation) != other.rows.get(operation):
        return MISSING
    return f"{(after or 0.0) - (before or 0.0):+.1f}"


def adversaries_section(names: Sequence[str], shared: Sequence[SharedAdversaries]) -> list[Section]:
    """Make the section about the adversaries of systems; none without them.

    Args:
        names: the names of the systems.
        shared: their adversaries; see `shared_adversaries`.
    """
    if not shared:
        return []
    counts = [[row.texts, *row.of_each, row.of_any, row.of_all] for row in shared]
    sums = [*map(sum, zip(*counts, strict=True))]
    operations = [*(row.operation for row in shared), WHOLE]
    rows = []
    for operation, row in zip(operations, [*counts, sums], strict=True):
        share = 100 * row[-1] / sums[-1] if sums[-1] else None
        rows.append((operation, [*map(str, row), shown(share)]))
    heads = ("Operation", "Texts", *names, "Any system", "Every system", "Share, %")
    return [Section(ADVERSARIES, "adversaries", [Table(ADVERSARIES, heads, rows)])]


def summarize_pairs(systems: Sequence[PairScores]) -> str:
    """Say how many points each system loses on average over operations; empty if unknown."""
    costs = [
        f"“{system.name}” {before - after:.1f} points ({before:.1f} to {after:.1f})"
        for system in systems
        for before, after in [(system.measures[m][MACRO] for m in (STANDARD, PERTURBED))]
        if before is not None and after is not None
    ]
    listed = ", ".join(costs)
    return f"On average over operations, perturbing the texts costs {listed}." if costs else ""


@dataclass(frozen=True, slots=True)
class Evaluated:
    """A system's scores on clean data and under operations.

    Args:
        name: the name of the system.
        task: the task of the system.
        rows: percentages by score for each operation; the name of clean data is empty.
    """

    name: str
    task: Task
    rows: dict[str, Percentages]


def read_evaluation(folder: Path, name: str) -> tuple[PairScores | None, Evaluated | None]:
    """Read the scores of a folder.

    Returns:
        The scores on perturbed texts from files, if there are any; and the others, None if they
        add nothing to the first.

    Raises:
        InputError: ``scores.json`` is missing or damaged.
    """
    scores = read_scores(folder)
    with as_written(folder / SCORES, "evaluate"):
        pairs = pair_scores(name, scores)
    if pairs is not None and not scores.perturbed:
        return pairs, None
    return pairs, Evaluated(name, scores.task, {"": scores.clean, **scores.perturbed})


def evaluated_tables(systems: Sequence[Evaluated]) -> list[Table]:
    """Make a table for each task, with a row for each system and operation."""
    tasks = {system.task.name: system.task for system in systems}
    return [
        Table(
            f"Scores, {task.name}",
            ("Scored", *map(score_label, task.scores.names)),
            [*_rows([system for system in systems if system.task.name == task.name])],
        )
        for task in tasks.values()
    ]


def _rows(systems: Sequence[Evaluated]) -> Iterator[tuple[str, list[str]]]:
    for system in systems:
        for operation, scores in system.rows.items():
            name = ", ".join(filter(None, (system.name, operation)))
            yield name, [*map(shown, scores.values())]
