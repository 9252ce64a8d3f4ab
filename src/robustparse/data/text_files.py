"""Files of labelled texts, or of pairs of texts: one line a text, blanks separate words.

``text TAB label`` or ``premise TAB hypothesis TAB label`` without a header; JSON lines with columns
of any name; or a dataset of the ``datasets`` library, saved in a folder (``FOLDER/SPLIT``) or on
the hub (``datasets:NAME:SPLIT``). Every text is checked, and every error names file and line, or in
a dataset the row, from 1. The premise of a pair is the context of its hypothesis, the text.
"""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from robustparse.errors import InputError, located, optional_library, reason
from robustparse.files import decode_json, read_lines
from robustparse.types import Example, Sentence

COLUMNS, PAIR = ("text", "label"), ("premise", "hypothesis", "label")
HUB = "datasets:"
# What GLUE and others write above the columns.
_HEADERS = (
    *(COLUMNS, PAIR, PAIR[:2], ("sentence", "label")),
    *(("sentence1", "sentence2", "label"), ("sentence1", "sentence2")),
)


class Row(NamedTuple):
    """A text of a file, its label or None, and the line that it can be written back as.

    The context is the first text of a pair, whose second one is the text.
    """

    text: object
    label: object
    block: str
    context: object = None


def read_texts(
    path: str | Path,
    columns: Sequence[str] | None = None,
    max_length: int | None = None,
    labelled: bool = True,
    limit: str = "max_length",
) -> list[Example]:
    """Read the texts of a file; see the module's docstring.

    Args:
        path: JSON lines if it ends in ``.jsonl`` or ``.json``, a dataset if it is a folder or
            begins with ``datasets:``, otherwise lines of text, tab and label, or of pairs.
        columns: where a row's columns have names, those of the text and of the label; of a pair
            those of both texts and of the label.
        max_length: longest allowed text in words, of a pair each of them; None allows any.
        labelled: every text has a label; otherwise one may have none, and its gold answer is "".
        limit: the setting by which a user raises ``max_length``, for the message.

    Raises:
        InputError: the file or a row of it cannot be used.
    """
    path = Path(path)
    names = _checked(columns)
    if is_dataset(path):
        rows = _dataset_rows(path, names)
    elif ending_of(path) == ".jsonl":
        rows = _json_rows(path, names, labelled)
    elif names not in (None, COLUMNS, PAIR):
        raise InputError(
            f"{[*(names or ())]}, and the columns of {path.name} have no names",
            path=path,
            key="columns",
            remedy="leave it out: text, tab, label; or convert the file to JSON lines",
        )
    else:
        rows = _tab_rows(path)
    return examples_of_rows(rows, path, max_length, labelled, limit)


def examples_of_rows(
    rows: Iterable[Row], path: Path, max_length: int | None, labelled: bool, limit: str
) -> list[Example]:
    """Return the examples of a file's rows; for arguments and errors see `read_texts`."""
    examples = []
    for line, row in enumerate(rows, start=1):
        with located(path, line):
            example = _example(line - 1, row, labelled)
            _check_length(example.sentence, max_length, limit)
        examples.append(example)
    if not examples:
        raise InputError("the file holds no text", path=path)
    return examples


def is_dataset(path: Path) -> bool:
    """Tell whether a path names a dataset of the ``datasets`` library."""
    saved = any((path / name).exists() for name in ("state.json", "dataset_dict.json"))
    return saved or str(path).startswith(HUB)


def ending_of(path: str | Path) -> str:
    """Return the ending of files made from this one: ``.jsonl``, or ``.tsv``."""
    named = Path(path).suffix.lower() in (".jsonl", ".json") or is_dataset(Path(path))
    return ".jsonl" if named else ".tsv"


def line_of(example: Example, words: Sequence[str] | None, label: str | None) -> str:
    """Return an example as a line of its file's format, with other words and another label."""
    text = " ".join(example.sentence.words if words is None else words)
    columns = [text, example.gold if label is None else label]
    if example.sentence.context:
        columns.insert(0, " ".join(example.sentence.context))
    if not example.block or "\t" in example.block:  # JSON escapes tabs
        return "\t".join(columns)
    row = json.loads(example.block)
    row |= dict(zip(row, columns, strict=False))  # the columns of its texts and label come first
    return json.dumps(row, ensure_ascii=False)


def _checked(columns: Sequence[str] | None) -> tuple[str, ...] | None:
    if columns is None:
        return None
    if not 2 <= len(columns) <= 3 or len(set(columns)) != len(columns):
        expected = "the column of the text, or of both texts, and of the label"
        raise InputError(f"got {list(columns)}", key="columns", expected=expected)
    return tuple(columns)


def _usual(found: Collection[str]) -> tuple[str, ...]:
    """Return the names that columns have where the user gives none; half a pair is a pair."""
    texts = {*PAIR[:2]}.intersection(found)
    return PAIR if len(texts) == 2 or (texts and COLUMNS[0] not in found) else COLUMNS


def _row(values: Sequence[object], block: str) -> Row:
    """Return a row of a text or two, and their label; a context of None would be no pair."""
    *context, text, label = values
    return Row(text, label, block, *("" if one is None else one for one in context))


def _tab_rows(path: Path) -> Iterator[Row]:
    width = 0  # of the first line: 3 in a file of pairs
    for number, line in read_lines(path):
        columns = line.split("\t")
        width = width or max(2, len(columns))
        if not (len(columns) == 3 if width == 3 else len(columns) <= 2):
            raise _other_width(line, width, path, number)
        if number == 1 and tuple(columns) in _HEADERS:
            found, remedy = f"a header, {line!r}", "remove line 1"
            raise InputError(found, path=path, line=1, expected="a text", remedy=remedy)
        given = columns if len(columns) > 1 else [line, None]
        yield _row(given, "\t".join(column or "" for column in given))


def _other_width(line: str, width: int, path: Path, number: int) -> InputError:
    what = "a premise, a hypothesis and a label" if width == 3 else "a text and a label"
    columns = line.count("\t") + 1
    found, remedy = f"{columns} columns in {line[:60]!r}", None
    if width == 3 and columns < 3:
        found += ", a pair without its second text or its label"
    elif width == 2 and columns == 3:
        remedy = "if the file holds pairs, give line 1 its second text"
    before = ", as in the lines before" if number > 1 else ""
    expected = f"{what}, tabs between them{before}"
    return InputError(found, path=path, line=number, expected=expected, remedy=remedy)


def _json_rows(path: Path, names: tuple[str, ...] | None, labelled: bool) -> Iterator[Row]:
    for number, line in read_lines(path):
        found = decode_json(line, dict, path=path, line=number)
        names = names or _usual(found)
        for name in names if labelled else names[:-1]:
            if name not in found:
                raise _no_column(name, names, found, path, number)
        values = [found.pop(name, None) for name in names]
        row = {**dict(zip(names, values, strict=True)), **found}
        yield _row(values, json.dumps(row, ensure_ascii=False))


def _dataset_rows(path: Path, names: tuple[str, ...] | None) -> Iterator[Row]:
    library = optional_library(
        "datasets", str(path), "install it: pip install 'robustparse[datasets]'"
    )
    try:
        if str(path).startswith(HUB):
            name, _, split = str(path).removeprefix(HUB).rpartition(":")
            data = library.load_dataset(name, split=split)
        else:
            data = library.load_from_disk(str(path))
    except (OSError, ValueError, RuntimeError) as error:
        raise InputError(f"not a dataset ({reason(error)})", path=path) from None
    if not isinstance(data, library.Dataset):
        splits = ", ".join(data)
        raise InputError(f"holds the splits {splits}", path=path, remedy=f"name one: {path}/SPLIT")
    columns = names or _usual(data.column_names)
    for name in columns:
        if name not in data.column_names:
            raise _no_column(name, columns, data.column_names, path)
    labels = getattr(data.features[columns[-1]], "names", None)  # of a ClassLabel: values are ids
    for row in data.select_columns([*columns]):
        values = [row[name] for name in columns]
        if labels is not None and isinstance(value := values[-1], int):
            values[-1] = labels[value] if value >= 0 else None
        yield _row(values, json.dumps(dict(zip(columns, values, strict=True))))


def _no_column(
    name: str, names: Sequence[str], there: Collection[str], path: Path, line: int | None = None
) -> InputError:
    found, columns, such = f"no column {name!r}", "text and label", "[review, stars]"
    if len(names) == 3 and names[0] in there:
        columns, such = "both texts and of the label", "[sentence1, sentence2, label]"
        if name == names[1]:
            found += ": a pair without its second text"
    return InputError(
        found,
        path=path,
        line=line,
        expected=f"one of {', '.join(there)}",
        remedy=f"name the columns of {columns} with --columns, such as '{such}' "
        "(data.init_args.columns of a configuration)",
    )


def _example(index: int, row: Row, labelled: bool) -> Example:
    if row.context is None:
        sentence = Sentence(_words(row.text, "text"))
    else:
        context = _words(row.context, "first text")
        sentence = Sentence(_words(row.text, "second text"), context=context)
    known = isinstance(row.label, str | int) and (label := str(row.label).strip())
    if not known and not labelled:
        return Example(index, sentence, "", row.block)
    if not known:
        found = "no label" if row.label in (None, "") else f"the label is {row.label!r:.40}"
        raise InputError(found, expected="a text and its label")
    return Example(index, sentence, label, row.block)


def _words(text: object, what: str) -> tuple[str, ...]:
    if isinstance(text, str) and (words := tuple(text.split())):
        return words
    found = f"an empty {what}" if text in (None, "") else f"the {what} is {text!r:.40}"
    raise InputError(found, expected="words, separated by blanks")


def _check_length(sentence: Sentence, most: int | None, limit: str) -> None:
    second = "second text" if sentence.context else "text"
    for what, words in (("first text", sentence.context), (second, sentence.words)):
        if most is not None and len(words) > most:
            raise InputError(
                f"the {what} has {len(words)} words, over the limit of {most}",
                remedy=f"raise {limit} or take the line out of the file",
            )


def find_split(folder: str | Path, split: str) -> Path:
    """Find the texts of ``train``, ``dev`` or ``test`` in a folder or a dataset.

    That is ``*SPLIT.tsv`` or ``*SPLIT.jsonl``; of a dataset its split, ``validation`` for dev.

    Raises:
        InputError: there is none, or several.
    """
    of_dataset = "validation" if split == "dev" else split
    if str(folder).startswith(HUB):
        return Path(f"{folder}:{of_dataset}")
    folder = Path(folder)
    if not folder.is_dir():
        raise InputError("no such folder", path=folder, expected=f"one with {split}.tsv in it")
    found = [
        path
        for path in sorted(folder.iterdir())
        if re.fullmatch(rf".*{split}\.(tsv|jsonl)", path.name)
        or (path.name in (split, of_dataset) and is_dataset(path))
    ]
    if len(found) != 1:
        names = ", ".join(path.name for path in found) or "none"
        raise InputError(
            f"{len(found)} files end in {split}.tsv or {split}.jsonl ({names})",
            path=folder,
            expected="one",
            remedy=f"name it with {split}_file",
        )
    return found[0]
