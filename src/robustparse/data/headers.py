"""Tell whether the first row of a table is a header, and take the names of its columns from it."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from robustparse.data.chosen import repeatable
from robustparse.data.labels import NO_LABEL, label_text
from robustparse.data.read_options import Known
from robustparse.data.tables import NumberedRow, Table
from robustparse.errors import InputError
from robustparse.types import ColumnName

_ENOUGH = 10  # smallest number of rows whose labels show whether the first line is a header
_RARE = 0.1  # largest fraction of these rows that may have a label that occurs only once


def is_label_header(table: Table, known: Known) -> bool:
    """Tell from the labels whether the first row of a table is a header.

    It is not if its label is missing, if the classifier knows its label, in any casing, or, without
    a classifier, if its label occurs elsewhere in the corpus. Otherwise it is if its cells are
    single words and every other row holds a longer text. With a classifier, it also is if the
    classifier knows the labels of at least half of the other rows; without one, if another file of
    the corpus begins with the same row, or if there are enough rows and few other labels occur only
    once.
    """
    first, others = last_cells(table)
    if not first or first in NO_LABEL:
        return False
    rest = Counter(others)
    if first in rest:
        return False
    if known.labels is not None:
        answered = sum(rest[label] for label in {*known.labels})
        enough = 2 * answered >= max(1, rest.total())
        is_label = first.casefold() in map(str.casefold, known.labels)  # perhaps in other casing
        return not is_label and (enough or _is_row_of_words(table))
    counts = Counter(known.other_labels())
    if first in counts:
        return False
    if _is_row_of_words(table) or [*table.first[1].values()] in map(list, known.other_first_rows()):
        return True
    counts.update(rest)
    rare = sum(count == 1 for count in counts.values())
    return counts.total() >= _ENOUGH and rare <= _RARE * counts.total()


def _is_row_of_words(table: Table) -> bool:
    """Tell whether the first row holds single words only, and every other row a longer text.

    The first cell may be empty, as above the row numbers that spreadsheets and R write.
    """
    first, *cells = map(label_text, table.first[1].values())
    words = [first, *cells] if first else cells
    if not all(len(cell.split()) == 1 and any(map(str.isalpha, cell)) for cell in words):
        return False
    texts = (any(" " in label_text(cell) for cell in row.values()) for _, row in table.others)
    return next(texts, False) and all(texts)


def is_one_name(table: Table) -> bool:
    """Tell whether a table of one quoted or CSV column begins with its name, whatever that is.

    It does if the first cell is one word, and all others are several.
    """
    if table.kind not in ("csv", "quoted tsv") or any(len(values) > 1 for _, values in table.rows):
        return False
    first, *others = (len(label_text(values[0]).split()) for _, values in table.rows)
    return first == 1 and bool(others) and min(others) > 1


def last_cells(table: Table) -> tuple[str, Iterator[str]]:
    """Return the last cell of the first row, and those of all rows that differ from it."""
    first = table.first[1]
    others = (last_cell(values) for _, values in table.others if values != first)
    return last_cell(first), others


def last_cell(values: dict[ColumnName, Any]) -> str:
    """Return the last cell of a row, where a label stands in a table without names."""
    return label_text(next(reversed(values.values())))


def with_names(table: Table) -> Table:
    """Return the table with its first row as column names.

    Raises:
        InputError: a name is repeated; there is no other row; or a row has another length or
            repeats the header.
    """
    line, first = table.first
    names = [label_text(name) for name in first.values()]
    if names.count("") > 1:  # as pandas names them; spreadsheets write empty columns at the end
        names = [name or f"Unnamed: {at}" for at, name in enumerate(names)]
    if twice := [name for name in names if names.count(name) > 1]:
        problem = f"the column {twice[0]!r} twice"
        raise InputError(problem, path=table.path, line=line, expected="a different name for each")
    rows = repeatable(lambda: _with_names(table, names), table.kept)
    if not sum(1 for _ in rows):  # this pass also checks every row
        problem = f"a header ({', '.join(names)}) without texts"
        raise InputError(problem, path=table.path, line=line)
    return replace(table, named=True, rows=rows)


def _with_names(table: Table, names: Sequence[str]) -> Iterator[NumberedRow]:
    """Yield all rows but the first, with its cells as the names of their values."""
    line, first = table.first
    for number, values in table.others:
        if len(values) != len(names):
            problem, expected = f"{len(values)} columns", f"{len(names)}, as in line {line}"
            numbered = all(len(values) == len(names) + 1 for _, values in table.others)
            remedy = (
                "if the first column holds numbers or names of rows, as R writes them, add a name "
                f"for it in front of line {line}, or write the file with row.names = FALSE"
            )
            raise InputError(
                problem,
                path=table.path,
                line=number,
                expected=expected,
                remedy=remedy if numbered else None,
            )
        if values == first:
            problem = f"the header of line {line} again"
            raise InputError(problem, path=table.path, line=number, remedy="remove the line")
        yield number, dict(zip(names, values.values(), strict=True))
