"""CoNLL-U or CoNLL-X text to checked rows, one a sentence.

CoNLL-U: universaldependencies.org/format.html; CoNLL-X: Buchholz and Marsi (2006). They share their
first eight columns. CoNLL-X allows several roots, and its last two columns hold a second,
projective parse, which is left out: it would contradict any other.

Every row of a file is checked and every complaint names file and line. Multiword ranges and empty
nodes are no words of the parse: they stay in the block of lines that goes with each sentence.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from robustparse.errors import InputError
from robustparse.files import read_text

COLUMNS = 10
# Nine digits are more than any sentence needs and fit every integer type.
_NUMBER = re.compile(r"[0-9]{1,9}")
_RANGE_OR_EMPTY = re.compile(r"[0-9]+[-.][0-9]+")


def is_conllx(path: str | Path) -> bool:
    """Whether a file is CoNLL-X, by its name."""
    return Path(path).suffix.lower() in (".conllx", ".conll")


def parse_rows(path: str, key: str, parsed: bool) -> Iterator[dict[str, Any]]:
    """Check and yield each sentence as a dictionary of its columns, first line and block.

    Args:
        path: the file; CoNLL-X if it ends in ``.conllx`` or ``.conll``, otherwise CoNLL-U.
        key: identifies content and reader to the cache; not read here.
        parsed: every sentence has a parse; otherwise one may have ``_`` as the head of each word.

    Raises:
        InputError: see ``read_treebank``.
    """
    found = False
    for line, block in blocks(read_text(Path(path))):
        found = True
        yield _parse_block(path, line, block, parsed)
    if not found:
        raise InputError(f"{path}: no sentence in it; expected ten columns a word")


def blocks(content: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the lines of each sentence, with the number of the first."""
    start = 1
    block: list[str] = []
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


def is_word(line: str) -> bool:
    """Whether a line of a checked block is a word: no comment, range or empty node."""
    return _NUMBER.fullmatch(line.split("\t", 1)[0]) is not None


def without_second_parse(line: str) -> str:
    """Return a word of CoNLL-X with columns 9 and 10 blank."""
    return "\t".join([*line.split("\t")[:8], "_", "_"])


def _parse_block(path: str, start: int, block: list[str], parsed: bool) -> dict[str, Any]:
    conllx = is_conllx(path)
    rows: list[list[str]] = []
    lines: list[int] = []
    for number, line in enumerate(block, start=start):
        if line.startswith("#"):
            continue
        columns = line.split("\t")
        if len(columns) != COLUMNS:
            raise InputError(
                f"{path}:{number}: {len(columns)} columns, expected {COLUMNS} separated by tabs: "
                f"{line[:60]!r}"
            )
        if _RANGE_OR_EMPTY.fullmatch(columns[0]) and not conllx:
            continue
        if not _NUMBER.fullmatch(columns[0]) or int(columns[0]) != len(rows) + 1:
            raise InputError(
                f"{path}:{number}: word id {columns[0][:20]!r}, expected {len(rows) + 1}: ids "
                "count the words of a sentence from 1"
            )
        if not columns[1]:
            raise InputError(f"{path}:{number}: the form (column 2) is empty; expected a word")
        if conllx:
            block[number - start] = without_second_parse(line)
        rows.append(columns)
        lines.append(number)
    if not rows:
        raise InputError(f"{path}:{start}: a sentence without words; expected one line a word")
    if not parsed and all(row[6] == "_" for row in rows):
        heads = [0] * len(rows)
    else:
        found = zip(lines, rows, strict=True)
        heads = [_head(path, line, row[6], len(rows)) for line, row in found]
        _check_tree(path, lines, heads, single_root=not conllx)
    names = {"words": 1, "upos": 3, "xpos": 4, "labels": 7}
    fields: dict[str, Any] = {key: [row[at] for row in rows] for key, at in names.items()}
    return {**fields, "heads": heads, "line": start, "block": "\n".join(block)}


def _head(path: str, line: int, text: str, words: int) -> int:
    if not _NUMBER.fullmatch(text) or int(text) > words:
        raise InputError(f"{path}:{line}: head {text[:20]!r}, expected a number from 0 to {words}")
    return int(text)


def _check_tree(path: str, lines: Sequence[int], heads: Sequence[int], single_root: bool) -> None:
    """One root, or in CoNLL-X any number, and every word reaches one."""
    roots = [line for line, head in zip(lines, heads, strict=True) if head == 0]
    if len(roots) > 1 and single_root:
        raise InputError(
            f"{path}:{roots[1]}: a second root (the first is on line {roots[0]}); a tree has one "
            "word with head 0"
        )
    rooted = {0}
    for word, line in enumerate(lines, start=1):
        seen, at = set[int](), word
        while at not in rooted and at not in seen:
            seen.add(at)
            at = heads[at - 1]
        rooted |= seen
        if at in seen:
            raise InputError(
                f"{path}:{line}: following the heads from word {word} leads round a cycle, never "
                "to a root (head 0); expected a tree"
            )
