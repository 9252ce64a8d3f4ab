"""Read and write tables of any file format.

TSV, CSV, JSON lines, a JSON list of objects, Parquet, and datasets of the ``datasets`` library:
saved in a folder (``FOLDER/SPLIT``), or on the hub (``datasets:NAME:SPLIT``). Files may be
compressed, see `files.reading.unpacked`. `columns` decides which columns hold the text and the
label.
"""

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import Any

from robustparse.data.chosen import repeatable
from robustparse.data.dataset_card import check_card
from robustparse.errors import InputError, dataset_calls, reason
from robustparse.files.compression import plain_ending
from robustparse.files.json_text import check_texts, decode_json
from robustparse.files.reading import read_bytes, read_lines
from robustparse.types import ColumnName, Layout, Row, TableKind

HUB = "datasets:"
ENDINGS = (".tsv", ".csv", ".jsonl", ".json", ".parquet")
"""File name endings of tables; a file with any other ending is read as TSV."""

_DELIMITERS = (",", ";", "\t", "|")  # of CSV: spreadsheets in many countries write semicolons
_SEPARATOR_LINE = re.compile(r"sep=(.)\r?\n")  # the first line of a CSV file that Excel writes
# A field is quoted, a number, true, false or missing; in every row at least one is quoted.
# Possessive quantifiers (*+): a match takes linear time.
_QUOTES = r'"(?:[^"]|"")*+"'
_VALUE = r"(?:TRUE|FALSE|True|False|NA|NaN|[-+]?Inf|[-+0-9.eE]*+)"
_QUOTED_TSV = re.compile(
    rf"(?:(?:{_VALUE}\t)*+{_QUOTES}(?:\t(?:{_QUOTES}|{_VALUE}))*+(?:\r?\n|$))++"
)
# A row in which only fields that hold quotation marks are quoted, and these are doubled, as pandas
# writes them.
_FIELD = rf'(?:{_QUOTES}|[^"\t]*+)'
_PARTLY_QUOTED_ROW = re.compile(rf"{_FIELD}(?:\t{_FIELD})*+")
_DOUBLED = re.compile(r'[^\t]""|""[^\t]')
_PARQUET = b"PAR1"
_EMPTY = "the dataset holds no text"
_RENAME = "give it a name that ends in .jsonl (an object on each line) or .json (a list)"
# Characters that some programs treat as line breaks.
_LINE_BREAKS = {ord(each): f"\\u{ord(each):04x}" for each in "\x85\u2028\u2029"}


NumberedRow = tuple[int, dict[ColumnName, Any]]
"""Line and values of a row; in a dataset or Parquet file, the line is the row's number, from 1."""


@dataclass(frozen=True)
class Table:
    """Rows of a file, before the columns of text and label are chosen.

    Args:
        path: path of the file, or name of the dataset.
        kind: the format in which changed rows are written.
        named: whether columns have names; otherwise they are numbered, and the first row may be a
            header.
        rows: at least one row; a list, or read from the file again in each loop.
        delimiter: delimiter of a CSV file.
    """

    path: Path
    kind: TableKind
    named: bool
    rows: Iterable[NumberedRow]
    delimiter: str = "\t"

    @property
    def kept(self) -> bool:
        """Whether all rows are in memory."""
        return isinstance(self.rows, list)

    @cached_property
    def first(self) -> NumberedRow:
        """The first row."""
        return next(iter(self.rows))

    @cached_property
    def names(self) -> list[ColumnName]:
        """The columns of all rows, in order; those of JSON may lack some."""
        return [*dict.fromkeys(name for _, values in self.rows for name in values)]

    @property
    def others(self) -> Iterator[NumberedRow]:
        """All rows but the first."""
        return islice(self.rows, 1, None)


def read_table(path: str | Path, keep: bool = True) -> Table:
    """Read a table.

    Args:
        path: the file or dataset.
        keep: whether to keep all rows in memory; otherwise, those of JSON lines and of TSV without
            quotation marks around cells are checked, and read again in each loop over them.

    Raises:
        InputError: the file is malformed; the error names file and line.
    """
    path = Path(path)
    if is_dataset(path):
        return _dataset(path)
    if is_parquet(path):
        return _parquet(path)
    keep = keep or not path.is_file()  # a pipe can be read only once
    ending, lines = _ending_of_name(path), repeatable(partial(read_lines, path), keep)
    start = next(line.strip() for _, line in lines if line.strip())
    if ending == ".csv":
        table = _csv(path, _joined(lines))
    elif ending == ".json" and start.startswith("["):
        table = Table(path, "json list", True, list(_json_list(path, _joined(lines))))
    elif ending in (".json", ".jsonl"):
        if _is_one_value(start, lines):
            expected = "an object on each line, or in a .json file a list of objects"
            raise InputError("one JSON value", path=path, expected=expected)
        objects = repeatable(
            lambda: ((at, decode_json(line, dict, path=path, line=at)) for at, line in lines), keep
        )
        table = Table(path, "json lines", True, objects)
    elif _is_quoted(lines, start):
        table = Table(path, "quoted tsv", False, _records(path, _joined(lines), "\t"))
    else:
        if start.startswith(("{", "[")):
            refuse_json(path, _joined(lines), _RENAME)
        rows = repeatable(lambda: ((at, _numbered(line.split("\t"))) for at, line in lines), keep)
        table = Table(path, "tsv", False, rows)
    if not sum(1 for _ in table.rows):  # this pass also checks every row
        raise InputError("the file holds no text", path=path)
    return table


def _joined(lines: Iterable[tuple[int, str]]) -> str:
    return "\n".join(line for _, line in lines)


def is_dataset(path: str | Path) -> bool:
    """Tell whether a path names a dataset of the ``datasets`` library."""
    if str(path).startswith(HUB):
        return True
    return any((Path(path) / name).exists() for name in ("state.json", "dataset_dict.json"))


def ending_of(path: str | Path) -> str:
    """Return the ending of files made from a table.

    It is that of the table, ``.jsonl`` for Parquet and datasets, and ``.tsv`` for unknown endings.
    """
    if is_dataset(path) or is_parquet(path):
        return ".jsonl"
    return _ending_of_name(Path(path))


def _ending_of_name(path: Path) -> str:
    ending = plain_ending(path)
    return ending if ending in ENDINGS else ".tsv"


# Tabs and commas


def _is_quoted(lines: Iterable[tuple[int, str]], start: str) -> bool:
    """Tell whether a TSV file uses quotation marks as CSV does.

    It quotes a field of every row, all fields with quotation marks (pandas), or all fields with
    commas (Excel). All lines are joined only if the first one may be quoted. A quoted row is the
    first line, or goes on in the next one if a quotation mark is open.
    """
    may_be = start.count('"') % 2 == 1 or _QUOTED_TSV.fullmatch(start) is not None
    if may_be and _QUOTED_TSV.fullmatch(_joined(lines)):
        return True
    doubled, at_commas, quoted = False, True, 0
    for _, line in lines:
        if '"' in line:
            if not _PARTLY_QUOTED_ROW.fullmatch(line):
                return False
            doubled = doubled or _DOUBLED.search(line) is not None
        if at_commas and ('"' in line or "," in line):
            fields = line.split("\t")
            at_commas = all(field.startswith('"') == ("," in field) for field in fields)
            quoted += sum(field.startswith('"') for field in fields)
    return doubled or (at_commas and quoted > 1)


def _numbered(cells: Iterable[str]) -> dict[ColumnName, Any]:
    return dict(enumerate(cells))


def _csv(path: Path, text: str) -> Table:
    """Read CSV with the first delimiter that gives all rows the same number of cells.

    If no delimiter does, take the first one that occurs in the first row that is not empty.
    """
    first = 1
    delimiters: tuple[str, ...] = _DELIMITERS
    if separator := _SEPARATOR_LINE.match(text):
        first, delimiters, text = 2, (separator[1],), text[separator.end() :]
    tables, mistake = list[Table](), None
    for delimiter in delimiters:
        try:
            rows = _records_of_csv(path, text, delimiter, first)
        except InputError as error:
            mistake = mistake or error
            continue
        widths = {len(values) for _, values in rows}
        if len(widths) == 1 and widths != {1}:
            return Table(path, "csv", False, rows, delimiter)
        tables.append(Table(path, "csv", False, rows, delimiter))
    firsts = [next((row for _, row in table.rows if row != {0: ""}), {}) for table in tables]
    divided = [table for table, row in zip(tables, firsts, strict=True) if len(row) > 1]
    if mistake is not None and not divided:
        raise mistake
    return (divided or tables)[0]


def _records_of_csv(path: Path, text: str, delimiter: str, first: int) -> list[NumberedRow]:
    """Return the records of CSV, where cells such as the last one of ``pos, "a, b"`` are quoted."""
    if f'{delimiter} "' in text:
        with suppress(InputError):  # the quotation marks belong to the text
            return _records(path, text, delimiter, first, spaces=True)
    return _records(path, text, delimiter, first)


def _records(
    path: Path, text: str, delimiter: str, first: int = 1, spaces: bool = False
) -> list[NumberedRow]:
    """Return the line where each record begins, and its cells, which may hold line breaks.

    Empty lines after the first record are skipped, unless there is only one column.

    Args:
        path, text, delimiter: the file, its content, and the delimiter.
        first: the number of the first line.
        spaces: leave out spaces at the beginning of cells.

    Raises:
        InputError: a quotation mark is misplaced or never closed; the error names the line.
    """
    lines = (f"{line}\n" for line in text.split("\n"))
    reader = csv.reader(lines, delimiter=delimiter, strict=True, skipinitialspace=spaces)
    records, line = list[tuple[int, list[str]]](), first
    limit = csv.field_size_limit(len(text) + 1)  # it is global
    try:
        for cells in reader:
            records.append((line, cells))
            line = first + reader.line_num
    except csv.Error as error:
        problem = f"not CSV with the delimiter {delimiter!r} ({reason(error)})"
        remedy = (
            "put cells with quotation marks or line breaks in quotation marks, and double the "
            "quotation marks in them"
        )
        raise InputError(problem, path=path, line=line, remedy=remedy) from None
    finally:
        csv.field_size_limit(limit)
    if any(len(cells) > 1 for _, cells in records):
        records[1:] = [record for record in records[1:] if record[1]]
    return [(line, _numbered(cells or [""])) for line, cells in records]


# JSON


def refuse_json(path: Path, text: str, remedy: str) -> None:
    """Reject a text of JSON objects that would be read in another format.

    Args:
        path: the file of the text.
        text: the whole file, or its first lines.
        remedy: how to have it read as JSON.

    Raises:
        InputError: the text is one or several JSON objects, or a list of them.
    """
    if not text.lstrip().startswith(("{", "[")):
        return
    for candidate in (text.partition("\n")[0].strip("[], \r"), text):
        try:
            value = json.loads(candidate)
        except (ValueError, RecursionError):
            continue
        values = value if isinstance(value, list) else [value]
        if values and all(isinstance(each, dict) for each in values):
            break
    else:
        return
    raise InputError("the file holds JSON", path=path, line=1, remedy=remedy)


def _is_one_value(start: str, lines: Iterable[tuple[int, str]]) -> bool:
    """Tell whether a file is a list or an object of several lines; ``start`` is the first line."""
    with suppress(ValueError, RecursionError):
        return isinstance(json.loads(start), list)
    with suppress(ValueError, RecursionError):
        json.loads(_joined(lines))
        return True
    return False


def _json_list(path: Path, text: str) -> Iterator[NumberedRow]:
    """Yield each object of a list, with the line in which it begins."""
    decode_json(text, list, path=path)  # reports invalid JSON anywhere in the file
    decoder, blank = json.JSONDecoder(), re.compile(r"[\s,]*")
    at, line = text.index("[") + 1, 1
    counted = 0  # number of characters whose line breaks have been counted
    while True:
        at = blank.match(text, at).end()  # type: ignore[union-attr]
        if text[at] == "]":
            return
        line, counted = line + text.count("\n", counted, at), at
        _, end = decoder.raw_decode(text, at)
        yield line, decode_json(text[at:end], dict, path=path, line=line)
        at = end


# Parquet and datasets


def is_parquet(path: str | Path) -> bool:
    """Tell from the name or the first bytes of a file whether it is Parquet."""
    path = Path(path)
    if _ending_of_name(path) == ".parquet":
        return True
    if not path.is_file():  # what is read from a pipe is gone
        return False
    try:
        with path.open("rb") as file:
            return file.read(len(_PARQUET)) == _PARQUET
    except OSError:  # reported when the file is read
        return False


def _parquet(path: Path) -> Table:
    import datasets  # which takes seconds
    from pyarrow import parquet

    content = read_bytes(path)
    with dataset_calls(path):
        data = datasets.Dataset(parquet.read_table(io.BytesIO(content)))
        return _named_rows(path, data)


def _dataset(path: Path) -> Table:
    import datasets  # which takes seconds

    with dataset_calls(path):
        if str(path).startswith(HUB):
            name, _, split = str(path).removeprefix(HUB).rpartition(":")
            check_card(Path(name))
            data = datasets.load_dataset(name, split=split)
        else:
            try:
                data = datasets.load_from_disk(str(path))
            except IndexError:  # a dataset that was saved without a row has no file of rows
                raise InputError(_EMPTY, path=path) from None
        if not isinstance(data, datasets.Dataset):
            problem, remedy = f"holds the splits {', '.join(data)}", f"name one: {path}/SPLIT"
            raise InputError(problem, path=path, remedy=remedy)
        return _named_rows(path, data)


def _named_rows(path: Path, data: Any) -> Table:
    """Return the rows of a dataset; numbers of a ``ClassLabel``, also in lists, become names.

    Image and audio columns are left out. A format that the dataset was saved with does not count.
    """
    data = data.with_format(None)
    names = [name for name, feature in data.features.items() if not hasattr(feature, "decode")]
    features = {name: data.features[name] for name in names}
    classes = {name: each.names for name, each in features.items() if hasattr(each, "names")}
    listed = {
        name: each.feature.names
        for name, each in features.items()
        if hasattr(getattr(each, "feature", None), "names")
    }
    rows = []
    for number, row in enumerate(data.select_columns(names), start=1):
        for name, labels in classes.items():
            row[name] = _class_name(row[name], labels)
        for name, labels in listed.items():
            row[name] = row[name] and [_class_name(each, labels) for each in row[name]]
        try:
            check_texts(row)
        except ValueError as error:
            raise InputError(reason(error), path=path, line=number) from None
        rows.append((number, row))
    if not rows:
        raise InputError(_EMPTY, path=path)
    return Table(path, "json lines", True, rows)


def _class_name(number: int | None, names: Sequence[str]) -> str | None:
    return None if number is None or number < 0 else names[number]


# Writing


def without_raw(row: Row) -> Row:
    """Return the row of a changed utterance, without its raw text and slots."""
    layout = row.layout
    columns: tuple[ColumnName, ...] = (layout.texts[0], layout.label)
    values = {column: row.values.get(column) for column in columns}
    if isinstance(columns[0], int):
        columns, values = (0, 1), dict(enumerate(values.values()))
    layout = replace(layout, texts=columns[:1], label=columns[1], raw=None)
    return Row(row.line, values, layout)


def row_text(row: Row) -> str:
    """Return a row in the format of its file, without a final line break."""
    kind, values = row.layout.kind, row.values
    if kind in ("json lines", "json list"):
        text = json.dumps(dict(values), ensure_ascii=False, default=str)  # dates, for example
        return text.translate(_LINE_BREAKS)
    return _cells(["" if value is None else str(value) for value in values.values()], row.layout)


def table_text(rows: Iterable[Row]) -> Iterator[str]:
    """Yield the text of a file piece by piece: header, rows, end. All rows have the same layout.

    The header is the first piece, ``[`` in a JSON list, empty if the file has none.
    """
    after, between = "", ""
    for number, row in enumerate(rows):
        if number == 0 and row.layout.kind == "json list":
            after, between = "\n]\n", ",\n"
            yield "[\n"
        elif number == 0:
            names = list(map(str, row.values))
            after = between = "\n"
            yield f"{_cells(names, row.layout)}\n" if row.layout.header else ""
        yield f"{between if number else ''}{row_text(row)}"
    yield after


def _cells(cells: list[str], layout: Layout) -> str:
    if layout.kind == "tsv":
        return "\t".join(cells)
    out = io.StringIO()
    # Python 3.12 and earlier quote a cell with a line break only if it is in the line terminator.
    if layout.kind == "quoted tsv":
        writer = csv.writer(out, "excel-tab", quoting=csv.QUOTE_ALL, lineterminator="\r\n")
    else:
        writer = csv.writer(out, "excel", delimiter=layout.delimiter, lineterminator="\r\n")
    writer.writerow(cells)
    return out.getvalue().removesuffix("\r\n")
