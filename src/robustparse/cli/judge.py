"""``robustparse judge``: what annotators answered, and how far they agree."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from robustparse.annotation.questionnaire import QUESTIONS
from robustparse.annotation.score import score as sum_up
from robustparse.cli.common.inputs import instantiate_options, options_of, parse_options
from robustparse.files import write_text


def judge(key: str, files: list[str], out: str | None = None) -> None:
    """Unblind the answers of annotators: shares, majorities and agreement.

    Args:
        key: the file that `export` wrote apart.
        files: the answered CSV files, one an annotator.
        out: a JSON file for the figures.
    """
    found = sum_up(Path(key), [Path(path) for path in files])
    if out is not None:
        write_text(Path(out), json.dumps(found, indent=2) + "\n")
    Console().print(_table(found))


def _table(found: dict[str, Any]) -> Table:
    annotators = f"{found['annotators']} annotator{'s' if found['annotators'] > 1 else ''}"
    table = Table(title=f"{found['items']} pairs, {annotators}")
    for heading in ("question", "answer", "answers\n%", "majority\nitems", "agreement\n%", "kappa"):
        right = heading not in ("question", "answer")
        # What is too wide for a terminal of 80 columns goes on in the next line.
        whole = heading != "kappa"
        table.add_column(heading, justify="right" if right else "left", no_wrap=whole)
    for question in QUESTIONS:
        figures = found[question]
        names = list(dict.fromkeys([*figures["answers"], *figures["majority"]]))
        for row, name in enumerate(names):
            share = figures["answers"].get(name)
            table.add_row(
                question if row == 0 else "",
                "no majority" if name == "none" else name,
                "-" if share is None else f"{share:.1f}",
                str(figures["majority"].get(name, 0)),
                *(_agreement(figures) if row == 0 else ("", "")),
                end_section=row == len(names) - 1,
            )
    return table


def _agreement(figures: dict[str, Any]) -> tuple[str, str]:
    if figures["agreement"] is None:
        return "-", "-"
    kind = str(figures["kappa_kind"]).capitalize()
    kappa = "undefined" if figures["kappa"] is None else f"{figures['kappa']:.3f} ({kind})"
    return f"{figures['agreement']:.1f}", kappa


def command(arguments: Sequence[str]) -> None:
    """Parse options and run."""
    parser = options_of(judge, "judge", skip={"key", "files"})
    parser.add_argument("key", help="the key that export wrote")
    parser.add_argument("files", nargs="+", help="the answered files, one an annotator")
    judge(**instantiate_options(parser, parse_options(parser, arguments)))
