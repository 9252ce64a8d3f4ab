"""Read and write tags in rows of JSON, Parquet or a dataset.

A row has the lists ``tokens`` and ``tags``, and the ``label`` of the text if there is one.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from robustparse.data.chosen import repeatable
from robustparse.data.labels import is_label, is_number, label_text, label_value
from robustparse.data.read_options import ReadOptions
from robustparse.data.tables import Table, ending_of, read_table
from robustparse.data.tags.tag_reader import UNTAGGED, ReadSentence
from robustparse.errors import InputError, located
from robustparse.types import ColumnName, Example, Layout, Row, Sentence, TagSequence

_USUAL = (("tokens", "words"), ("tags", "ner_tags", "slots", "pos_tags"), ("label", "intent"))
_NAMED = "the columns of words and tags, and of the label if there is one"


def read_rows(path: Path, options: ReadOptions) -> Iterable[ReadSentence]:
    """Return the sentences of rows; see `TagReader`."""
    table = read_table(path, options.keep)
    names = row_columns(options.columns, table.names)
    return repeatable(partial(_each_of_rows, table, names, options.gold), options.keep)


def _each_of_rows(table: Table, names: Sequence[str], gold: bool) -> Iterator[ReadSentence]:
    path, ending = table.path, ending_of(table.path)
    for line, values in table.rows:
        with located(path, line):
            words = _texts(values.get(names[0]), names[0], "words")
            tags = (UNTAGGED,) * len(words)
            if gold or values.get(names[1]):
                tags = _texts(values.get(names[1]), names[1], "tags")
            if len(tags) != len(words):
                raise InputError(f"{len(tags)} tags for {len(words)} words", key=names[1])
            topic = names[2] if len(names) > 2 else None
            label = "" if topic is None else _label(values.get(topic), topic, gold)
        layout = Layout(table.kind, (names[0],), names[1], topic=topic)
        example = Example(
            0,
            Sentence(words),
            TagSequence(tags, label),
            row=Row(line, values, layout),
            ending=ending,
            path=str(path),
        )
        yield ReadSentence(example, [line] * len(words))


def _label(cell: object, name: str, gold: bool) -> str:
    """Return the label of a text."""
    label = label_text(cell)
    if label and not is_label(cell):
        raise InputError(f"got {cell!r:.60}", key=name, expected="a text or a whole number")
    if gold and not label:
        raise InputError("no label", key=name)
    return label


def row_columns(columns: Sequence[str] | None, values: Collection[ColumnName]) -> tuple[str, ...]:
    """Return the names of the columns of words and tags, and of the label if there is one.

    Args:
        columns: the names that were set.
        values: all columns; rows of JSON may lack some.

    Raises:
        InputError: there are no such columns.
    """
    if columns is None:
        usual = [next((name for name in names if name in values), None) for names in _USUAL]
        chosen = tuple(name for name in usual if name)
        missing = usual[0] is None
    else:
        chosen = tuple(columns)
        missing = len(chosen) not in (2, 3) or chosen[0] not in values
    if missing or len(chosen) < 2:
        present = ", ".join(map(str, values))
        problem = f"the columns {present}" if columns is None else f"got {list(columns)}"
        raise InputError(problem, key="columns", expected=_NAMED)
    return chosen


def _texts(cell: object, name: str, what: str) -> tuple[str, ...]:
    """Return the texts of a list, without blanks at their ends, which tokenizers may leave."""
    texts: list[Any] = cell if isinstance(cell, list) else []
    if not texts or not all(isinstance(each, str) and each.strip() for each in texts):
        numbers = texts and all(isinstance(each, int) for each in texts)
        remedy = "save the dataset by save_to_disk or to_parquet, which keep the names of numbers"
        raise InputError(
            f"got {cell!r:.60}",
            key=name,
            expected=f"a list of {what}",
            remedy=remedy if numbers else None,
        )
    return tuple(each.strip() for each in texts)


def tagged_row(example: Example, answer: TagSequence, words: Sequence[str] | None) -> Row:
    """Return the row of a sentence with another answer, and other words if they are set."""
    row = example.row
    if row is None:
        raise ValueError("the example was not read from a row")
    layout = row.layout
    values = {**row.values, layout.label: list(answer.tags)}
    if words is not None:
        values[layout.texts[0]] = list(words)
    topic = layout.topic or _USUAL[2][0]
    if answer.label and label_text(old := row.values.get(topic)) != answer.label:
        values[topic] = label_value(answer.label, is_number(old))
    return replace(row, values=values)


def row_of(row: Row, origins: Sequence[int]) -> Row:
    """Return the row of other words, whose lists of an item for each word follow the words.

    Args:
        row: of a sentence.
        origins: for each new word the position of the original word, or -1, whose items are None.
    """
    words = len(row.values[row.layout.texts[0]])

    def aligned(value: Any) -> Any:
        if not isinstance(value, list) or len(value) != words:
            return value
        return [None if origin < 0 else value[origin] for origin in origins]

    return replace(row, values={name: aligned(value) for name, value in row.values.items()})
