"""Read and write lines of a word and its tag, as of CoNLL-2003.

A line a word, of two or more columns separated by tabs or blanks; the first is the word, the last
its tag, and of three or more columns the second is a part of speech (Tjong Kim Sang and De Meulder
2003). A comment ``# label = TEXT`` is the text's label.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, islice
from pathlib import Path

from robustparse.data.chosen import repeatable
from robustparse.data.conllu import blanks_of, blocks
from robustparse.data.read_options import ReadOptions
from robustparse.data.tags.schemes import OUTSIDE, scheme_of
from robustparse.data.tags.tag_reader import UNTAGGED, ReadSentence
from robustparse.errors import InputError
from robustparse.files.compression import plain_ending
from robustparse.types import Example, Layout, Row, Sentence, TagSequence

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


def _are_tags(words: Iterable[str]) -> bool:
    return all(word == OUTSIDE or scheme_of([[word]]) != "words" for word in words)


# What the first column may hold instead of words.
_NO_WORDS: dict[str, Callable[[tuple[str, ...]], bool]] = {
    "numbers": lambda words: words == tuple(map(str, range(1, len(words) + 1))),
    "tags": _are_tags,
    # As in CoNLL-2012. A sentence may also repeat one word.
    "names of documents": lambda words: len({*words}) == 1 and bool(_DOCUMENTS.match(words[0])),
}


def hold_tags(rows: Sequence[Sequence[str]]) -> bool:
    """Tell whether lines of cells hold a word and its tag each, such as those of CoNLL-2003.

    They have equally many cells, and the last ones are tags of spans, at least one of them O.
    """
    if len(rows) < 2 or len({*map(len, rows)}) > 1 or len(rows[0]) < 2:
        return False
    tags = {row[-1] for row in rows}
    return OUTSIDE in tags and _are_tags(tags)


def read_lines(path: Path, options: ReadOptions) -> Iterable[ReadSentence]:
    """Return the sentences of lines of a word and its tag; see `TagReader`."""
    if options.columns is not None:
        raise InputError(
            f"got {list(options.columns)}, but the columns of the lines have no names",
            path=path,
            key="columns",
            remedy="leave them out, and move the tags to the last column",
        )
    width = _width(path)
    _check_one_word_a_line(path)
    sentences = repeatable(partial(_each_of_lines, path, width, options.gold), options.keep)
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
        problem, expected = f"a sentence in a cell ({cell[:60]!r})", "one word and its tag"
        raise InputError(problem, path=path, line=line, expected=expected, remedy=_SPLIT)


def _sentence_among(cells: Sequence[str]) -> str:
    """Return the first of two cells with as many parts, at least two; an empty text without any."""
    blanks = Counter(cell.count(" ") for cell in cells if " " in cell)
    return next((cell for cell in cells if blanks[cell.count(" ")] > 1), "")


def _each_of_lines(path: Path, width: int, gold: bool) -> Iterator[ReadSentence]:
    for start, block in blocks(path):
        rows = _word_rows(start, block)
        if not rows:
            continue
        for number, cells in rows.items():
            empty = [column for column, cell in enumerate(cells, start=1) if not cell.strip()]
            if len(cells) != width or width < 1 + gold or empty:
                what = f"{len(cells)} columns"
                if empty and len(cells) == width:
                    what = f"column {empty[0]} {blanks_of(cells[empty[0] - 1])}"
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
        yield ReadSentence(example, [*rows])


def _check_words(path: Path, sentences: Iterable[ReadSentence]) -> None:
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


def tagged_lines(block: str, answer: TagSequence, words: Sequence[str]) -> str:
    """Return the lines of columns with other words, tags and label."""
    labelled = any(map(_LABEL.fullmatch, block.split("\n")))
    lines = [f"# label = {answer.label}"] if answer.label and not labelled else []
    pairs = zip(words, answer.tags, strict=True)
    for line in block.split("\n"):
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
