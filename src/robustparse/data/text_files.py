"""Labelled texts or pairs of texts from tables: one row per text, words separated by blanks.

Every text is checked, and every error names the file and the line. In a pair, the hypothesis is the
text and the premise its context. Rows without an agreed label are neither trained on nor scored.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from robustparse.data.chosen import chosen_examples
from robustparse.data.columns import (
    NAME_THEM,
    ColumnChoice,
    Format,
    Rows,
    check_columns,
    choose_alike,
    delimiters,
    tell,
)
from robustparse.data.headers import is_label_header
from robustparse.data.labels import (
    FLOAT,
    NO_LABEL,
    is_label,
    is_number,
    label_text,
    label_value,
)
from robustparse.data.read_options import Known, ReadOptions
from robustparse.data.tables import Table, ending_of, read_table, without_raw
from robustparse.errors import InputError, located
from robustparse.files.paths import Sources, each_path, in_short
from robustparse.types import ColumnName, Example, Layout, Row, Sentence

TEXTS = Format(
    pairs=(
        *(("premise", "hypothesis"), ("sentence1", "sentence2")),
        *(("question1", "question2"), ("question", "sentence")),
        *(("text_a", "text_b"), ("text1", "text2")),
    ),
    texts=("text", "sentence"),
    labels=("label", "gold_label"),
    widths={
        2: "a text and a label",
        3: "a premise, a hypothesis and a label",
    },
    is_header=is_label_header,
)

_INTEGERS = "in pandas, .astype('Int64') makes whole numbers, also of a column with gaps"
_ENOUGH = 10  # smallest number of rows that show whether texts and labels are swapped
_CLASS = 0.1  # smallest fraction of rows with -1 that makes -1 a class beside 0 and 1


def read_texts(path: Sources, options: ReadOptions = ReadOptions()) -> list[Example]:
    """Read the texts of a table, or of several as of one; ids number all their rows from 0.

    Args:
        path: a table that `read_table` can read, or several with the same columns.
        options: how it is read. Its columns are those of the text and the label, or of both texts
            of a pair and the label. Rows without a label are left out, or have the gold answer ""
            if ``gold`` is false. Texts that are not chosen are checked, too, but not kept in memory
            where `read_table` can read rows again.

    Raises:
        InputError: the file or a row of it cannot be used.
    """
    known, labelled = options.known, options.gold
    check_columns(options.columns, TEXTS)
    tables = [read_table(each, options.keep) for each in each_path(path)]
    several = [
        rows._replace(layout=replace(rows.layout, numbers=known.numbers))
        for rows in choose_alike(tables, TEXTS, options)
    ]
    labels = Counter(
        label_text(values.get(rows.layout.label)) for rows, _, values in each_row(several)
    )
    if labelled:
        _check_numbers(labels, several, known)
    none = _without_label(labels, several, known)

    def answered(values: Mapping[ColumnName, Any], layout: Layout) -> tuple[Sentence, str]:
        sentence = _sentence(values, layout)
        label = _label(values, layout, labelled)
        label = "" if label in none else label
        if label or not labelled:
            options.check_length(sentence)
        return sentence, label

    read = partial(each_example, several, answered)
    return chosen_examples(_checked(read(), several, known, labelled), read, options.choose)


def each_example(
    several: Sequence[Rows],
    answered: Callable[[Mapping[ColumnName, Any], Layout], tuple[Sentence, Any]],
    ids: Collection[int] | None = None,
) -> Iterator[Example]:
    """Yield the example of each row of several tables; ids number all rows from 0.

    Args:
        several: the tables.
        answered: returns the text and the gold answer in the values of a row; its errors get the
            file and the line.
        ids: the rows to read; None reads all.
    """
    endings = {rows.table.path: ending_of(rows.table.path) for rows in several}
    for index, (rows, line, values) in enumerate(each_row(several)):
        if ids is not None and index not in ids:
            continue
        path, layout = rows.table.path, rows.layout
        with located(path, line):
            sentence, answer = answered(values, layout)
        row = Row(line, values, layout)
        yield Example(index, sentence, answer, "", row, endings[path], str(path))


def each_row(several: Sequence[Rows]) -> Iterator[tuple[Rows, int, Mapping[ColumnName, Any]]]:
    """Yield the table, the line and the values of each row of several tables."""
    for rows in several:
        for line, values in rows.table.rows:
            yield rows, line, values


def _checked(
    examples: Iterable[Example], several: Sequence[Rows], known: Known, labelled: bool
) -> Iterator[Example]:
    """Yield the examples that count, with a label if ``labelled``; then check the columns.

    How many are left out is logged.
    """
    first: Example | None = None
    left_out = kept = 0
    for example in examples:
        if labelled and not example.gold:
            first, left_out = first or example, left_out + 1
        else:
            kept += 1
            yield example
    for rows in several:
        if rows.guessed is not None:
            _check_positions(rows, known, labelled)
    if first is None:
        return
    if not kept:
        expected = "labels other than empty ones, - and -1"
        raise InputError("no row has a label", path=first.path, line=first.line, expected=expected)
    line = f"line {first.line}" if len(several) == 1 else f"line {first.line} of {first.path}"
    tell(
        f"{_names(several)}: {left_out} of {kept + left_out} rows have no label and are left out, "
        f"the first in {line}"
    )


def _names(several: Sequence[Rows]) -> str:
    return in_short([str(rows.table.path) for rows in several])


def count_labels(table: Table, columns: Sequence[str] | None = None) -> Counter[str]:
    """Count the labels of a table, except in the first row, which may be a header."""
    if table.named:
        rows = ColumnChoice(table, TEXTS, ReadOptions(columns)).rows()
        labels = [label_text(values[rows.layout.label]) for _, values in rows.table.rows]
    else:
        labels = [label_text(next(reversed(values.values()))) for _, values in table.others]
    return Counter(filter(None, labels))


def _sentence(values: Mapping[ColumnName, Any], layout: Layout) -> Sentence:
    if len(layout.texts) == 1:
        return Sentence(words_of(values[layout.texts[0]], "text"))
    context = words_of(values[layout.texts[0]], "first text")
    return Sentence(words_of(values[layout.texts[1]], "second text"), context=context)


def _label(values: Mapping[ColumnName, Any], layout: Layout, labelled: bool) -> str:
    value = values.get(layout.label)
    if not labelled:
        return label_text(value) if is_label(value) else ""
    if layout.label not in values:
        expected = f"a text and its label, separated by {delimiters(layout.delimiter)}"
        raise InputError("no label", expected=expected)
    if label_text(value) and not is_label(value):
        raise InputError(
            f"the label is {value!r:.40}",
            expected="a text or a whole number",
            remedy=f"write all labels as texts or whole numbers; {_INTEGERS}",
        )
    if re.fullmatch(r"""(["']).*\1""", label := label_text(value)) and len(label) > 1:
        problem = f"the label {label:.40} is in quotation marks"
        remedy = "put all cells of the file in double quotation marks, or none"
        raise InputError(problem, expected="a text and its label", remedy=remedy)
    return label


def _check_positions(rows: Rows, known: Known, labelled: bool) -> None:
    """Check that columns without names hold what their position says.

    Raises:
        InputError: the texts are distinct numbers, or shorter or fewer than the labels; or labels
            are optional, all values of the label column differ, and none is a label of the model.
    """
    table, layout = rows.table, rows.layout
    _, first = table.first
    text, label = layout.texts[0], layout.label

    def cells(column: ColumnName) -> Iterator[str]:
        return (label_text(values.get(column)) for _, values in table.rows)

    several = next(table.others, None) is not None
    problem = other_task = ""
    if several and all(map(str.isdecimal, cells(text))) and _all_differ(cells(text)):
        problem = f"the number {next(cells(text))!r} instead of a text, as in all lines"
    elif _count_words(cells(label)) > _count_words(cells(layout.texts[-1])):
        cell = next(cells(label))
        problem = f"the text {cell!r:.60} instead of a label: labels are longer than texts"
        other_task = "; if these are logical forms, their task is semantic (--task semantic)"
    elif _are_swapped(cells(layout.texts[-1]), cells(label)):
        cell = next(cells(label))
        problem = f"the text {cell!r:.60} instead of a label: more labels than texts are different"
    elif (
        not labelled
        and several
        and known.labels is not None
        and {*known.labels, ""}.isdisjoint(cells(label))
        and _all_differ(cells(label))
    ):
        cell = next(cells(label))
        problem = f"{cell!r:.60} instead of a label, and no line has a label of the model"
    if problem:
        expected = f"{len(first)} columns: {TEXTS.widths.get(len(first), 'a text')}"
        remedy = f"add the names of the columns as line 1 unless they are there, and {NAME_THEM}"
        remedy = (NAME_THEM if layout.header else remedy) + other_task
        path, line = table.path, rows.guessed
        raise InputError(problem, path=path, line=line, expected=expected, remedy=remedy)


def _all_differ(texts: Iterable[str]) -> bool:
    """Tell whether no text occurs twice; nothing is read after one that does."""
    seen = set[str]()
    for text in texts:
        if text in seen:
            return False
        seen.add(text)
    return True


def _are_swapped(texts: Iterable[str], labels: Iterable[str]) -> bool:
    """Tell whether most labels differ, and more labels than texts do."""
    counts = Counter(labels)
    if counts.total() < _ENOUGH or 2 * len(counts) <= counts.total():
        return False
    return len({*texts}) < len(counts)


def _count_words(texts: Iterable[str]) -> int:
    return sum(len(text.split()) for text in texts)


def _check_numbers(labels: Counter[str], several: Sequence[Rows], known: Known) -> None:
    """Check that no label is 1 in some rows, and 1.0 in others, in other files or in the model."""
    others = known.labels or (known.other_labels() if any(map(FLOAT.fullmatch, labels)) else ())
    spellings: dict[str, set[str]] = {}
    for label in (*labels, *others):
        spellings.setdefault(FLOAT.sub(r"\1", label), set()).add(label)
    if max(map(len, spellings.values()), default=1) == 1:
        return
    for rows, line, values in each_row(several):
        label = label_text(values.get(rows.layout.label))
        for other in spellings[FLOAT.sub(r"\1", label)] - {label}:
            problem = f"the label {label}, which elsewhere is {other}"
            remedy = f"write all labels alike; {_INTEGERS}"
            raise InputError(
                problem, path=rows.table.path, line=line, expected=other, remedy=remedy
            )


def _without_label(labels: Counter[str], several: Sequence[Rows], known: Known) -> set[str]:
    """Return the cell values that mark a missing label in tables that are read as one.

    These are the empty cell, ``-`` and ``-1``, except where they are classes. A model's labels are
    classes. ``-`` is a class beside other single signs, such as ``+``. ``-1`` is a class beside
    ``1`` without ``0``, beside other negative numbers, and beside ``0`` and ``1`` if at least a
    tenth of the rows have it. If no row of the tables has another label than ``-1``, but the rest
    of the corpus has ``0``, the tables are a test set without labels.
    """
    present = {marker for marker in NO_LABEL if marker in labels}
    if not present:
        return {""}
    if known.labels is not None:
        return {"", *(present - {*known.labels})}
    unlabelled = not labels.keys() - {"", *NO_LABEL}
    labels = labels + Counter(known.other_labels())
    if unlabelled and "0" in labels:
        return {"", *present}
    others = {label for label in labels if label and label not in NO_LABEL}
    if all(len(label) == 1 and not label.isalpha() for label in others) and others:
        present.discard("-")
    if "-1" in present and _minus_one_is_a_class(labels, others):
        present.discard("-1")
        share = labels["-1"] / labels.total()
        tell(f"{_names(several)}: -1 is read as a class; {share:.0%} of the rows have it")
    return {"", *present}


def _minus_one_is_a_class(labels: Mapping[str, int], others: set[str]) -> bool:
    if not others or not all(re.fullmatch(r"[+-]?\d+", label) for label in others):
        return False
    numbers = {int(label) for label in others}
    if min(numbers) < 0 or 0 not in numbers:
        return max(numbers) <= 1 or min(numbers) < 0
    return max(numbers) <= 1 and labels["-1"] >= _CLASS * sum(labels.values())


def words_of(text: object, what: str) -> tuple[str, ...]:
    """Return the words of a cell.

    Raises:
        InputError: the cell is empty or not a text.
    """
    if isinstance(text, str) and (words := tuple(text.split())):
        return words
    problem = f"an empty {what}" if text in (None, "") else f"the {what} is {text!r:.40}"
    raise InputError(problem, expected="words, separated by blanks")


def changed_row(example: Example, words: Sequence[str] | None, answer: str | None) -> Row:
    """Return the row of an example with new words, a new answer, or both; None keeps the old.

    Other columns stay as they are, except that changed utterances lose their raw text. An example
    that was not read from a file becomes a row of a TSV file.
    """
    # An attack may have left words out, or put several in the place of one.
    new = tuple(" ".join(example.sentence.words if words is None else words).split())
    label = str(example.gold) if answer is None else answer
    if (row := example.row) is None:
        cells = [" ".join(text) for text in (example.sentence.context, new) if text]
        texts = tuple(range(len(cells)))
        values: dict[ColumnName, Any] = dict(enumerate([*cells, label]))
        return Row(example.line, values, Layout("tsv", texts, len(cells)))
    if words is not None and row.layout.raw is not None:
        row = without_raw(row)
    changes: dict[ColumnName, Any] = {}
    text, column = row.layout.texts[-1], row.layout.label
    if tuple(str(row.values[text]).split()) != new:
        changes[text] = " ".join(new)
    if answer is not None or (label and label_text(row.values.get(column)) != label):
        number = row.layout.numbers or is_number(row.values.get(column))
        changes[column] = label_value(label, number)
    return Row(row.line, {**row.values, **changes}, row.layout)
