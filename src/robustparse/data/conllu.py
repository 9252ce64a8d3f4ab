"""CoNLL-U in and out (universaldependencies.org/format.html).

Reading checks every row and names file and line. Multiword ranges and empty nodes stay out of the
parse; each example keeps its block of lines, from which writing restores them. A treebank is parsed
once and then cached through ``datasets`` under the hash of the file's content.
"""

import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import conllu

from robustparse.files import read_text, write_text
from robustparse.errors import InputError
from robustparse.types import DependencyTree, Example, Sentence

_WORD = re.compile(r"[0-9]+")
_RANGE_OR_EMPTY = re.compile(r"[0-9]+[-.][0-9]+")
_COLUMNS = 10


def read_treebank(path: str | Path, max_length: int | None = None) -> list[Example]:
    """The examples of a CoNLL-U file, from the cache where its content was read before.

    Args:
        path: the file.
        max_length: longest allowed sentence in words; None allows any.

    Raises:
        InputError: the file is missing, empty, not UTF-8, not CoNLL-U, holds a parse that is no
            single-root tree, or a sentence over ``max_length``.
    """
    path = Path(path)
    content = read_text(path)
    rows = _cached_rows(path, hashlib.sha256(content.encode()).hexdigest())
    examples = []
    for index, row in enumerate(rows):
        if max_length is not None and len(row["words"]) > max_length:
            raise InputError(
                f"{path}:{row['line']}: the sentence has {len(row['words'])} words, over the limit "
                f"of {max_length}; raise max_length or take the sentence out of the file"
            )
        examples.append(_example(index, row))
    return examples


def _example(index: int, row: dict[str, Any]) -> Example:
    xpos = () if all(tag == "_" for tag in row["xpos"]) else tuple(row["xpos"])
    sentence = Sentence(tuple(row["words"]), tuple(row["upos"]), xpos)
    tree = DependencyTree(tuple(row["heads"]), tuple(row["labels"]))
    return Example(index, sentence, tree, row["block"])


def _cached_rows(path: Path, sha256: str) -> list[dict[str, Any]]:
    import datasets  # imported on use: it takes a second, and most commands' help needs none of it

    features = datasets.Features(
        {
            "words": datasets.List(datasets.Value("string")),
            "upos": datasets.List(datasets.Value("string")),
            "xpos": datasets.List(datasets.Value("string")),
            "heads": datasets.List(datasets.Value("int32")),
            "labels": datasets.List(datasets.Value("string")),
            "line": datasets.Value("int64"),
            "block": datasets.Value("string"),
        }
    )
    datasets.disable_progress_bars()
    try:
        cached = datasets.Dataset.from_generator(
            parse_rows, gen_kwargs={"path": str(path), "sha256": sha256}, features=features
        )
    except datasets.exceptions.DatasetGenerationError as error:
        if isinstance(error.__cause__, InputError):
            raise error.__cause__ from None
        raise
    rows: list[dict[str, Any]] = cached.to_list()
    return rows


def parse_rows(path: str, sha256: str) -> Iterator[dict[str, Any]]:
    """One row a sentence; ``sha256`` is there for the cache's fingerprint alone."""
    found = False
    for line, block in _blocks(read_text(Path(path))):
        found = True
        yield _parse_block(path, line, block)
    if not found:
        raise InputError(f"{path}: no sentence in it; expected CoNLL-U, ten columns a word")


def _blocks(content: str) -> Iterator[tuple[int, list[str]]]:
    """The lines of each sentence, with the number of the first."""
    start, block = 1, []
    for number, line in enumerate(content.split("\n"), start=1):
        line = line.rstrip("\r")
        if line.strip():
            start = start if block else number
            block.append(line)
        elif block:
            yield start, block
            block = []
    if block:
        yield start, block


def _parse_block(path: str, start: int, block: Sequence[str]) -> dict[str, Any]:
    rows: list[list[str]] = []
    lines: list[int] = []
    for number, line in enumerate(block, start=start):
        if line.startswith("#"):
            continue
        columns = line.split("\t")
        if len(columns) != _COLUMNS:
            raise InputError(
                f"{path}:{number}: {len(columns)} columns, expected {_COLUMNS} separated by tabs: "
                f"{line[:60]!r}"
            )
        if _RANGE_OR_EMPTY.fullmatch(columns[0]):
            continue
        if not _WORD.fullmatch(columns[0]) or int(columns[0]) != len(rows) + 1:
            raise InputError(
                f"{path}:{number}: word id {columns[0]!r}, expected {len(rows) + 1}: ids count the "
                "words of a sentence from 1"
            )
        if not columns[1]:
            raise InputError(f"{path}:{number}: the form (column 2) is empty")
        rows.append(columns)
        lines.append(number)
    if not rows:
        raise InputError(f"{path}:{start}: a sentence without words")
    heads = [_head(path, line, row[6], len(rows)) for line, row in zip(lines, rows, strict=True)]
    _check_tree(path, lines, heads)
    names = {"words": 1, "upos": 3, "xpos": 4, "labels": 7}
    fields: dict[str, Any] = {key: [row[at] for row in rows] for key, at in names.items()}
    return {**fields, "heads": heads, "line": start, "block": "\n".join(block)}


def _head(path: str, line: int, text: str, words: int) -> int:
    if not _WORD.fullmatch(text) or int(text) > words:
        raise InputError(f"{path}:{line}: head {text!r}, expected a number from 0 to {words}")
    return int(text)


def _check_tree(path: str, lines: Sequence[int], heads: Sequence[int]) -> None:
    """One root, and every word reaches it."""
    roots = [line for line, head in zip(lines, heads, strict=True) if head == 0]
    if len(roots) > 1:
        raise InputError(
            f"{path}:{roots[1]}: a second root (the first is on line {roots[0]}); a tree has one "
            "word with head 0"
        )
    for word, line in enumerate(lines, start=1):
        seen, at = {word}, heads[word - 1]
        while at != 0 and at not in seen:
            seen.add(at)
            at = heads[at - 1]
        if at != 0:
            raise InputError(
                f"{path}:{line}: following the heads from word {word} leads round a cycle, never "
                "to a root (head 0); expected a tree"
            )


def with_parse(
    block: str, tree: DependencyTree, words: Sequence[str] | None = None
) -> conllu.TokenList:
    """The sentence of a block with another parse, and other forms where ``words`` is given.

    Ranges and empty nodes stay; enhanced dependencies (column 9) are dropped, since they would
    contradict the new parse.
    """
    (tokens,) = conllu.parse(block)
    plain = [token for token in tokens if isinstance(token["id"], int)]
    for index, token in enumerate(plain):
        token["head"], token["deprel"], token["deps"] = tree.heads[index], tree.labels[index], None
        if words is not None and words[index] != token["form"]:
            token["form"], token["lemma"] = words[index], "_"
    if words is not None and "text" in tokens.metadata:
        tokens.metadata["text"] = " ".join(words)
    return tokens


def block_of(sentence: Sentence, tree: DependencyTree) -> str:
    """The CoNLL-U lines of a sentence made in memory."""
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


def write_treebank(path: str | Path, sentences: Iterable[conllu.TokenList]) -> None:
    """Write sentences to a file, whole or not at all."""
    write_text(Path(path), "".join(sentence.serialize() for sentence in sentences))


def find_split(folder: str | Path, split: str) -> Path:
    """The one ``*{split}*.conllu`` file of a folder.

    Raises:
        InputError: none or several.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder; expected one with *-{split}.conllu in it")
    found = sorted(name for name in os.listdir(folder) if re.search(rf"{split}\.conllu$", name))
    if len(found) != 1:
        raise InputError(
            f"{folder}: expected one file ending in {split}.conllu, found "
            f"{', '.join(found) or 'none'}; name it with {split}_file"
        )
    return folder / found[0]
