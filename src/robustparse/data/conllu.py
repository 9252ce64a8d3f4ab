"""CoNLL-U and CoNLL-X in and out: treebanks as examples, parses back into the lines they came from.

A treebank is parsed once and then cached through ``datasets`` under the hash of the file's content.
Writing edits the lines of an example's block and copies everything else, so that comments, ranges,
empty nodes and the columns a parser knows nothing of come out as they were. Lines end in LF then,
one empty line stands behind each sentence, and CoNLL-X's columns 9 and 10, a second parse, are
blank.
"""

import hashlib
import os
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

from robustparse import __version__
from robustparse.data.conllu_cache import cached_rows
from robustparse.data.conllu_rows import blocks, is_conllx, is_word, without_second_parse
from robustparse.errors import InputError
from robustparse.files import read_text, written
from robustparse.metrics import PunctuationPolicy, counted_words
from robustparse.types import DependencyTree, Example, Sentence

UNLEARNED = "count as wrong in LAS"  # in scored data: words whose label a parser never saw
_TEXT_COMMENT = re.compile(r"#\s*text\s*=")


def read_treebank(
    path: str | Path,
    max_length: int | None = None,
    parsed: bool = True,
    limit: str = "max_length",
) -> list[Example]:
    """Return the examples of a file, from the cache where its content was read before.

    Args:
        path: the file; CoNLL-X if it ends in ``.conllx`` or ``.conll``, otherwise CoNLL-U.
        max_length: longest allowed sentence in words; None allows any.
        parsed: every sentence has a parse; otherwise one may have ``_`` as the head of each word,
            and its gold tree then says nothing: every head is 0.
        limit: what a user raises ``max_length`` by, for the message.

    Raises:
        InputError: the file is missing, empty, not UTF-8, not in its format, holds a parse that
            is no tree (in CoNLL-U with a single root), or a sentence over ``max_length``.
    """
    path = Path(path)
    content = read_text(path)
    # The version is in the key so that a newer reader, with other checks, reads again.
    reader = f"{__version__} {file_ending(path)}{'' if parsed else ' unparsed'}"
    key = hashlib.sha256(f"{reader}\n{content}".encode()).hexdigest()
    examples = []
    for index, row in enumerate(cached_rows(path, key, parsed)):
        if max_length is not None and len(row["words"]) > max_length:
            raise InputError(
                f"{path}:{row['line']}: the sentence has {len(row['words'])} words, over the limit "
                f"of {max_length}; raise {limit} or take the sentence out of the file"
            )
        examples.append(_example(index, row))
    return examples


def _example(index: int, row: dict[str, Any]) -> Example:
    sentence = Sentence(tuple(row["words"]), _tags(row["upos"]), _tags(row["xpos"]))
    tree = DependencyTree(tuple(row["heads"]), tuple(row["labels"]))
    return Example(index, sentence, tree, row["block"])


def _tags(column: list[str]) -> tuple[str, ...]:
    return () if all(tag == "_" for tag in column) else tuple(column)


def check_labels(examples: Sequence[Example], path: str | Path, known: Collection[str]) -> None:
    """Refuse a dependency label that a parser never saw in training.

    Args:
        examples: the sentences of a file.
        path: that file, read again only to name the line.
        known: the parser's labels.

    Raises:
        InputError: names file, line and label of the first unknown one.
    """
    if unknown := unknown_label(examples, path, known):
        raise InputError(f"{unknown}; expected one of {', '.join(sorted(known))}")


def unknown_label(
    examples: Sequence[Example], path: str | Path, known: Collection[str]
) -> str | None:
    """File, line and label of the first label that a parser never saw; None if it saw all.

    Arguments as in ``check_labels``.
    """
    names = set(known)
    for example in examples:
        for word, label in enumerate(example.gold.labels):
            if label not in names:
                return (
                    f"{_place(example, word, Path(path))}: dependency label {label!r}, which the "
                    "parser never saw in training"
                )
    return None


def unknown_labels(
    examples: Sequence[Example], path: str | Path, known: Collection[str], effect: str
) -> str:
    """Return a remark on labels that a parser never saw, and on what comes of them; empty without
    any.

    Other arguments as in ``check_labels``.

    Args:
        effect: what words with such labels do.
    """
    first = unknown_label(examples, path, known)
    if first is None:
        return ""
    words = sum(label not in known for example in examples for label in example.gold.labels)
    return f"{first}: words with this or other such labels, {words} in all, {effect}"


def check_readable(
    examples: Sequence[Example],
    path: str | Path,
    check: Callable[[Sequence[Example]], None],
    punctuation: PunctuationPolicy = "none",
) -> None:
    """Refuse a sentence that a parser or constraint cannot use, or whose words cannot be counted.

    Args:
        examples: the sentences of a file, numbered as there.
        path: that file, read again only to name the line.
        check: the parser's or constraint's, which raises ``InputError``.
        punctuation: which words are to count, see ``counted_words``.

    Raises:
        InputError: names file and line of the first word, and what is in the way.
    """
    for example in examples:
        try:
            check([example])
            if punctuation == "penn":  # the others need no tags
                counted_words(example.sentence, punctuation)
        except InputError as error:
            place = _place(example, 0, Path(path)) if example.block else path
            raise InputError(f"{place}: {error}") from None


def _place(example: Example, word: int, path: Path) -> str:
    """File and line of a word: its place in the example's block after the block's in the file."""
    unnumbered = f"{path}, sentence {example.id + 1}, word {word + 1}"
    if not example.block:  # made in memory: there is no file to read
        return unnumbered
    starts: dict[str, int] = {}
    for start, block in blocks(read_text(path)):
        if is_conllx(path):
            block = [without_second_parse(line) if is_word(line) else line for line in block]
        starts.setdefault("\n".join(block), start)
    if example.block not in starts:
        return unnumbered
    words = [index for index, line in enumerate(example.block.split("\n")) if is_word(line)]
    return f"{path}:{starts[example.block] + words[word]}"


def with_parse(block: str, tree: DependencyTree, words: Sequence[str] | None = None) -> str:
    """Return the lines of a sentence with another parse, and other forms where ``words`` is given.

    Heads (column 7) and labels (column 8) are replaced. Enhanced dependencies (column 9) of words
    are blanked, since they would contradict the new parse; so is the lemma of a replaced form, and
    the ``text`` comment becomes the new words joined by spaces. Nothing else changes.

    Args:
        block: lines of a checked sentence, as in ``Example.block``.
        tree: the new parse.
        words: the new forms, one a word.
    """
    lines, index = [], 0
    for line in block.split("\n"):
        if is_word(line):
            columns = line.split("\t")
            if words is not None and words[index] != columns[1]:
                columns[1:3] = words[index], "_"
            columns[6:9] = str(tree.heads[index]), tree.labels[index], "_"
            line, index = "\t".join(columns), index + 1
        elif words is not None and _TEXT_COMMENT.match(line):
            line = "# text = " + " ".join(words)
        lines.append(line)
    return "\n".join(lines)


def block_of(sentence: Sentence, tree: DependencyTree) -> str:
    """Return the CoNLL-U lines of a sentence made in memory."""
    blank = ("_",) * len(sentence)
    rows = zip(
        sentence.words,
        sentence.upos or blank,
        sentence.xpos or blank,
        tree.heads,
        tree.labels,
        strict=True,
    )
    return "\n".join(
        f"{number}\t{word}\t_\t{upos}\t{xpos}\t_\t{head}\t{label}\t_\t_"
        for number, (word, upos, xpos, head, label) in enumerate(rows, start=1)
    )


def write_treebank(path: str | Path, sentences: Iterable[str]) -> None:
    """Write blocks of lines to a file, whole or not at all."""
    with written(Path(path)) as file:
        file.writelines(f"{block}\n\n" for block in sentences)


def file_ending(path: str | Path) -> str:
    """``.conllx`` or ``.conllu``: what a file made from this one is to end in."""
    return ".conllx" if is_conllx(path) else ".conllu"


def find_split(folder: str | Path, split: str) -> Path:
    """Return the one ``*{split}.conllu``, ``.conllx`` or ``.conll`` file of a folder.

    Raises:
        InputError: none or several.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder; expected one with *-{split}.conllu in it")
    found = sorted(name for name in os.listdir(folder) if re.search(rf"{split}\.conll[ux]?$", name))
    if len(found) != 1:
        raise InputError(
            f"{folder}: expected one file ending in {split}.conllu, found "
            f"{', '.join(found) or 'none'}; name it with {split}_file"
        )
    return folder / found[0]
