"""Scores on perturbed texts, a column a system, from the ``scores.json`` of `evaluate`.

The measures are those of Huang et al. (2021), see `evaluation.pairs`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from robustparse.reports.folders import Json, number
from robustparse.reports.tables.details import MISSING, Section, Table, shown
from robustparse.tasks.task import named

STANDARD, PERTURBED = "standard_accuracy", "perturbation_accuracy"
MEASURES = {
    STANDARD: "Standard accuracy",
    PERTURBED: "Perturbation accuracy",
    "robust_accuracy": "Robust accuracy",
    "blackbox_success_rate": "Black-box success rate",
}
WHOLE, MICRO, MACRO = "all texts", "micro", "macro"

Values = dict[str, float | None]


@dataclass(frozen=True, slots=True)
class PairScores:
    """What one system scores.

    Args:
        name: of the system.
        rows: how many perturbed texts there are of each operation, and in `MICRO` and `MACRO`.
        measures: for each of `MEASURES` the percentages by operation, `MICRO` and `MACRO`; the
            first one also has `WHOLE`, the headline score on all texts as they are.
    """

    name: str
    rows: dict[str, int]
    measures: dict[str, Values]


def pair_scores(name: str, found: Json) -> PairScores | None:
    """Take a system's scores on perturbed texts from ``scores.json``; None where there are none."""
    files = found.get("perturbed_files")
    if not files:
        return None
    rows = {operation: int(one["rows"]) for operation, one in files.items()}
    measures = {
        measure: {operation: number(one[measure]) for operation, one in files.items()}
        for measure in MEASURES
    }
    whole = {WHOLE: number(found[named(found["task"]).headline])}
    measures[STANDARD] = whole | measures[STANDARD]
    return PairScores(name, rows, measures)


def pairs_section(systems: Sequence[PairScores]) -> Section:
    """Make the section about perturbed texts: a table a measure, a row an operation.

    All but the first system also have a column of differences to the first, where both were scored
    on as many texts.
    """
    return Section("Perturbed texts", "pairs", pairs_tables(systems))


def pairs_tables(systems: Sequence[PairScores]) -> list[Table]:
    """Make the tables of `pairs_section`, one for each measure that any system has."""
    return [
        _table(systems, measure, title)
        for measure, title in MEASURES.items()
        if any(value is not None for one in systems for value in one.measures[measure].values())
    ]


def _table(systems: Sequence[PairScores], measure: str, title: str) -> Table:
    first, *others = systems
    differences = ["Difference"] if len(others) == 1 else [f"{one.name}\nmore" for one in others]
    operations = dict.fromkeys(name for one in systems for name in one.measures[measure])
    rows = []
    for operation in operations:
        cells = [shown(one.measures[measure].get(operation)) for one in systems]
        cells += [_difference(first, one, measure, operation) for one in others]
        rows.append((_called(operation, systems), cells))
    heads = ("Operation", *(one.name for one in systems), *differences)
    return Table("Perturbed texts", heads, rows, title)


def _called(operation: str, systems: Sequence[PairScores]) -> str:
    """Return an operation's name with the number of its texts, if that is the same for all."""
    count, *more = {one.rows.get(operation) for one in systems}
    known = count is not None and not more and operation != MACRO
    return f"{operation} ({count})" if known else operation


def _difference(first: PairScores, other: PairScores, measure: str, operation: str) -> str:
    before, after = (one.measures[measure].get(operation) for one in (first, other))
    if None in (before, after) or first.rows.get(operation) != other.rows.get(operation):
        return MISSING
    return f"{(after or 0.0) - (before or 0.0):+.1f}"


def summarize_pairs(systems: Sequence[PairScores]) -> str:
    """Write what perturbing the texts costs each system, a mean of operations; empty if unknown."""
    costs = [
        f"“{one.name}” {before - after:.1f} points ({before:.1f} to {after:.1f})"
        for one in systems
        for before, after in [(one.measures[m][MACRO] for m in (STANDARD, PERTURBED))]
        if before is not None and after is not None
    ]
    listed = ", ".join(costs)
    return f"On average over operations, perturbing the texts costs {listed}." if costs else ""
