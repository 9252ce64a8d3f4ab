"""``robustparse report``: one HTML page from output folders."""

from collections.abc import Sequence
from pathlib import Path

from rich import box
from rich.table import Table

from robustparse.api.report import write_report
from robustparse.api.tables import terminal
from robustparse.errors import InputError
from robustparse.evaluation.comparison import Difference
from robustparse.evaluation.comparison import compare as compared
from robustparse.metrics import score_name
from robustparse.reports.folders import names_of


def report(
    folders: Sequence[str] = (),
    out: str = "report.html",
    compare: str | list[str] | None = None,
    export: str | None = None,
) -> None:
    """Write one self-contained HTML page from folders of attacks, transfers, evaluations and runs.

    Args:
        folders: that `attack`, `transfer`, `evaluate` or `fit` wrote, the clean model's first.
        out: the HTML file to write.
        compare: folders of attacks on the same sentences, or of evaluate on the same data, which
            come first on the page; shows how certain their differences from the first one are.
        export: folder that gets each plot as PNG and SVG, and each table as LaTeX, for a paper.
    """
    several = [] if compare is None else [compare] if isinstance(compare, str) else compare
    if not folders and not several:
        raise InputError("no folders given", remedy="name those that attack or fit wrote")
    differences = compared([Path(folder) for folder in several]) if several else []
    paths = [Path(folder) for folder in [*several, *folders]]
    names = names_of(paths)
    write_report(paths, out, names, differences, export)
    if differences:
        terminal().print(_table(names, differences))
    print(out)


def _table(names: Sequence[str], differences: Sequence[Difference]) -> Table:
    title = f"points more than {names[0]}"
    table = Table(title=title, box=box.SIMPLE, collapse_padding=True, pad_edge=False)
    table.add_column("system", overflow="fold")
    for name in ("score", "points", "95 %", "p", "Holm"):
        table.add_column(name, justify="left" if name == "score" else "right", no_wrap=True)
    for one in differences:
        points = one.tested.points
        table.add_row(
            names[1 + one.system],
            f"{one.measure} {score_name(one.score)}",
            f"{points.estimate:+.2f}",
            f"{points.lower:+.2f} to {points.upper:+.2f}",
            f"{one.tested.p:.4f}",
            f"{one.tested.adjusted:.4f}",
        )
    return table
