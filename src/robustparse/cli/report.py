"""``robustparse report``: one HTML page from output folders."""

from pathlib import Path

from robustparse.reports.page import build_report


def report(folders: list[str], out: str = "report.html") -> None:
    """One self-contained HTML page from the output folders of attacks, transfers and runs.

    Args:
        folders: that `attack`, `transfer` or `fit` wrote, the clean model's attack first.
        out: the page.
    """
    build_report([Path(folder) for folder in folders], Path(out))
    print(out)
