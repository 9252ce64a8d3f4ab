"""``robustparse.report``: one HTML page about attacks."""

import sys
from collections.abc import Sequence
from pathlib import Path

from robustparse.api.results import AttackResults
from robustparse.evaluation.comparison import Difference
from robustparse.reports.export import export as export_report
from robustparse.reports.page import build_report

Attacked = AttackResults | str | Path
"""Results, or the folder of an attack or of a training run."""


def report(
    attacked: Attacked | Sequence[Attacked],
    out: str | Path = "report.html",
    export: str | Path | None = None,
) -> Path:
    """Write a page about the results of attacks; the clean model's come first.

    Args:
        attacked: results, folders that ``attack`` or ``fit`` wrote, or a list of them.
        out: the page.
        export: folder that gets each plot as PNG and SVG, and each table as LaTeX, for a paper.

    Returns:
        Its path.

    Raises:
        InputError: a folder is missing, nothing can be read of any, or the page cannot be written.
            What cannot be read of some is named on the page and on standard error.
    """
    one = isinstance(attacked, AttackResults | str | Path)
    found: list[Attacked] = [attacked] if one else list(attacked)  # type: ignore[arg-type, list-item]
    folders = [each.folder if isinstance(each, AttackResults) else Path(each) for each in found]
    names = [each.name if isinstance(each, AttackResults) else "" for each in found]
    named = all(names) and len(set(names)) == len(names)
    return write_report(folders, out, names if named else None, export=export)


def write_report(
    folders: Sequence[Path],
    out: str | Path,
    names: Sequence[str] | None = None,
    differences: Sequence[Difference] = (),
    export: str | Path | None = None,
) -> Path:
    """Write a page and its exports; say on standard error what could not be read.

    Args:
        folders: see `build_report`.
        out: the page.
        names: see `build_report`.
        differences: see `build_report`.
        export: see `report`.

    Returns:
        The path of the page.

    Raises:
        InputError: see `report`.
    """
    shown = build_report(folders, Path(out), names, differences)
    for warning in shown.unread:
        print(f"robustparse: warning: {warning}", file=sys.stderr)
    if export is not None:
        export_report(shown, Path(export))
    return Path(out)
