"""``robustparse report``: one HTML page from output folders."""

from collections.abc import Sequence
from pathlib import Path

from robustparse.cli.common.inputs import instantiate_options, options_of, parse_options
from robustparse.report.page import build_report


def report(folders: list[str], out: str = "report.html") -> None:
    """One self-contained HTML page from the output folders of attacks.

    Args:
        folders: with summary.json and examples.jsonl each, the clean parser's first.
        out: the page.
    """
    build_report([Path(folder) for folder in folders], Path(out))
    print(out)


def command(arguments: Sequence[str]) -> None:
    """Parse options and run."""
    parser = options_of(report, "report", skip={"folders"})
    parser.add_argument("folders", nargs="+", help="folders of attacks, the clean one's first")
    report(**instantiate_options(parser, parse_options(parser, arguments)))
