"""Reads and writes treebanks in CoNLL-U and CoNLL-X.

CoNLL-U: universaldependencies.org/format.html; CoNLL-X: Buchholz and Marsi (2006). They share their
first eight columns. CoNLL-X allows several roots; its last two columns, a second, projective parse,
are blanked, since they would contradict a new parse.

Every line is checked, and every error names file and line. Multiword ranges and empty nodes are not
words of the parse; they stay in the block of lines of each example, which `sentence_lines` edits.
Written lines end in LF, and one empty line follows each sentence.
"""

import re
from array import array
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

from robustparse.data.read_options import ReadOptions
from robustparse.errors import InputError, located
from robustparse.files.compression import plain_ending
from robustparse.files.paths import Sources, each_path
from robustparse.files.reading import read_lines
from robustparse.files.writing import written
from robustparse.types import DependencyTree, Example, Sentence

UNLEARNED = "count as wrong in LAS"  # the effect of unknown labels in scored data
TREEBANKS = (".conllu", ".conllx")
ENDINGS = (*TREEBANKS, ".conll")
COLUMNS = 10
_PLUS = "# global.columns ="  # the first line of CoNLL-U Plus, before the names of the columns
_NAMES = "ID FORM LEMMA UPOS XPOS FEATS HEAD DEPREL DEPS MISC"
# Nine digits are enough for any sentence and fit every integer type.
_NUMBER = re.compile(r"[0-9]{1,9}")
_RANGE_OR_EMPTY = re.compile(r"([0-9]{1,9})([-.])([0-9]{1,9})")
# The columns that are read as text, from 0.
_TEXTS = {1: "form", 3: "UPOS tag", 4: "XPOS tag", 7: "label"}
_EMPTY_LINE = "add an empty line if a new sentence begins here"
_HIDDEN = "_"  # the form of every word in a treebank that is released without its text


def read_treebank(path: Sources, options: ReadOptions = ReadOptions()) -> list[Example]:
    """Read the examples of a file, or of several as of one.

    Args:
        path: the file; CoNLL-X if it ends in ``.conllx`` or ``.conll``, otherwise CoNLL-U.
        options: how it is read; if ``gold`` is false, heads are not read, and every gold head is 0.
            Of the sentences that are not chosen only the words are counted: they are not checked.

    Raises:
        InputError: the file cannot be read, or is malformed; a parse is not a tree (in CoNLL-U with
            a single root); a sentence is over ``max_length``; or all words are ``_``.
    """
    paths, examples = each_path(path), list[Example]()
    if options.choose is None:
        for each in paths:
            examples += each_example(each, options, first=len(examples))
        return examples
    lengths = [_lengths(each) for each in paths]
    chosen, first = options.choose([length for of_file in lengths for length in of_file]), 0
    for each, of_file in zip(paths, lengths, strict=True):
        begin, end = bisect_left(chosen, first), bisect_left(chosen, first + len(of_file))
        if begin < end:
            positions = {position - first for position in chosen[begin:end]}
            examples += each_example(each, options, positions, first)
        first += len(of_file)
    return examples


def each_example(
    path: Path,
    options: ReadOptions,
    chosen: Collection[int] | None = None,
    first: int = 0,
) -> Iterator[Example]:
    """Yield the examples of a file one by one.

    Args:
        path, options: see `read_treebank`.
        chosen: the positions of the sentences to read, from 0; by default all are read.
        first: the id of the first sentence of the file.

    Raises:
        InputError: see `read_treebank`.
    """
    words, hidden = 0, 0
    for index, (line, block) in enumerate(blocks(path)):
        if chosen is not None and index not in chosen:
            continue
        example = _example(first + index, path, line, block, options.gold)
        words += len(example.sentence)
        hidden += example.sentence.words.count(_HIDDEN)
        with located(path, line):
            options.check_length(example.sentence)
        yield example
    if chosen is None:
        _check_hidden(path, words, hidden)


def _lengths(path: Path) -> "array[int]":
    """Count the words of each sentence of a file, whose lines are not checked."""
    lengths, hidden = array("q"), 0
    for _, block in blocks(path):
        words = [line.split("\t", 2)[1:2] for line in block if is_word(line)]
        lengths.append(len(words))
        hidden += words.count([_HIDDEN])
    _check_hidden(path, sum(lengths), hidden)
    return lengths


def _check_hidden(path: Path, words: int, hidden: int) -> None:
    if words and hidden == words:
        raise InputError(
            f"the words are missing: column 2 is '_' for all {words} words",
            path=path,
            expected="a treebank with its text",
            remedy="merge the words in, as the treebank's README explains",
        )


def blocks(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the lines of each sentence of a file, with the number of the first.

    Raises:
        InputError: see `read_lines`.
    """
    start = 1
    block: list[str] = []
    for number, line in read_lines(path):
        if line.strip():
            start = start if block else number
            block.append(line)
        elif block:
            yield start, block
            block = []
    if block:
        yield start, block


def is_conllx(path: str | Path) -> bool:
    """Tell by its name whether a file is CoNLL-X."""
    return plain_ending(path) in (".conllx", ".conll")


def is_word(line: str) -> bool:
    """Tell whether a line of a block is a word: no comment, range or empty node."""
    return line.partition("\t")[0].isdecimal()


def _example(index: int, path: Path, start: int, block: list[str], parsed: bool) -> Example:
    """Check the lines of a sentence, the first of which is line ``start`` of the file."""
    rows = _word_rows(path, start, block)
    heads = [0] * len(rows)
    if parsed:
        heads = [_head(path, line, columns[6], len(rows)) for line, columns in rows.items()]
        _check_tree(path, list(rows), heads, single_root=not is_conllx(path))
    forms, upos, xpos, feats, labels = (
        tuple(columns[at] for columns in rows.values()) for at in (1, 3, 4, 5, 7)
    )
    text = "\n".join(_kept(path, block))
    feats = tuple("|".join(sorted(features.split("|"))) for features in feats)
    sentence = Sentence(forms, _tags(upos), _tags(xpos), feats=_tags(feats))
    tree = DependencyTree(tuple(heads), labels)
    ending = file_ending(path)
    return Example(index, sentence, tree, text, ending=ending, path=str(path), start=start)


def _word_rows(path: Path, start: int, block: Sequence[str]) -> dict[int, list[str]]:
    """Split the words of a sentence into columns, by line of the file."""
    rows: dict[int, list[str]] = {}
    covered = nodes = 0  # the last word of a range so far, and empty nodes since the last word
    last_range = start  # its line
    for number, line in enumerate(block, start=start):
        if line.startswith("#") and not rows:
            _check_names(path, number, line)
            continue
        columns = line.split("\t")
        problem = expected = ""
        remedy = None
        if line.startswith("#"):
            problem, expected = f"{line[:60]!r} after a word", "comments before the first word"
            remedy = _EMPTY_LINE
        elif len(columns) != COLUMNS:
            problem = f"{len(columns)} columns in {line[:60]!r}"
            expected = f"{COLUMNS} separated by tabs"
        elif (other := _RANGE_OR_EMPTY.fullmatch(columns[0])) and not is_conllx(path):
            problem, expected = _mistake(other, columns, len(rows), covered, nodes)
            if other[2] == "-":
                covered, last_range = int(other[3]), number
            else:
                nodes += 1
            if not problem:
                continue
        elif not _NUMBER.fullmatch(columns[0]) or int(columns[0]) != len(rows) + 1:
            problem = f"word id {columns[0][:20]!r}"
            expected = f"{len(rows) + 1}: ids count the words of a sentence from 1"
            remedy = _EMPTY_LINE if columns[0] == "1" else None
            remedy = "if this is CoNLL-U, rename the file to end in .conllu" if other else remedy
        elif (at := next((at for at in _TEXTS if not _is_text(columns[at])), None)) is not None:
            problem = f"the {_TEXTS[at]} (column {at + 1}) {blanks_of(columns[at])}"
            expected = "text"
        if problem:
            raise InputError(problem, path=path, line=number, expected=expected, remedy=remedy)
        rows[number] = columns
        nodes = 0
    if not rows:
        problem = "a sentence without words"
        raise InputError(problem, path=path, line=start, expected="one line per word")
    if covered > len(rows):
        problem = f"a range to word {covered} of a sentence of {len(rows)}"
        expected = f"one that ends at word {len(rows)} or earlier"
        raise InputError(problem, path=path, line=last_range, expected=expected)
    return rows


def _check_names(path: Path, number: int, comment: str) -> None:
    """Check that a comment does not name other columns than CoNLL-U has."""
    names = " ".join(comment.removeprefix(_PLUS).split())
    if comment.startswith(_PLUS) and names != _NAMES:
        problem = f"CoNLL-U Plus with the columns {names!r}"
        remedy = "put the columns into this order, and remove others and this line"
        raise InputError(problem, path=path, line=number, expected=_NAMES, remedy=remedy)


def _is_text(column: str) -> bool:
    return bool(column) and column == column.strip()


def blanks_of(text: str) -> str:
    """Say where a column has blanks: UD's validator rejects them at both ends."""
    if not text:
        return "is empty"
    names = ", ".join(sorted({f"U+{ord(each):04X}" for each in text if each.isspace()}))
    where = f"{text[:20]!r} begins or ends with a blank" if text.strip() else "holds only blanks"
    return f"{where} ({names})"


def _mistake(
    other: re.Match[str], columns: Sequence[str], words: int, covered: int, nodes: int
) -> tuple[str, str]:
    """Return what is wrong with the line of a range or an empty node, and what is expected, if any.

    Args:
        other: its id, a match of `_RANGE_OR_EMPTY`.
        columns: the columns of the line.
        words: the number of words before the line.
        covered: the last word of the ranges before it.
        nodes: the number of empty nodes since the last word.
    """
    begin, end = int(other[1]), int(other[3])
    if columns[6] != "_":
        return f"{other[0]} is not a word, but has the head {columns[6][:20]!r}", "_"
    if other[2] == "-":
        right, expected = covered < begin == words + 1 < end, f"{words + 1}-N before its words"
    else:
        right, expected = (begin, end) == (words, nodes + 1), f"{words}.{nodes + 1}"
    return ("", "") if right else (f"id {other[0]!r}", expected)


def _kept(path: Path, block: list[str]) -> list[str]:
    """Return the lines of a sentence that go with its example; CoNLL-X loses its second parse."""
    if not is_conllx(path):
        return block
    return ["\t".join([*one.split("\t")[:8], "_", "_"]) if is_word(one) else one for one in block]


def _tags(column: tuple[str, ...]) -> tuple[str, ...]:
    return () if all(tag == "_" for tag in column) else column


def _head(path: Path, line: int, text: str, words: int) -> int:
    if not _NUMBER.fullmatch(text) or int(text) > words:
        expected = f"a number from 0 to {words}"
        raise InputError(f"head {text[:20]!r}", path=path, line=line, expected=expected)
    return int(text)


def _check_tree(path: Path, lines: Sequence[int], heads: Sequence[int], single_root: bool) -> None:
    """Check that the parse is a tree: a single root, unless in CoNLL-X, and no cycle."""
    roots = [line for line, head in zip(lines, heads, strict=True) if head == 0]
    if len(roots) > 1 and single_root:
        problem = f"a second root (the first is on line {roots[0]})"
        raise InputError(problem, path=path, line=roots[1], expected="one word with head 0")
    rooted = {0}
    for word in range(1, len(lines) + 1):
        seen, at = set[int](), word
        while at not in rooted and at not in seen:
            seen.add(at)
            at = heads[at - 1]
        rooted |= seen
        if at in seen:
            problem = f"the heads from word {at} form a cycle and never reach a root (head 0)"
            raise InputError(problem, path=path, line=lines[at - 1], expected="a tree")


def unknown_label(
    examples: Sequence[Example], path: str | Path, known: Collection[str]
) -> InputError | None:
    """Return an error for the first dependency label that is unknown to a parser, or None.

    Args:
        examples: the sentences of a file.
        path: the file, where an example names none.
        known: the parser's labels.
    """
    names = set(known)
    for example in examples:
        for word, label in enumerate(example.gold.labels):
            if label not in names:
                line, prefix = _place(example, word)
                return InputError(
                    f"{prefix}dependency label {label!r}, which the parser never saw in training",
                    path=example.path or path,
                    line=line,
                    expected=f"one of {', '.join(sorted(names))}",
                )
    return None


def warn_of_labels(
    examples: Sequence[Example], path: str | Path, known: Collection[str], effect: str
) -> str:
    """Return a warning about unknown labels and their ``effect``, or an empty string.

    The other arguments are those of ``unknown_label``.
    """
    if (error := unknown_label(examples, path, known)) is None:
        return ""
    words = sum(label not in known for example in examples for label in example.gold.labels)
    location = error.path if error.line is None else f"{error.path}:{error.line}"
    counted = f"words with this or other such labels, {words} in all, {effect}"
    return f"{location}: {error.found}: {counted}"


def warn_of_hidden_words(examples: Sequence[Example], path: str | Path) -> Iterator[str]:
    """Warn of sentences without their text, as in treebanks that release only a part of it."""
    texts = [(example, example.sentence.words) for example in examples]
    hidden = [each for each, words in texts if len(words) > 1 and set(words) == {_HIDDEN}]
    if hidden:
        yield (
            f"{hidden[0].place(path)}: {len(hidden)} of {len(examples)} sentences lack their text "
            f"(every word is {_HIDDEN!r}): merge it in, as the treebank's README explains, or "
            "leave them out"
        )


def _place(example: Example, word: int) -> tuple[int | None, str]:
    """Return a word's line in its file, or None and a prefix with sentence and word numbers."""
    if not (example.start and example.block):  # made in memory
        return None, f"sentence {example.id + 1}, word {word + 1}: "
    lines = enumerate(example.block.split("\n"), start=example.start)
    return [at for at, line in lines if is_word(line)][word], ""


def block_of(sentence: Sentence, tree: DependencyTree) -> str:
    """Make the CoNLL-U lines of a sentence made in memory."""
    blank = ("_",) * len(sentence)
    tags = sentence.upos or blank, sentence.xpos or blank, sentence.feats or blank
    rows = zip(sentence.words, *tags, tree.heads, tree.labels, strict=True)
    return "\n".join(
        f"{number}\t{word}\t_\t{upos}\t{xpos}\t{feats}\t{head}\t{label}\t_\t_"
        for number, (word, upos, xpos, feats, head, label) in enumerate(rows, start=1)
    )


def write_treebank(path: str | Path, sentences: Iterable[str]) -> None:
    """Write blocks of lines to a file, whole or not at all."""
    with written(Path(path)) as file:
        file.writelines(f"{block}\n\n" for block in sentences)


def file_ending(path: str | Path) -> str:
    """Return the ending of files made from this one: ``.conllx`` or ``.conllu``."""
    return ".conllx" if is_conllx(path) else ".conllu"
