"""``robustparse report``: one HTML page from output folders."""

from collections.abc import Sequence
from pathlib import Path

from robustparse.cli.common.options import run_command
from robustparse.report.page import build_report


def report(folders: list[str], out: str = "report.html") -> None:
    """One self-contained HTML page from the output folders of attacks.

    Args:
        folders: with summary.json and examples.jsonl each, the clean model's first.
        out: the page.
    """
    build_report([Path(folder) for folder in folders], Path(out))
    print(out)


def command(arguments: Sequence[str]) -> None:
    """Parse options and run."""
    help_text = "folders of attacks, the clean one's first"
    run_command(report, arguments, positional={"folders": help_text})
