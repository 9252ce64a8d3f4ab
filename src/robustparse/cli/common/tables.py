"""The tables that commands print."""

from collections.abc import Callable, Mapping
from typing import Any

from rich.table import Table

Value = Callable[[Mapping[str, Any]], float | None]

COLUMNS: tuple[tuple[str, Value], ...] = (
    ("clean UAS", lambda s: s["clean"]["uas"]),
    ("clean LAS", lambda s: s["clean"]["las"]),
    ("attacked UAS", lambda s: s["attacked"]["uas"]),
    ("attacked LAS", lambda s: s["attacked"]["las"]),
    ("success", lambda s: s["success_rate"]),
    ("edits", lambda s: s["edits_per_sentence"]),
    ("queries", lambda s: s["queries_per_sentence"]["charged"]),
)


def summary_table(summaries: Mapping[str, Mapping[str, Any]], title: str = "") -> Table:
    """One row a system, from its ``summary.json``."""
    table = Table(title=title or None)
    table.add_column("system", overflow="fold")
    for heading, _ in COLUMNS:
        # On two lines, so that the table fits into 80 columns.
        table.add_column(heading.replace(" ", "\n"), justify="right", no_wrap=True)
    for name, summary in summaries.items():
        values = [value(summary) for _, value in COLUMNS]
        table.add_row(name, *("-" if value is None else f"{value:.1f}" for value in values))
    skipped = {name: summary.get("n_skipped", 0) for name, summary in summaries.items()}
    if any(skipped.values()):
        counts = ", ".join(f"{name} {count}" for name, count in skipped.items() if count)
        table.caption = f"skipped, as they reach the goal unchanged: {counts}"
    return table


def score_table(scores: Mapping[str, Mapping[str, float | None]], title: str = "") -> Table:
    """One row a system, UAS, LAS, UCM and LCM in percent."""
    table = Table(title=title or None)
    table.add_column("system", overflow="fold")
    for heading in ("UAS", "LAS", "UCM", "LCM"):
        table.add_column(heading, justify="right", no_wrap=True)
    for name, values in scores.items():
        row = [values[key] for key in ("uas", "las", "ucm", "lcm")]
        table.add_row(name, *("-" if value is None else f"{value:.2f}" for value in row))
    return table
