"""The tables that commands print, and notebooks without pictures."""

from collections.abc import Mapping
from io import StringIO
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from robustparse.evaluation.tally import WHEN
from robustparse.metrics import score_name


def summary_table(
    summaries: Mapping[str, Mapping[str, Any]], title: str = "", perturbed: bool = True
) -> Table:
    """Make a table with one row a system, from its ``summary.json``.

    Args:
        summaries: by the name of the system.
        title: of the table.
        perturbed: whether a note says how many words successes have changed.
    """
    rows = {}
    for name, summary in summaries.items():
        scores = {
            f"{when} {score_name(score)}": value
            for when in WHEN
            for score, value in summary[when].items()
        }
        # Of the strict rates the first: that of the paper, which looks at fewer parts.
        strict = list((summary.get("strict_success_rate") or {}).items())[:1]
        rows[name] = {
            **scores,
            "success": summary["success_rate"],
            **{f"strict {score_name(score)}": value for score, value in strict},
            "edits": summary["edits_per_sentence"],
            "queries": summary["queries_per_sentence"]["charged"],
        }
    table = _table(rows, 1, title)
    skipped = {name: summary.get("n_skipped", 0) for name, summary in summaries.items()}
    notes = []
    if any(skipped.values()):
        counts = ", ".join(f"{name} {count}" for name, count in skipped.items() if count)
        notes.append(f"skipped, as they reach the goal unchanged: {counts}")
    rates = {name: summary.get("perturbed_words") for name, summary in summaries.items()}
    if perturbed and any(rate is not None for rate in rates.values()):
        shares = ", ".join(f"{name} {shown(rate)}" for name, rate in rates.items())
        notes.append(f"perturbed words % (mean over successes): {shares}")
    for name, summary in summaries.items():
        notes += [f"warning: {name}: {warning}" for warning in summary.get("warnings", ())]
    table.caption = "\n".join(notes) or None
    return table


def score_table(scores: Mapping[str, Mapping[str, float | None]]) -> Table:
    """One row a system, its scores in percent."""
    rows = {
        name: {score_name(score): value for score, value in values.items()}
        for name, values in scores.items()
    }
    return _table(rows, 2)


def pairs_table(perturbed_files: Mapping[str, Mapping[str, Any]], worst_case: float) -> Table:
    """One row an operation, the layout of Tables 2 and 3 of Huang et al. (2021)."""
    columns = {
        "standard": "standard_accuracy",
        "perturbed": "perturbation_accuracy",
        "robust": "robust_accuracy",
        "black-box success": "blackbox_success_rate",
        "unknown words": "unknown_words",
    }
    rows = {
        f"{name}, {one['rows']} rows": {column: one[field] for column, field in columns.items()}
        for name, one in perturbed_files.items()
    }
    table = _table(rows, 2)
    table.columns[0].header = "operation"
    table.caption = f"all perturbed texts of an original right: {worst_case:.2f} % of originals"
    return table


def _table(rows: Mapping[str, Mapping[str, float | None]], digits: int, title: str = "") -> Table:
    table = Table(title=title or None, box=box.SIMPLE, collapse_padding=True, pad_edge=False)
    table.add_column("system", overflow="fold")
    columns = list(dict.fromkeys(column for row in rows.values() for column in row))
    for column in columns:
        # One word a line, so that the table fits into 80 columns.
        table.add_column(column.replace(" ", "\n"), justify="right", no_wrap=True)
    for name, row in rows.items():
        table.add_row(name, *(shown(row.get(column), digits) for column in columns))
    return table


def shown(value: float | None, digits: int = 1) -> str:
    """Write a value as text; a hyphen where there is none."""
    return "-" if value is None else f"{value:.{digits}f}"


def as_text(table: Table) -> str:
    """Return a table as plain text, as wide as it needs to be."""
    wide = terminal(file=StringIO(), width=160, color_system=None, legacy_windows=False)
    with wide.capture() as captured:
        wide.print(table)
    return captured.get().rstrip()


def terminal(**settings: Any) -> Console:
    """Return a terminal that shows names and paths as they are, ``[bold]`` and ``:smile:`` too."""
    return Console(**settings, markup=False, emoji=False)
