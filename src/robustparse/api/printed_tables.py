"""Tables that commands and notebooks print."""

from collections.abc import Iterable, Mapping, Sequence
from io import StringIO
from typing import Any

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table

from robustparse.evaluation.records import WHEN
from robustparse.evaluation.transfer import Transfer
from robustparse.metrics import score_name

_MOST_COLUMNS = 8  # that fit into 80 characters


def summary_table(
    summaries: Mapping[str, Mapping[str, Any]], title: str = "", perturbed: bool = True
) -> Table:
    """Make a table with a row for each system.

    Args:
        summaries: the content of ``summary.json`` by the name of the system.
        title: the title of the table.
        perturbed: whether a note gives the percentage of changed words.
    """
    rows = {}
    for name, summary in summaries.items():
        scores = {
            f"{when} {score_name(score)}": value
            for when in WHEN
            for score, value in summary[when].items()
        }
        # The first of the strict rates is the paper's.
        strict = [*(summary.get("strict_success_rate") or {}).values()][:1]
        rows[name] = {
            **scores,
            "success": summary["success_rate"],
            **dict(zip(["strict success"], strict, strict=False)),
            "edits": summary["edits_per_sentence"],
            "queries": summary["queries_per_sentence"]["charged"],
        }
    table = _table(rows, 1, title)
    skipped = {name: summary.get("n_skipped", 0) for name, summary in summaries.items()}
    notes = []
    if any(skipped.values()):
        counts = ", ".join(f"{name} {count}" for name, count in skipped.items() if count)
        notes.append(f"skipped (already wrong before the attack, or at its goal): {counts}")
    rates = {name: summary.get("perturbed_words") for name, summary in summaries.items()}
    if perturbed and any(rate is not None for rate in rates.values()):
        shares = ", ".join(f"{name} {rounded(rate)}" for name, rate in rates.items())
        notes.append(f"perturbed words % (mean over successes): {shares}")
    for name, summary in summaries.items():
        if summary.get("service"):
            notes.append(f"{name}: {service_note(summary['service'])}")
        notes += [f"warning: {name}: {warning}" for warning in summary.get("warnings", ())]
    table.caption = "\n".join(notes) or None
    return table


def service_note(counts: Mapping[str, int]) -> str:
    """Write what was asked of a service (`Service.counts`)."""
    note = f"{counts['requests']} requests ({counts['repeated']} repeated), "
    note += f"{counts['from_cache']} answers from the cache, {counts['unreadable']} unreadable"
    if counts["asked_twice"]:
        note += f", {counts['disagreements']} of {counts['asked_twice']} differed when asked twice"
    return note


def score_table(scores: Mapping[str, Mapping[str, float | None]]) -> Table:
    """Make a table with a row for each system, or for each score if they are many; in percent."""
    rows = {
        name: {score_name(score): value for score, value in values.items()}
        for name, values in scores.items()
    }
    names = list(dict.fromkeys(score for row in rows.values() for score in row))
    if len(names) <= _MOST_COLUMNS:
        return _table(rows, 2)
    columns = {score: {name: row.get(score) for name, row in rows.items()} for score in names}
    table = _table(columns, 2)
    table.columns[0].header = "score"
    return table


def certified_table(name: str, summary: Mapping[str, Any]) -> Table:
    """Make a table of clean and certified scores, with a row for each number of edits.

    Args:
        name: the name of the system, the title of the table.
        summary: the content of the ``summary.json`` of certificates.
    """
    scores = list(summary["clean"])
    table = plain_table(name, ["certified at"], [*map(score_name, scores), "undecided", "inputs"])
    table.add_row("0 edits", *(rounded(summary["clean"][score], 2) for score in scores), "0", "")
    for edits, bounds in summary["certified"].items():
        cells = []
        for score in scores:
            lower, upper = (rounded(bounds[bound][score], 2) for bound in ("lower", "upper"))
            cells.append(lower if lower == upper else f"{lower} to {upper}")
        counts = (str(bounds["undecided"]), str(bounds["inputs"]))
        table.add_row(f"{edits} edit{'' if edits == '1' else 's'}", *cells, *counts)
    return table


def transfer_table(
    score: str,
    sources: Sequence[str],
    targets: Sequence[str],
    rates: Sequence[Sequence[Transfer]],
) -> Table:
    """Make a table with a row for each source and a column for each target of `transfer`.

    Args:
        score: the name of the score that the sentences lower.
        sources: the folders of the attacks.
        targets: the names of the models.
        rates: a row for each source with a cell for each target.
    """
    title = f"lower {score_name(score)}, % of all sentences (of those that fooled the source)"
    numbers = [str(number) for number in range(1, 1 + len(targets))]
    table = plain_table(title, ["made against"], numbers)
    for number, cells in enumerate(rates, start=1):
        shares = ["-" if c.given_success is None else f"{c.given_success:.1f}" for c in cells]
        both = zip(cells, shares, strict=True)
        table.add_row(
            f"source {number}", *(f"{cell.rate.estimate:.1f} ({share})" for cell, share in both)
        )
    legend = [f"source {number}: {source}" for number, source in enumerate(sources, start=1)]
    table.caption = "\n".join([*legend, *map("{}: {}".format, numbers, targets)])
    return table


def pairs_table(perturbed_files: Mapping[str, Mapping[str, Any]], worst_case: float) -> Table:
    """Make a table with a row for each operation, as Tables 2 and 3 of Huang et al. (2021)."""
    columns = {
        "standard": "standard_accuracy",
        "perturbed": "perturbation_accuracy",
        "robust": "robust_accuracy",
        "black-box success": "blackbox_success_rate",
        "unknown words": "unknown_words",
    }
    rows = {
        f"{name}, {row['rows']} rows": {column: row[field] for column, field in columns.items()}
        for name, row in perturbed_files.items()
    }
    table = _table(rows, 2)
    table.columns[0].header = "operation"
    table.caption = f"all perturbed texts of an original right: {worst_case:.2f} % of originals"
    return table


def _table(rows: Mapping[str, Mapping[str, float | None]], digits: int, title: str = "") -> Table:
    columns = list(dict.fromkeys(column for row in rows.values() for column in row))
    # A line for each word, so that the table fits into 80 columns.
    table = plain_table(title, ["system"], [column.replace(" ", "\n") for column in columns])
    for name, row in rows.items():
        table.add_row(name, *(rounded(row.get(column), digits) for column in columns))
    return table


def plain_table(title: str, left: Iterable[str], right: Iterable[str]) -> Table:
    """Make a table without rows.

    Args:
        title: its title; may be empty.
        left: the headings of columns of text, which is folded if the table is too wide.
        right: the headings of the columns after them, of numbers.
    """
    table = Table(title=title, box=box.SIMPLE, collapse_padding=True, pad_edge=False)
    for heading in left:
        table.add_column(heading, overflow="fold")
    for heading in right:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def rounded(value: float | None, digits: int = 1) -> str:
    """Write a value as text; a hyphen for None."""
    return "-" if value is None else f"{value:.{digits}f}"


def print_table(table: Table, console: Console | None = None) -> None:
    """Print a table, wider than the terminal if its numbers need it: none is cut."""
    console = console or terminal()
    needed = 1
    for column in table.columns:
        cells = (column.header, *column.cells) if column.no_wrap else (column.header,)
        lines = (line for cell in cells for line in str(cell).split("\n"))
        needed += max(map(cell_len, lines)) + 3  # with padding and border
    console.width = max(console.width, needed)
    console.print(table)


def as_text(table: Table) -> str:
    """Return a table as plain text, as wide as it needs to be."""
    wide = terminal(file=StringIO(), width=160, color_system=None, legacy_windows=False)
    with wide.capture() as captured:
        print_table(table, wide)
    return captured.get().rstrip()


def terminal(**settings: Any) -> Console:
    """Return a terminal that shows names and paths as they are, ``[bold]`` and ``:smile:`` too."""
    return Console(**settings, markup=False, emoji=False)
