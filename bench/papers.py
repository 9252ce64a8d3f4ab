"""Tables and figures of five papers, cell by cell: our value beside the printed one, or a reason.

``bench/results/papers.yaml`` has the layout of each table, the printed values, and for each cell
the row of a results file that fills it, or the reason why none does. It is an error if
a named row is missing, or if a cell with a reason has a row.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from studies import read_yaml

FILE = Path(__file__).resolve().parent / "results" / "papers.yaml"
UNKNOWN, NO_CELL = "?", "."

Row = Mapping[str, Any]
Printed = float | int
Measure = Callable[[str, str, str], tuple[str, Row] | None]
"""From a study, a row's name and an expression to the text of the value and the row, or None."""


@dataclass(frozen=True)
class Cell:
    """A cell of a paper's table.

    Args:
        where: paper, table, row and column, for messages.
        printed: as the paper prints it; `UNKNOWN` if that is not at hand.
        study: the name of the results file.
        name: of the row in it, None if there can be none.
        expression: the value of the row, None if there can be none.
        reason: why it is not measured, a key of ``reasons``; None if it is.
    """

    where: str
    printed: str
    study: str | None
    name: str | None
    expression: str | None
    reason: str | None

    def measured(self, measure: Measure) -> tuple[str, Row] | None:
        """Return the text of our value and its row, None if there is a reason.

        Raises:
            ValueError: there are both or neither.
        """
        found = None
        if self.study and self.name and self.expression:
            found = measure(self.study, self.name, self.expression)
        if found is None and self.reason is None:
            raise ValueError(
                f"{self.where}: no row {self.name!r} of {self.study}.jsonl has "
                f"{self.expression!r}; correct the cell in {FILE.name}, or give it a reason"
            )
        if found is not None and self.reason is not None:
            raise ValueError(
                f"{self.where}: the reason is {self.reason!r}, but the row {self.name!r} of "
                f"{self.study}.jsonl has {self.expression!r}; delete the reason from {FILE.name}"
            )
        return found


@dataclass(frozen=True)
class PaperTable:
    """A table or figure of a paper, or a part of one.

    Args:
        paper: its title.
        name: such as "Table 1".
        spec: its part of the file.
    """

    paper: str
    name: str
    spec: Mapping[str, Any]

    @property
    def heading(self) -> str:
        """Return the heading on the page, different for each table."""
        return f"{self.paper}, {self.name}"

    def rows(self) -> Iterator[tuple[str, list[Cell | None]]]:
        """Yield each row's head and cells, None where the paper has no cell.

        Raises:
            ValueError: a row has not one printed value for each column.
        """
        for head, row in self.spec["rows"].items():
            printed = row["printed"].split()
            if len(printed) != len(self.spec["columns"]):
                raise ValueError(
                    f"{self.paper}, {self.name}, {head}: got {len(printed)} printed values for "
                    f"{len(self.spec['columns'])} columns; write {UNKNOWN} or {NO_CELL} for others"
                )
            cells = zip(self.spec["columns"].items(), printed, strict=True)
            yield (
                head,
                [self._cell(head, row, column, spec, value) for (column, spec), value in cells],
            )

    def cells(self) -> list[Cell]:
        """Return all cells."""
        return [cell for _, cells in self.rows() for cell in cells if cell]

    def _cell(self, head: str, row: Row, name: str, column: Row, printed: str) -> Cell | None:
        if printed == NO_CELL:
            return None
        fields = {**self.spec, **column, **row, **_reason(row, name)}
        name_of_row, expression = (
            fields[part].format(**fields) if part in fields else None for part in ("row", "value")
        )
        where = f"{self.paper}, {self.name}, {head}, {name}"
        study, reason = fields.get("study"), fields.get("reason")
        return Cell(where, printed, study, name_of_row, expression, reason)


def _reason(row: Row, column: str) -> dict[str, str]:
    reasons = row.get("reasons", {})
    return {"reason": reasons[column]} if column in reasons else {}


@cache
def read() -> dict[str, Any]:
    """Return the contents of the file."""
    content: dict[str, Any] = read_yaml(FILE)
    return content


def tables_of(paper: Mapping[str, Any]) -> list[PaperTable]:
    """Return the tables of a paper of the file."""
    return [PaperTable(paper["title"], name, spec) for name, spec in paper["tables"].items()]


@cache
def _quoted() -> dict[tuple[str | None, str | None], dict[str | None, Printed]]:
    """Return printed values by study and row, and by expression; the first of several."""
    values: dict[tuple[str | None, str | None], dict[str | None, Printed]] = {}
    for paper in [*read()["papers"].values(), *read()["others"].values()]:
        for table in tables_of(paper):
            for cell in table.cells() if table.spec.get("quoted", True) else []:
                if cell.printed != UNKNOWN:
                    number = float(cell.printed) if "." in cell.printed else int(cell.printed)
                    row = values.setdefault((cell.study, cell.name), {})
                    row.setdefault(cell.expression, number)
    return values


def published(study: str, name: str, expression: str) -> Printed | None:
    """Return what a paper prints in the cell that a row's expression fills, None without one."""
    same = read()["same"].get(f"{study} {name}", f"{study} {name}")
    study, _, name = same.partition(" ")
    return _quoted().get((study, name), {}).get(expression)


# The page


def section(name: str, measure: Measure) -> str:
    """Return a part of the page: ``count``, ``overview``, or the tables of a paper."""
    papers = read()["papers"]
    if name == "count":
        return count([cell for paper in papers.values() for cell in _cells(paper)], measure)
    if name == "overview":
        return overview([*papers.values()], measure)
    return "\n".join(table_text(table, measure) for table in tables_of(papers[name]))


def _cells(paper: Mapping[str, Any]) -> list[Cell]:
    return [cell for table in tables_of(paper) for cell in table.cells()]


def count(cells: Sequence[Cell], measure: Measure) -> str:
    """Return how many cells are measured, and how many others cannot be with open data."""
    measured = sum(cell.measured(measure) is not None for cell in cells)
    closed = sum(
        bool(read()["reasons"][cell.reason].get("closed")) for cell in cells if cell.reason
    )
    return (
        f"**{measured:,} of {len(cells):,} cells measured; {closed:,} of the others need data that "
        "is not open.**\n"
    )


def overview(papers: Sequence[Mapping[str, Any]], measure: Measure) -> str:
    """Return a table with a row for each table of the papers."""
    lines = ["|table or figure|what it holds|measured|not measured|", "|---|---|---|---|"]
    for paper in papers:
        for table in tables_of(paper):
            cells = table.cells()
            measured = sum(cell.measured(measure) is not None for cell in cells)
            reasons = Counter(cell.reason for cell in cells if cell.reason)
            why = ", ".join(f"{n} {read()['reasons'][key]['short']}" for key, n in reasons.items())
            link = f"[{table.heading}](#{_anchor(table.heading)})"
            lines.append(f"|{link}|{table.spec['holds']}|{measured} of {len(cells)}|{why}|")
    return "\n".join([*lines, ""])


def _anchor(heading: str) -> str:
    """Return the anchor that MkDocs gives to a heading."""
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower())


def table_text(table: PaperTable, measure: Measure) -> str:
    """Return a table in Markdown, what ours was measured on, and the reasons."""
    counts = Counter(cell.reason for cell in table.cells() if cell.reason)
    letters = {reason: f"*{chr(ord('a') + i)}*" for i, reason in enumerate(counts)}
    rows: list[Row] = []

    def text(cell: Cell | None) -> str:
        if cell is None:
            return ""
        found = cell.measured(measure)
        if found:
            rows.append(found[1])
        return f"{found[0] if found else letters[str(cell.reason)]} ({cell.printed})"

    lines = [f"|{'|'.join([head, *map(text, cells)])}|" for head, cells in table.rows()]
    columns = [*table.spec["columns"]]
    texts = {key: read()["reasons"][key]["text"] for key in counts}
    why = [f"- {letters[key]} ({n} cells): {texts[key]}" for key, n in counts.items()]
    holds = table.spec["holds"]
    parts = [f"### {table.heading}\n", f"{holds[0].upper()}{holds[1:]}. {origin(table, rows)}\n"]
    parts += [f"||{'|'.join(columns)}|", "|---" * (len(columns) + 1) + "|", *lines, ""]
    return "\n".join([*parts, *why, *([""] if why else [])])


def origin(table: PaperTable, rows: Sequence[Row]) -> str:
    """Return on what our values were measured, with which seeds and by which command."""
    spec = table.spec
    if not rows:
        return "Not measured."
    sizes = dict.fromkeys(str(row["n_sentences"]) for row in rows if "n_sentences" in row)
    seeds = dict.fromkeys(row["seed"] for row in rows if "seed" in row)
    trained = dict.fromkeys(seed for row in rows for seed in row.get("seeds", ()))
    commands = dict.fromkeys(row["command"].partition(" --")[0] for row in rows)
    sentences = [f"Ours: {spec['data'].format(n=' or '.join(sizes))}."]
    sentences += [f"Stand-ins: {spec['stand_ins']}."] if "stand_ins" in spec else []
    sentences += [f"Attack: seed {', '.join(map(str, seeds))}."] if seeds else []
    sentences += [f"Training: seeds {', '.join(map(str, trained))}."] if trained else []
    sentences += [spec["note"]] if "note" in spec else []
    programs = ", ".join(f"`{command}`" for command in commands)
    return f"{' '.join(sentences)} {programs} ([page]({spec['page']}))"
