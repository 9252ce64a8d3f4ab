"""The page's tables of `evaluate`: scores on clean data, under operations and on perturbed texts.

For the measures of perturbed texts from files see `evaluation.pairs` (Huang et al. 2021).
"""

from collections.abc import Iterator, Sequence

from robustparse.evaluation.records import PAIR_MEASURES, Percentages, ScoresRecord
from robustparse.evaluation.shared_adversaries import SharedAdversaries
from robustparse.metrics import score_label
from robustparse.reports.tables import MISSING, Section, Table, by_task, formatted

STANDARD, PERTURBED = "standard_accuracy", "perturbation_accuracy"
WHOLE, MACRO = "all texts", "macro"
ADVERSARIES = "Shared adversaries"


def pairs_tables(systems: Sequence[ScoresRecord]) -> list[Table]:
    """Make a table for each measure that any system has, with a row for each operation.

    For all systems but the first, a column holds the differences from the first, if both were
    scored on the same number of texts.
    """
    return [
        _table(systems, measure, title)
        for measure, title in PAIR_MEASURES.items()
        if any({*by_operation(each, measure).values()} - {None} for each in systems)
    ]


def by_operation(system: ScoresRecord, measure: str) -> Percentages:
    """Return a measure by operation; the standard accuracy also on all clean texts (`WHOLE`)."""
    whole = {WHOLE: system.clean[system.task.scores.headline]} if measure == STANDARD else {}
    return whole | {name: row[measure] for name, row in system.perturbed_files.items()}


def _table(systems: Sequence[ScoresRecord], measure: str, title: str) -> Table:
    others = systems[1:]
    differences = (
        ["Difference"] if len(others) == 1 else [f"{system.name}\nmore" for system in others]
    )
    values = [by_operation(system, measure) for system in systems]
    rows = []
    for operation in dict.fromkeys(name for each in values for name in each):
        counts = [system.perturbed_files.get(operation, {}).get("rows") for system in systems]
        cells = [formatted(each.get(operation)) for each in values]
        for count, value in zip(counts[1:], values[1:], strict=True):
            before, after = values[0].get(operation), value.get(operation)
            if before is None or after is None or count != counts[0]:
                cells.append(MISSING)
            else:
                cells.append(f"{after - before:+.1f}")
        same = counts[0] is not None and len({*counts}) == 1 and operation != MACRO
        rows.append((f"{operation} ({counts[0]:.0f})" if same else operation, cells))
    heads = ("Operation", *(system.name for system in systems), *differences)
    return Table("Perturbed texts", heads, rows, title)


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
        rows.append((operation, [*map(str, row), formatted(share)]))
    heads = ("Operation", "Texts", *names, "Any system", "Every system", "Share, %")
    return [Section(ADVERSARIES, "adversaries", [Table(ADVERSARIES, heads, rows)])]


def summarize_pairs(systems: Sequence[ScoresRecord]) -> str:
    """Say how many points each system loses on average over operations; empty if unknown."""
    costs = [
        f"“{system.name}” {before - after:.1f} points ({before:.1f} to {after:.1f})"
        for system in systems
        for before, after in [(system.perturbed_files[MACRO][m] for m in (STANDARD, PERTURBED))]
        if before is not None and after is not None
    ]
    listed = ", ".join(costs)
    return f"On average over operations, perturbing the texts costs {listed}." if costs else ""


def evaluated_tables(systems: Sequence[ScoresRecord]) -> list[Table]:
    """Make a table for each task, with a row for each system and operation."""
    return [
        Table(
            f"Scores, {of_task[0].task.name}",
            ("Scored", *map(score_label, of_task[0].task.scores.names)),
            [*_rows(of_task)],
        )
        for of_task in by_task(systems)
    ]


def _rows(systems: Sequence[ScoresRecord]) -> Iterator[tuple[str, list[str]]]:
    for system in systems:
        for operation, scores in {"": system.clean, **system.perturbed}.items():
            name = ", ".join(filter(None, (system.name, operation)))
            yield name, [*map(formatted, scores.values())]
