"""``robustparse report``: one HTML page from output folders."""

from collections.abc import Sequence
from pathlib import Path

from rich.table import Table

from robustparse.api.printed_tables import plain_table, print_table
from robustparse.api.report import write_report
from robustparse.cli.options import as_list
from robustparse.errors import InputError
from robustparse.evaluation.comparison import Difference
from robustparse.evaluation.worst_of_attacks import WorstOfAttacks
from robustparse.metrics import score_name
from robustparse.reports.attacked_systems import names_of
from robustparse.reports.leaderboard import build_leaderboard
from robustparse.reports.tables import MISSING
from robustparse.reports.worst_of_attacks import worst_table


def report(
    folders: Sequence[str] = (),
    out: str = "report.html",
    compare: str | list[str] | None = None,
    compare_with: str | None = None,
    export: str | None = None,
    leaderboard: str | list[str] | None = None,
) -> None:
    """Write one self-contained HTML page from folders of attacks, certificates and other runs.

    Args:
        folders: output folders (--out) of attacks, certificates, transfers and evaluations, and
            folders of training runs; the clean model's first.
        out: the HTML file to write.
        compare: folders of attacks on the same sentences, or of evaluate on the same data, which
            come first on the page; shows how certain their differences from the first one are,
            and for systems under several attacks what is right under all of them.
        compare_with: the system that the others are compared with, by its name on the page or its
            folder; by default the first one.
        export: folder that gets each plot as PNG and SVG, and each table as LaTeX, for a paper.
        leaderboard: draw a leaderboard instead, from the entries in these folders, which `share`
            wrote.
    """
    if leaderboard is not None:
        if folders or compare or export:
            remedy = "give one of them"
            raise InputError("with folders of runs", key="--leaderboard", remedy=remedy)
        build_leaderboard([Path(entry) for entry in as_list(leaderboard)], Path(out))
        print(out)
        return
    several = as_list(compare)
    if not folders and not several:
        raise InputError("no folders given", remedy="name those that attack or fit wrote")
    several, folders = _reference_first(compare_with, several, folders)
    paths = [Path(folder) for folder in [*several, *folders]]
    names = names_of(paths)
    differences, worst = write_report(paths, Path(out), names, len(several), export)
    if differences:
        print_table(_table(names, differences))
    if worst:
        print_table(_worst_table(worst))
    print(out)


def _reference_first(
    reference: str | None, compared: Sequence[str], others: Sequence[str]
) -> tuple[list[str], list[str]]:
    """Put the reference system first; it must be among the compared ones if there are any."""
    compared, others = list(compared), list(others)
    if reference is None:
        return compared, others
    among = compared or others
    names = names_of([Path(folder) for folder in [*compared, *others]])[: len(among)]
    for at, folder in enumerate(among):
        if reference in (names[at], folder):
            among.insert(0, among.pop(at))
            return compared, others
    raise InputError(repr(reference), key="--compare_with", expected=f"one of {', '.join(names)}")


def _table(names: Sequence[str], differences: Sequence[Difference]) -> Table:
    title, right = f"points more than {names[0]}", ("points", "95 %", "p", "Holm")
    table = plain_table(title, ["system", "score"], right)
    table.columns[1].no_wrap = True
    for difference in differences:
        points = difference.points
        table.add_row(
            names[1 + difference.system],
            f"{difference.measure} {score_name(difference.score)}",
            f"{points.estimate:+.2f}",
            f"{points.lower:+.2f} to {points.upper:+.2f}",
            f"{difference.p:.4f}",
            f"{difference.adjusted:.4f}",
        )
    return table


def _worst_table(systems: Sequence[WorstOfAttacks]) -> Table:
    """Make the table of the page with a row for each attack, so that it fits into 80 columns."""
    made = worst_table(systems)
    table = plain_table(made.label.lower(), ["system", "under"], ["score"])
    heads = [head.replace("\n", " ") for head in made.heads[1:]]
    for name, cells in made.rows:
        for row, (head, cell) in enumerate(zip(heads, cells, strict=True)):
            if cell != MISSING:
                last = row == len(heads) - 1
                table.add_row("" if row else name, head, cell, end_section=last)
    return table
