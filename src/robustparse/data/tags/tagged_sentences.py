"""Reads and writes sentences with one tag per word: CoNLL files, JSON lines, Parquet and datasets.

- CoNLL-U and CoNLL-X: the tags are in column 4 (``upos``) or 5 (``xpos``), or are the values of a
  key in column 6 or 10 (``feats:Number``, ``misc:Entity``); words without the key have the tag
  ``_``, or ``O`` if the tags are those of spans.
- Other CoNLL files, as of CoNLL-2003 (Tjong Kim Sang and De Meulder 2003): a line a word, of two
  or more columns separated by tabs or blanks; the first is the word, the last its tag, and of three
  or more columns the second is a part of speech. A comment ``# label = TEXT`` is the text's label.
- Rows of JSON, Parquet or a dataset: lists ``tokens`` and ``tags``, and the ``label`` of the text.
"""

import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

from robustparse.data.chosen import Choose, repeatable
from robustparse.data.columns import check_alike, label_text, tell
from robustparse.data.conllu import (
    COLUMNS,
    blocks,
    check_length,
    each_example,
    file_ending,
    is_word,
)
from robustparse.data.sentence_lines import with_column
from robustparse.data.tables import Table, ending_of, is_dataset, is_parquet, read_table
from robustparse.data.tags.schemes import OUTSIDE, Scheme, scheme_of, to_bio, unread_spans
from robustparse.data.text_files import label_value
from robustparse.errors import InputError, located
from robustparse.files.compression import plain_ending
from robustparse.files.paths import Sources, each_path, in_short
from robustparse.types import ColumnName, Example, Layout, Row, Sentence, TagSequence

TREEBANKS = (".conllu", ".conllx")
LINES = (".conll", ".iob", ".iob2", ".bio", ".bioes", ".bilou", ".tsv")
TABLES = (".jsonl", ".json", ".parquet")
ENDINGS = (*TREEBANKS, *LINES, *TABLES)

UNTAGGED = "_"
_COLUMN = {"upos": 3, "xpos": 4, "feats": 5, "misc": 9}
_USUAL = (("tokens", "words"), ("tags", "ner_tags", "slots", "pos_tags"), ("label", "intent"))
_COMMENT = re.compile(r"# +(?:newdoc|newpar|[\w:.-]+ *=)")
# A first line of these names is a header.
_WORD_NAMES = {"word", "words", "token", "tokens", "form"}
_TAG_NAMES = ("tag", "tags", "label", "labels", "pos", "upos", "ner", "ner_tag", "ner_tags", "slot")
_LABEL = re.compile(r"# label = (.*\S)\s*")
_DOCUMENT = "-DOCSTART-"
_DOCUMENTS = re.compile(r".*[^\W\d_].*[\d/_]")  # their names, such as bc/cctv and wsj_0001
_SPLIT = (
    "write one word a line and an empty line after each sentence, or JSON lines with lists "
    "`tokens` and `tags`"
)
# What the first column may hold instead of words.
_NO_WORDS: dict[str, Callable[[tuple[str, ...]], bool]] = {
    "numbers": lambda words: words == tuple(map(str, range(1, len(words) + 1))),
    "tags": lambda words: all(w == OUTSIDE or scheme_of([[w]]) != "words" for w in words),
    # As in CoNLL-2012. A sentence may also repeat one word.
    "names of documents": lambda words: len({*words}) == 1 and bool(_DOCUMENTS.match(words[0])),
}
_NAMED = "the columns of words and tags, and of the label if there is one"


class _Read(NamedTuple):
    """A sentence with the tags of its file, and the line of each of its words."""

    example: Example
    lines: Sequence[int]


def read_tags(
    path: Sources,
    columns: Sequence[str] | None = None,
    max_length: int | None = None,
    gold: bool = True,
    limit: str = "max_length",
    repair: bool = False,
    choose: Choose | None = None,
) -> list[Example]:
    """Read the sentences of a file, or of several as of one; tags of spans become BIO.

    Args:
        path: the file, or a dataset; or several of the same kind.
        columns: names of the columns of words and tags, and of the label of the text. A treebank
            takes the last name: ``upos`` (the default), ``xpos``, ``feats:KEY`` or ``misc:KEY``;
            lines of columns take none.
        max_length: longest allowed sentence in words; None allows any.
        gold: whether every word must have a tag. If false, missing tags become ``_``, and broken
            tags of spans are repaired.
        limit: the option that raises ``max_length``, for the message.
        repair: whether to repair broken sequences of span tags instead of rejecting them.
        choose: chooses the sentences to read. Of the others, length and tags of spans are not
            checked, and they are not kept in memory, except rows that `read_table` cannot read
            again.

    Raises:
        InputError: names file and line of content that cannot be used.
    """
    several = {each: _kind(each) for each in each_path(path)}
    files = [_READERS[kind](each, columns, gold, choose is None) for each, kind in several.items()]
    firsts = {read.example.path: read.example for file in files for read in islice(file, 1)}
    if not firsts:
        raise InputError("no sentence in it", path=in_short([*map(str, several)]))
    named = [each for each in several if str(each) in firsts]  # those with sentences
    check_alike([(each, _described(several[each], firsts[str(each)])) for each in named])
    lengths, tagset = array("q"), set[str]()

    def each_tags() -> Iterator[Sequence[str]]:
        for example, _ in chain.from_iterable(files):
            lengths.append(len(example.sentence))
            tagset.update(example.gold.tags)
            yield example.gold.tags

    scheme = scheme_of(each_tags())
    if scheme == "words" and (unread := unread_spans(tagset)):
        tell(
            f"{in_short([*map(str, several)])}: {unread!r} is read as the tag of a word, not of a "
            "span: the tags of spans are O, and B- or I- before a class (or BILOU, BIOES)"
        )
    ids = range(len(lengths)) if choose is None else {*choose(lengths)}
    examples: list[Example] = []
    for index, read in enumerate(chain.from_iterable(files)):
        if index in ids:
            check_length(read.example, read.lines[0], max_length, limit)
            bio = _in_bio(read, scheme, repair or not gold)
            examples.append(replace(read.example, id=index, gold=bio))
            if len(examples) == len(ids):
                break  # nothing is read after the last one
    return examples


def _in_bio(read: _Read, scheme: Scheme, repair: bool) -> TagSequence:
    """Return the answer of a sentence with tags in BIO."""
    example, lines = read
    answer: TagSequence = example.gold
    tags = answer.tags
    if scheme != "words" and example.block:  # words without the key are outside of spans
        tags = tuple(OUTSIDE if tag == UNTAGGED else tag for tag in tags)
    try:
        return replace(answer, tags=to_bio(tags, scheme, repair))
    except InputError as error:
        error.path, error.line = example.path, lines[error.line or 0]
        error.remedy = "correct the tags, or train with data.init_args.repair: true"
        raise


def holds_lines(path: str | Path) -> bool:
    """Tell whether a path is that of a file with lines of words and tags; treebanks are others.

    Raises:
        InputError: it cannot be read.
    """
    return Path(path).is_file() and _kind(Path(path)) == "lines"


def _kind(path: Path) -> str:
    """Tell the kind of a file: ``rows``, ``treebank`` or ``lines``."""
    suffix = plain_ending(path)
    if is_dataset(path) or is_parquet(path) or suffix in TABLES:
        return "rows"
    if suffix in TREEBANKS:
        return "treebank"
    for _, block in blocks(path):
        for line in block:
            if not line.startswith("#"):
                return "treebank" if len(line.split("\t")) == COLUMNS else "lines"
    return "lines"


def _described(kind: str, first: Example) -> str:
    """Describe the format of a file, with the columns of its rows, by its first sentence."""
    if kind != "rows" or first.row is None:
        return "ten columns a word" if kind == "treebank" else "lines of words and tags"
    layout, label = first.row.layout, ", and labels" if first.gold.label else ""
    return f"{layout.kind} with the columns {layout.texts[0]} and {layout.label}{label}"


# Treebanks


def tag_column(columns: Sequence[str] | None) -> tuple[int, str]:
    """Return the column of a treebank (from 0) and the key in it, or an empty string.

    Raises:
        InputError: the last of the names is no such column.
    """
    name, _, key = (columns[-1] if columns else "upos").partition(":")
    keyed = name in ("feats", "misc")
    if name not in _COLUMN or bool(key) is not keyed:
        expected = "upos, xpos, feats:KEY or misc:KEY"
        raise InputError(f"got {list(columns or ())}", key="columns", expected=expected)
    return _COLUMN[name], key


def _treebank(path: Path, columns: Sequence[str] | None, gold: bool, keep: bool) -> Iterable[_Read]:
    column, key = tag_column(columns)
    examples = repeatable(partial(each_example, path, parsed=False), keep)
    if gold and key:
        _check_key(path, column, key, examples)
    return repeatable(partial(_each_of_treebank, path, columns, gold, examples), keep)


def _each_of_treebank(
    path: Path, columns: Sequence[str] | None, gold: bool, examples: Iterable[Example]
) -> Iterator[_Read]:
    (column, key), starts = tag_column(columns), blocks(path)
    for example, (start, block) in zip(examples, starts, strict=True):
        rows = [line.split("\t") for line in block if is_word(line)]
        lines = [start + at for at, line in enumerate(block) if is_word(line)]
        tags = [_value(row[column], key) for row in rows]
        if gold and not key and UNTAGGED in tags:
            line = lines[tags.index(UNTAGGED)]
            raise InputError("the word has no tag", path=path, line=line)
        row = Row(start, {}, Layout("tsv", ("form",), columns[-1] if columns else "upos"))
        yield _Read(replace(example, gold=TagSequence(tuple(tags)), row=row), lines)


def _check_key(path: Path, column: int, key: str, examples: Iterable[Example]) -> None:
    """Reject a key that no word has if some have it in another casing; otherwise, warn."""
    lines = (line for example in examples for line in example.block.split("\n") if is_word(line))
    cells = {line.split("\t")[column] for line in lines}
    name = "feats" if column == _COLUMN["feats"] else "misc"
    if blank := next((cell for cell in cells if f" {key}=" in cell), None):
        found, expected = f"{blank!r:.60} in column {column + 1}", "items divided by |"
        raise InputError(found, path=path, key=f"{name}:{key}", expected=expected)
    present = {item.partition("=")[0] for cell in cells for item in cell.split("|")}
    if key in present:
        return
    missing = f"no word has {key!r} in column {column + 1}"
    alike = [each for each in sorted(present) if each.casefold() == key.casefold()]
    if alike:
        remedy = f"name it {name}:{alike[0]} (--columns '[{name}:{alike[0]}]')"
        raise InputError(missing, path=path, key=f"{name}:{key}", remedy=remedy)
    tell(f"{path}: {missing}, so that all have the tag {UNTAGGED}")


def _value(cell: str, key: str) -> str:
    if not key:
        return cell
    items = (item.partition("=") for item in cell.split("|"))
    return next((value for name, _, value in items if name == key and value), UNTAGGED)


# Lines of columns


def _lines(path: Path, columns: Sequence[str] | None, gold: bool, keep: bool) -> Iterable[_Read]:
    if columns is not None:
        raise InputError(
            f"got {list(columns)}, but the columns of the lines have no names",
            path=path,
            key="columns",
            remedy="leave them out, and move the tags to the last column",
        )
    width = _width(path)
    _check_one_word_a_line(path)
    sentences = repeatable(partial(_each_of_lines, path, width, gold), keep)
    _check_words(path, sentences)
    return sentences


def _width(path: Path) -> int:
    """Return the number of columns of the first word; 0 if there is none.

    Words that begin with # count only if there are no others, because they may be comments.
    """
    width = 0
    for number, cells in _each_row(path):
        width = width or len(cells)
        if cells[0][:1] != "#":
            _check_header(path, number, cells)
            return len(cells)
    return width


def _each_row(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the line and the columns of each word."""
    return chain.from_iterable(_word_rows(*block).items() for block in blocks(path))


def _word_rows(start: int, block: Sequence[str]) -> dict[int, list[str]]:
    """Return the columns of each word by the number of its line; the first line is ``start``."""
    return {
        number: _cells(line) for number, line in enumerate(block, start=start) if _is_word(line)
    }


def _is_word(line: str) -> bool:
    """Tell whether a line is one of a word: no comment, and no mark of a document."""
    return not (_COMMENT.match(line) or line.startswith(_DOCUMENT))


def _check_header(path: Path, line: int, cells: Sequence[str]) -> None:
    """Reject a first line that holds the names of the columns."""
    *names, last = map(str.lower, cells)
    if last in _TAG_NAMES and not _WORD_NAMES.isdisjoint(names):
        message, remedy = f"a header ({', '.join(cells)[:60]})", "remove the line"
        if names[0] not in _WORD_NAMES:
            remedy = f"remove the line and the columns before the words; {_SPLIT}"
        raise InputError(message, path=path, line=line, expected="a word", remedy=remedy)


def _check_one_word_a_line(path: Path) -> None:
    """Reject a file with a sentence in each line.

    Two cells of such a line, the words and their tags, have as many parts between blanks. Some
    words hold a blank too, such as 10 000 or those of Vietnamese.

    Raises:
        InputError: at least half of the first 1000 lines look like sentences.
    """
    first, sentences, lines = None, 0, 0
    for line, cells in islice(_each_row(path), 1000):
        cell, lines = _sentence_among(cells), lines + 1
        sentences += bool(cell)
        first = first or ((line, cell) if cell else None)
    if first is not None and 2 * sentences >= lines:
        line, cell = first
        found, expected = f"a sentence in a cell ({cell[:60]!r})", "one word and its tag"
        raise InputError(found, path=path, line=line, expected=expected, remedy=_SPLIT)


def _sentence_among(cells: Sequence[str]) -> str:
    """Return the first of two cells with as many parts, at least two; an empty text without any."""
    blanks = Counter(cell.count(" ") for cell in cells if " " in cell)
    return next((cell for cell in cells if blanks[cell.count(" ")] > 1), "")


def _each_of_lines(path: Path, width: int, gold: bool) -> Iterator[_Read]:
    for start, block in blocks(path):
        rows = _word_rows(start, block)
        if not rows:
            continue
        for number, cells in rows.items():
            empty = [column for column, cell in enumerate(cells, start=1) if not cell.strip()]
            if len(cells) != width or width < 1 + gold or empty:
                alike = len(cells) == width
                what = f"column {empty[0]} is empty" if empty and alike else f"{len(cells)} columns"
                raise InputError(
                    f"{what} in {' '.join(cells)[:60]!r}",
                    path=path,
                    line=number,
                    expected=f"{max(2, width)}, separated by tabs or blanks: the word first, its "
                    "tag last",
                    remedy="write comments as `# name = value`" if cells[0][:1] == "#" else None,
                )
        words = tuple(cells[0] for cells in rows.values())
        parts = tuple(cells[1] for cells in rows.values()) if width > 2 else ()
        tags = tuple(cells[-1] if width > 1 else UNTAGGED for cells in rows.values())
        ending = plain_ending(path)
        sentence, text = Sentence(words, xpos=parts), "\n".join(block)
        row = Row(start, {}, Layout("tsv", (0,), width - 1))
        labels = [match[1] for line in block if (match := _LABEL.fullmatch(line))]
        answer = TagSequence(tags, labels[0] if labels else "")
        example = Example(0, sentence, answer, text, row, ending, str(path))
        yield _Read(example, [*rows])


def _check_words(path: Path, sentences: Iterable[_Read]) -> None:
    """Check that the first column holds words.

    Raises:
        InputError: all words are tags of spans, or the words of all sentences are 1, 2, and so on,
            or one repeated name.
    """
    first, longest, may_be = 0, 0, [*_NO_WORDS]
    for example, lines in sentences:
        words = example.sentence.words
        first, longest = first or lines[0], max(longest, len(words))
        may_be = [kind for kind in may_be if _NO_WORDS[kind](words)]
        if not may_be:
            return
    if longest > 1:
        message = f"{may_be[0]} instead of words in the first column"
        expected, remedy = "the word first, its tag last", "remove or move the column"
        raise InputError(message, path=path, line=first, expected=expected, remedy=remedy)


def _cells(line: str) -> list[str]:
    """Split a line at tabs, or else at spaces; words may hold other blanks, such as U+00A0."""
    if "\t" in line:
        return [cell.strip(" ") for cell in line.split("\t")]
    return [cell for cell in line.split(" ") if cell]


# Rows


def _rows(path: Path, columns: Sequence[str] | None, gold: bool, keep: bool) -> Iterable[_Read]:
    table = read_table(path, keep)
    names = row_columns(columns, table.first[1])
    return repeatable(partial(_each_of_rows, table, names, gold), keep)


def _each_of_rows(table: Table, names: Sequence[str], gold: bool) -> Iterator[_Read]:
    path, ending = table.path, ending_of(table.path)
    for line, values in table.rows:
        with located(path, line):
            words = _texts(values.get(names[0]), names[0], "words")
            tags = (UNTAGGED,) * len(words)
            if gold or values.get(names[1]) is not None:
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
        yield _Read(example, [line] * len(words))


def _label(cell: object, name: str, gold: bool) -> str:
    """Return the label of a text."""
    label = label_text(cell)
    if label and not isinstance(cell, str | int):
        raise InputError(f"got {cell!r:.60}", key=name, expected="a text or a whole number")
    if gold and not label:
        raise InputError("no label", key=name)
    return label


def row_columns(columns: Sequence[str] | None, values: Mapping[ColumnName, Any]) -> tuple[str, ...]:
    """Return the names of the columns of words and tags, and of the label if there is one.

    Raises:
        InputError: the first row does not have the columns.
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
        found = f"the columns {present}" if columns is None else f"got {list(columns)}"
        raise InputError(found, key="columns", expected=_NAMED)
    return chosen


def _texts(cell: object, name: str, what: str) -> tuple[str, ...]:
    """Return the texts of a list, without blanks at their ends, which tokenizers may leave."""
    texts: list[Any] = cell if isinstance(cell, list) else []
    if not texts or not all(isinstance(each, str) and each.strip() for each in texts):
        raise InputError(f"got {cell!r:.60}", key=name, expected=f"a list of {what}")
    return tuple(each.strip() for each in texts)


_READERS: dict[str, Callable[[Path, Sequence[str] | None, bool, bool], Iterable[_Read]]] = {
    "treebank": _treebank,
    "lines": _lines,
    "rows": _rows,
}


# Writing


def tagged_block(example: Example, answer: TagSequence, words: Sequence[str] | None) -> str:
    """Return the lines of a sentence with another answer, and other words if they are set.

    Args:
        example: the sentence; one made in memory gets lines of two columns, or of three with its
            parts of speech.
        answer: the tags, and the label, if there is one, which replaces the comment ``# label``, or
            is added as one.
        words: the new words; None keeps those of the example.
    """
    tags = answer.tags
    new = example.sentence.words if words is None else words
    if not example.block or example.row is None:
        columns = (new, example.sentence.tags, tags) if example.sentence.tags else (new, tags)
        label = [f"# label = {answer.label}"] if answer.label else []
        return "\n".join([*label, *map("\t".join, zip(*columns, strict=True))])
    if example.ending in TREEBANKS:
        column, key = tag_column([str(example.row.layout.label)])
        values = [UNTAGGED if key and tag == OUTSIDE else tag for tag in tags]
        return with_column(example.block, column, values, words, key)
    labelled = any(map(_LABEL.fullmatch, example.block.split("\n")))
    lines = [f"# label = {answer.label}"] if answer.label and not labelled else []
    pairs = zip(new, tags, strict=True)
    for line in example.block.split("\n"):
        if not _is_word(line):
            changed = answer.label and _LABEL.fullmatch(line)
            lines.append(f"# label = {answer.label}" if changed else line)
            continue
        word, tag = next(pairs)
        _, *between = _cells(line)
        cells = [word, *between[:-1], tag]
        lines.append(("\t" if "\t" in line else " ").join(cells))
    return "\n".join(lines)


def lines_of(block: str, origins: Sequence[int]) -> str:
    """Return the lines of other words, each with the columns of an original word.

    Args:
        block: the lines of a sentence.
        origins: for each new word the position of the original word, or -1, whose columns are `_`.
    """
    lines = block.split("\n")
    words, others = ([line for line in lines if _is_word(line) is kind] for kind in (True, False))
    between = "\t" if "\t" in words[0] else " "
    new = between.join([UNTAGGED] * len(_cells(words[0])))
    return "\n".join([*others, *(new if origin < 0 else words[origin] for origin in origins)])


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
        values[topic] = label_value(answer.label, type(old) in (int, bool))
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


def file_kind(path: str | Path) -> str:
    """Return the ending of files made from this one."""
    if is_dataset(path) or is_parquet(path):
        return ".jsonl"
    suffix = plain_ending(path)
    if suffix in TREEBANKS:
        return file_ending(path)
    return suffix if suffix in ENDINGS else ".conll"
