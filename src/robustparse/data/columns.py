"""Find the columns of the texts and the label of a table.

Columns are chosen in this order: the names in ``--columns``; the columns of the model's training
data, if the table has them; usual names; positions (text, label or premise, hypothesis, label).
"""

import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

from robustparse.data.headers import is_one_name, last_cell, last_cells, with_names
from robustparse.data.labels import is_label, label_text
from robustparse.data.read_options import Known, ReadOptions
from robustparse.data.tables import NumberedRow, Table
from robustparse.errors import InputError
from robustparse.types import ColumnName, Example, Layout

log = logging.getLogger(__name__)

NAME_THEM = "name the columns of the text and of the label with --columns"

_DIVIDERS = {"\t": "tabs", ",": "commas", ";": "semicolons", "|": "vertical bars"}


@dataclass(frozen=True)
class Format:
    """Usual names and positions of the columns of a kind of data.

    Args:
        pairs: column names of the two texts of a pair, in lower case.
        texts: column names of a single text, the most usual first.
        labels: column names of the label, the most usual first.
        widths: maps a number of unnamed columns to a description of their content.
        is_header: tells whether the first row is a header with unusual names.
        raw: whether rows of four or more columns hold raw text, utterance, form and slots.
    """

    pairs: Sequence[tuple[str, str]]
    texts: Sequence[str]
    labels: Sequence[str]
    widths: Mapping[int, str]
    is_header: Callable[[Table, Known], bool]
    raw: bool = False


class Rows(NamedTuple):
    """The rows of a table without its header, and the meaning of its columns.

    Attributes:
        table: the table without its header.
        layout: layout of the table; it names a label column even if the table has none.
        guessed: the table's first line if its columns were chosen by their position only.
    """

    table: Table
    layout: Layout
    guessed: int | None


def check_columns(columns: Sequence[str] | None, form: Format) -> None:
    """Check the number of column names, and that they differ.

    Raises:
        InputError: there are too few or too many names, or a name is repeated.
    """
    most = 3 if form.pairs else 2
    if columns is None or (2 <= len(columns) <= most and len(set(columns)) == len(columns)):
        return
    both = "or the columns of both texts, " if form.pairs else ""
    expected = f"the column of the text, {both}and the column of the {form.labels[0]}"
    raise InputError(f"got {list(columns)}", key="columns", expected=expected)


def columns_of(examples: Sequence[Example]) -> list[str] | None:
    """Return the names of the columns that examples were read from; None if they have none."""
    row = examples[0].row if examples else None
    if row is None or isinstance(row.layout.texts[0], int):
        return None
    return [*map(str, row.layout.texts), str(row.layout.label)]


@dataclass(frozen=True)
class ColumnChoice:
    """Chooses the columns of a table, and whether its first row is a header.

    Args:
        table: a table from `read_table`.
        form: the format of this kind of data.
        options: names of columns that the table must have, if they are set; what the model and the
            corpus tell about the table; and whether the label column is required (``gold``).
    """

    table: Table
    form: Format
    options: ReadOptions

    def rows(self) -> Rows:
        """Choose the columns.

        Raises:
            InputError: a column is missing, or the columns cannot be identified.
        """
        table, form, options = self.table, self.form, self.options
        if not table.named and self._names_columns():
            table = with_names(table)
        if table.named:
            return replace(self, table=table)._by_name()
        line, first = table.first
        cells = [label_text(cell) for cell in first.values()]
        # Only these names fit a table without a header.
        usual = [[*texts, form.labels[0]] for texts in ((form.texts[0],), *form.pairs[:1])]
        if options.columns is not None and [*options.columns] not in usual:
            raise self._no_header(options.columns)
        if is_one_name(table):
            return self._with_header(cells)._rows((cells[0],), form.labels[0])
        is_header = len(cells) > 1 and form.is_header(table, options.known)
        if is_header and len(cells) not in form.widths and not self._holds_raw_texts():
            problem = f"a header with unknown names ({', '.join(cells)})"
            raise InputError(problem, path=table.path, line=line, remedy=NAME_THEM)
        return (self._with_header(cells) if is_header else self)._by_position(line)

    def _with_header(self, cells: Sequence[str]) -> "ColumnChoice":
        """Take the first row for a header, and say so."""
        tell(
            f"{self.table.path}: line {self.table.first[0]} is taken for a header "
            f"({', '.join(cells)}); if it is data, add a line with the names of the columns above "
            "it"
        )
        return replace(self, table=with_names(self.table))

    def _rows(
        self,
        texts: tuple[ColumnName, ...],
        label: ColumnName,
        raw: tuple[ColumnName, ColumnName] | None = None,
        guessed: int | None = None,
    ) -> Rows:
        table = self.table
        header = table.named and table.kind in ("tsv", "quoted tsv", "csv")
        layout = Layout(table.kind, texts, label, table.delimiter, header, raw)
        return Rows(table, layout, guessed)

    def _names_columns(self) -> bool:
        """Tell whether the first row holds known column names."""
        form, columns = self.form, self.options.known.columns
        cells = [label_text(cell) for cell in self.table.first[1].values()]
        if self.options.columns is not None:
            return set(self.options.columns[:-1]) <= set(cells)
        lowered = {cell.lower() for cell in cells}
        texts = any(name in lowered for name in form.texts)
        texts = texts or any(lowered.issuperset(pair) for pair in form.pairs)
        labels = len(cells) > 1 and any(name in lowered for name in form.labels)
        remembered = columns is not None and set(columns[:-1]) <= set(cells)
        if (texts and labels) or not (texts or labels or remembered):
            return texts
        # The row may hold a text that is such a name. Its label then also occurs in other rows.
        first, others = last_cells(self.table)
        return len(cells) == 1 or first not in others

    # Columns without names

    def _holds_raw_texts(self) -> bool:
        """Tell whether rows without names hold raw text, utterance, form and slots."""
        may_be = self.form.raw and self.options.columns is None and len(self.table.first[1]) > 3
        return may_be and all(map(_holds_slots, self.table.others))

    def _by_position(self, guessed: int) -> Rows:
        """Take the columns in their usual order, and check that all rows have as many."""
        form, columns = self.form, [*self.table.first[1]]
        width = max(2, min(4, len(columns)) if form.raw else len(columns))
        # The second cell may be missing. If it need not be a label, it may be the rest of a text.
        alike = not self.options.gold and self.table.kind == "csv"
        for line, values in self.table.rows:
            if alike and len(values) != len(columns) <= 2:
                raise InputError(
                    f"{len(values)} columns",
                    path=self.table.path,
                    line=line,
                    expected=f"{len(columns)}, as in line {guessed}",
                    remedy=f"put texts with {delimiters(self.table.delimiter)} in quotation marks",
                )
            size = min(4, len(values)) if form.raw else len(values)
            fits = size <= 2 if width == 2 else size == width
            if not fits or width not in form.widths:
                raise self._other_width(line, [*map(str, values.values())], width)
        if width == 4:
            return self._rows((columns[1],), columns[2], (columns[0], columns[3]), guessed)
        columns = columns if len(columns) > 1 else [columns[0], 1]
        return self._rows(tuple(columns[:-1]), columns[-1], guessed=guessed)

    def _other_width(self, line: int, cells: Sequence[str], width: int) -> InputError:
        form, text = self.form, "\t".join(cells)
        problem, remedy = f"{len(cells)} columns in {text[:60]!r}", None
        if width == 3 and len(cells) < 3:
            problem += ", a pair without its second text or its label"
        elif width == 2 and len(cells) == 3 and form.pairs:
            remedy = "if the file holds pairs, add the second text to line 1"
        elif len(cells) > 3 and not form.raw:
            remedy = f"{NAME_THEM}, after adding their names as line 1 unless they are there"
        expected = form.widths.get(width) or " or ".join(form.widths.values())
        expected += f", separated by {delimiters(self.table.delimiter)}"
        expected += ", as in the lines before" if line > self.table.first[0] else ""
        path = self.table.path
        return InputError(problem, path=path, line=line, expected=expected, remedy=remedy)

    def _no_header(self, columns: Sequence[str]) -> InputError:
        line, first = self.table.first
        shown = "\t".join(map(str, first.values()))
        missing = next((name for name in columns if name not in first.values()), columns[0])
        return InputError(
            f"no column {missing!r} in {shown[:60]!r}",
            path=self.table.path,
            line=line,
            key="columns",
            expected="a first line with the names of the columns",
            remedy="leave --columns out (text and label, in this order), or add such a line",
        )

    # Columns with names

    def _by_name(self) -> Rows:
        """Find the columns by their names, and check that every row has them."""
        names = [*map(str, self.table.names)]
        if self.options.columns is not None:
            texts, label = tuple(self.options.columns[:-1]), self.options.columns[-1]
        else:
            texts = self._text_columns(names)
            label = self._label_column(names, texts)
        spelt = _spellings(names)
        raw = None
        if self.form.raw and {"raw", "slots"} <= spelt.keys():
            raw = spelt["raw"], spelt["slots"]
        needed = (*texts, *([label] if self.options.gold else []), *(raw or ()))
        for line, values in self.table.rows:
            for name in needed:
                if name not in values:
                    raise self._no_column(line, name, (*texts, label), [*map(str, values)])
        return self._rows(texts, label, raw)

    def _text_columns(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return the names of the text columns.

        If a table has only one column of a usual pair, both names are returned. If it has two
        columns, and one has a usual name for labels, the other is the text. Otherwise the usual
        name is taken.
        """
        form, columns = self.form, self.options.known.columns
        if columns and set(columns[:-1]) <= set(names):
            return tuple(columns[:-1])
        spelt = _spellings(names)
        for wanted in (*form.pairs, *((text,) for text in form.texts)):
            if all(name in spelt for name in wanted):
                return tuple(spelt[name] for name in wanted)
        if half := [pair for pair in form.pairs if spelt.keys() & {*pair}]:
            return tuple(spelt.get(name, name) for name in half[0])
        others = [name for name in names if name.lower() not in form.labels]
        return (others[0],) if len(names) == 2 and len(others) == 1 else (form.texts[0],)

    def _label_column(self, names: Sequence[str], texts: tuple[str, ...]) -> str:
        """Return the name of the label column, which the table may lack.

        It is the name in the model's training data if the text columns are the same, a usual name,
        or the name of the only column that could hold labels.
        """
        form, columns = self.form, self.options.known.columns
        missing = form.labels[0]
        if columns and texts == tuple(columns[:-1]):
            missing = columns[-1]
        if missing in names:
            return missing
        spelt = _spellings(names)
        for usual in form.labels:
            if usual in spelt:
                return spelt[usual]
        others = [name for name in names if name not in texts]
        if form.raw:
            alone = len(names) == 2 and len(others) == 1
            # Ids of utterances have one token each.
            forms = alone and any(" " in label_text(r.get(others[0])) for _, r in self.table.rows)
            return others[0] if forms else missing
        possible = [name for name in others if self._could_be_labels(name)]
        if len(possible) != 1:
            return missing
        tell(f"{self.table.path}: the column {possible[0]!r} is taken for the labels")
        return possible[0]

    def _could_be_labels(self, name: str) -> bool:
        """Tell whether a column may hold labels: the classifier's, or else few different values."""
        cells = (row.get(name) for _, row in self.table.rows)
        if not all(is_label(cell) for cell in cells if label_text(cell)):
            return False
        labels = filter(None, (label_text(row.get(name)) for _, row in self.table.rows))
        if (known := self.options.known.labels) is not None:  # for more than half of the rows
            return sum(1 if label in known else -1 for label in labels) > 0
        counts = Counter(labels)
        return 1 < len(counts) <= counts.total() // 2

    def _no_column(
        self, line: int, name: str, wanted: Sequence[str], names: Sequence[str]
    ) -> InputError:
        problem, columns, such = f"no column {name!r}", "text and the label", "'[review, stars]'"
        pair = "'[sentence1, sentence2, label]'"
        if len(wanted) == 2 and self.form.pairs and len(names) > 2:
            such += f", or of two texts and the label, such as {pair}"
        if len(wanted) == 3:
            columns, such = "two texts and the label", pair
            if name == wanted[1]:
                problem += ": the second text of the pair is missing"
        return InputError(
            problem,
            path=self.table.path,
            line=line,
            expected=f"one of {', '.join(names)}",
            remedy=f"name the columns of the {columns} with --columns, such as {such} "
            "(data.init_args.columns of a configuration)",
        )


def delimiters(delimiter: str) -> str:
    """Return the name of the delimiters of a table for a message."""
    return _DIVIDERS.get(delimiter, repr(delimiter))


def _spellings(names: Sequence[str]) -> dict[str, str]:
    """Map each name in lower case to the first column that has it in any casing."""
    return {name.lower(): name for name in reversed(names)}


def choose_alike(tables: Sequence[Table], form: Format, options: ReadOptions) -> list[Rows]:
    """Choose the columns of each of several tables that are read as one.

    Raises:
        InputError: see `ColumnChoice.rows`; or the tables have different columns.
    """
    chosen = [
        ColumnChoice(table, form, replace(options, known=known)).rows()
        for table, known in zip(tables, _with_others(tables, options.known), strict=True)
    ]
    check_alike([(rows.table.path, _described(rows)) for rows in chosen])
    return chosen


def check_alike(files: Sequence[tuple[Path, str]]) -> None:
    """Check that files that are read as one have the same format.

    Args:
        files: each file, and a description of its format.

    Raises:
        InputError: a file has another format than the first one; the error names both.
    """
    for path, description in files[1:]:
        if description != files[0][1]:
            raise InputError(
                description,
                path=path,
                expected=f"{files[0][1]}, as {files[0][0]} has",
                remedy="give all files the same format, or read them one by one",
            )


def _with_others(tables: Sequence[Table], known: Known) -> list[Known]:
    """Return what is known of each table, with the labels and first rows of the other tables."""
    if len(tables) == 1:
        return [known]
    # Other tables help to find headers only where columns are unnamed.
    unnamed = {number: table for number, table in enumerate(tables) if not table.named}

    @cache
    def counts() -> dict[int, Counter[str]]:
        return {
            number: Counter(last_cell(values) for _, values in table.others)
            for number, table in unnamed.items()
        }

    @cache
    def total() -> Counter[str]:
        labels = Counter[str]()
        for count in counts().values():
            labels.update(count)
        return labels

    def others(number: int) -> Known:
        return replace(
            known,
            other_labels=lambda: (
                Counter(known.other_labels()) + (total() - counts().get(number, Counter[str]()))
            ),
            other_first_rows=lambda: [
                *known.other_first_rows(),
                *([*each.first[1].values()] for at, each in unnamed.items() if at != number),
            ],
        )

    return [others(number) for number in range(len(tables))]


def _described(rows: Rows) -> str:
    """Describe the format of a table with everything that its writer depends on."""
    layout, names = rows.layout, [*map(str, rows.table.first[1])]
    kind = layout.kind if layout.kind != "csv" else f"csv divided by {layout.delimiter!r}"
    columns = (*layout.texts, layout.label, *(layout.raw or ()))
    used = ", ".join(repr(each) if isinstance(each, str) else str(each + 1) for each in columns)
    header = f", of the header {', '.join(names)}" if layout.header else ""
    return f"{kind} with the columns {used}{header}"


@cache
def tell(message: str) -> None:
    """Log how a file is interpreted: once, and only in the first process of a training."""
    from pytorch_lightning.utilities import rank_zero_only  # which takes seconds

    rank_zero_only(log.warning)("%s", message)


def _holds_slots(row: NumberedRow) -> bool:
    cells = [*row[1].values()]
    return len(cells) > 3 and str(cells[3]).lstrip().startswith("{")
