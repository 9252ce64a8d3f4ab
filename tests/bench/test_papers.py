"""The page of the papers' cells: its counts, its printed values, and rows that are gone."""

import re
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

import papers
import results
import studies
from papers import Cell, PaperTable

PAGE = (results.DOCS / "results" / "papers.md").read_text("utf-8")
CELL = re.compile(r"(.*) \(([^()]*)\)")
CELLS = [cell for paper in papers.read()["papers"].values() for cell in papers._cells(paper)]


def page_tables() -> list[tuple[list[tuple[str, list[str]]], dict[str, tuple[int, str]]]]:
    """Return the rows of each table of the page, and its reasons by letter, with their counts."""
    tables = []
    for text in PAGE.split("\n### ")[1:]:
        lines = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("|")]
        reasons = re.findall(r"^- (\*\w\*) \((\d+) cells\): (.*)$", text, re.MULTILINE)
        named = {letter: (int(count), why) for letter, count, why in reasons}
        tables.append(([(head, cells) for head, *cells in lines[2:]], named))
    return tables


def test_the_first_line_counts_the_cells_of_the_page() -> None:
    measured, every, closed = 0, 0, 0
    shut = {reason["text"] for reason in papers.read()["reasons"].values() if "closed" in reason}
    for rows, reasons in page_tables():
        ours = [CELL.fullmatch(cell)[1] for _, cells in rows for cell in cells if cell]  # type: ignore[index]
        counts = {letter: ours.count(letter) for letter in reasons}
        assert counts == {letter: count for letter, (count, _) in reasons.items()}
        every += len(ours)
        measured += len(ours) - sum(counts.values())
        closed += sum(count for count, why in reasons.values() if why in shut)
    (first,) = re.findall(r"\*\*([\d,]+) of ([\d,]+) cells measured; ([\d,]+) of the others", PAGE)
    assert tuple(int(number.replace(",", "")) for number in first) == (measured, every, closed)


def test_every_printed_value_is_on_the_page_once_and_in_the_file_once() -> None:
    written = papers.FILE.read_text("utf-8")
    specs = [
        table for paper in papers.read()["papers"].values() for table in paper["tables"].values()
    ]
    others = [
        table for paper in papers.read()["others"].values() for table in paper["tables"].values()
    ]
    rows = [row["printed"].split() for table in specs for row in table["rows"].values()]
    # A key that stands twice in YAML would hide the first.
    kept = len(rows) + sum(len(table["rows"]) for table in others)
    assert len(re.findall(r"\bprinted: \"", written)) == kept
    shown = [
        [found[1] for found in map(re.compile(r"\(([^()]*)\)$").search, cells) if found]
        for table, _ in page_tables()
        for _, cells in table
    ]
    assert shown == [[value for value in row if value != papers.NO_CELL] for row in rows]
    assert all(re.fullmatch(r"-?\d+(\.\d+)?|\?", value) for row in shown for value in row)


def test_headings_and_cells_are_named_once() -> None:
    headings = re.findall(r"^### (.*)$", PAGE, re.MULTILINE)
    assert len(set(headings)) == len(headings)
    assert len({cell.where for cell in CELLS}) == len(CELLS)


def test_a_cell_has_a_row_or_a_reason_and_never_both() -> None:
    fitted = next(
        cell for cell in CELLS if cell.reason is None and cell.expression == "words_changed"
    )
    assert fitted.measured(results.measure)
    with pytest.raises(ValueError, match="renamed"):
        replace(fitted, name="renamed").measured(results.measure)
    with pytest.raises(ValueError, match="no_such_value"):
        replace(fitted, expression="field no_such_value").measured(results.measure)
    with pytest.raises(ValueError, match="not_run"):
        replace(fitted, reason="not_run").measured(results.measure)
    with pytest.raises(ValueError, match="correct the cell"):
        papers.section("zheng2020", lambda *cell: None)
    gone = replace(fitted, name="renamed", reason="not_run")
    assert gone.measured(results.measure) is None


def table(**row: Any) -> PaperTable:
    columns = {"first": {"value": "{kind}"}, "second": {"value": "b", "reason": "not_run"}}
    spec = {"holds": "x", "study": "s", "row": "{system} 15", "columns": columns}
    return PaperTable(
        "A", "Table 1", {**spec, "rows": {"head": {"system": "p", "kind": "k", **row}}}
    )


def test_a_study_can_run_every_cell_that_was_not_run() -> None:
    for cell in CELLS:
        if cell.reason in ("not_run", "recorded"):
            assert cell.study in studies.names(), cell.where
            assert cell.name in rows_of(cell.study), cell.where


@cache
def rows_of(study: str) -> set[str]:
    rows = studies.read_study(study).rows
    return {
        results.named({"system": system.name, "attack": attack and attack.name, "budget": budget})
        for system, attack, budget in rows
    }


def test_fields_of_a_row_win_over_those_of_its_column_and_table() -> None:
    first, second = table(printed="1.5 ?").cells()
    assert first == Cell("A, Table 1, head, first", "1.5", "s", "p 15", "k", None)
    assert second == Cell("A, Table 1, head, second", "?", "s", "p 15", "b", "not_run")
    (second,) = table(printed=". 2", value="c", study="t", reasons={"second": "unit"}).cells()
    assert second == Cell("A, Table 1, head, second", "2", "t", "p 15", "c", "unit")
    with pytest.raises(ValueError, match="got 1"):
        table(printed="1").cells()


def test_a_cell_shows_both_values_or_a_letter() -> None:
    def measure(study: str, name: str, expression: str) -> Any:
        row = {"command": "run s --more", "seed": 0, "n_sentences": 7}
        return ("2.0", row) if expression == "k" else None

    one = table(printed="1.5 ?")
    spec = {**one.spec, "data": "{n} texts", "page": "s.md"}
    text = papers.table_text(replace(one, spec=spec), measure)
    assert "|head|2.0 (1.5)|*a* (?)|" in text
    assert "7 texts" in text
    assert "`run s`" in text
    assert papers.count(one.cells(), measure).startswith("**1 of 2 cells measured; 0 ")


def test_other_pages_show_the_value_of_the_cell_that_a_row_fills() -> None:
    assert (
        papers.published("zheng2020_table1", "ewt_biaffine_word zheng2020_blackbox 5", "success")
        == 42
    )
    copy = "ewt_biaffine_word_character wang2021_open 15"
    assert papers.published("wang2021_copies", copy, "success") == 55.3
    # BERT's row of Table 8 is no value for a WordCNN.
    assert papers.published("jin2020_mr", "mr_cnn textfooler_random_17", "left") is None


def test_a_column_of_printed_values_has_one_at_least() -> None:
    for name, spec in results.specs()["table"].items():
        rows, context = results.rows_of(spec)
        for head, expression in results.columns_of(spec).items():
            if expression.startswith("paper "):
                values = [results.value(expression, row, context) for row in rows]
                assert any(value is not None for value in values), (name, head)


def test_reasons_are_those_of_columns() -> None:
    for paper in papers.read()["papers"].values():
        for table in paper["tables"].values():
            for row in table["rows"].values():
                assert row.get("reasons", {}).keys() <= table["columns"].keys()
