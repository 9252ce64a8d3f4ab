"""Read and write tags in the columns of treebanks.

The tags are in column 4 (``upos``) or 5 (``xpos``), or are the values of a key in column 6 or 10
(``feats:Number``, ``misc:Entity``); words without the key have the tag ``_``, or ``O`` if the tags
are those of spans.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from robustparse.data.chosen import repeatable
from robustparse.data.columns import tell
from robustparse.data.conllu import blocks, each_example, is_word
from robustparse.data.read_options import ReadOptions
from robustparse.data.sentence_lines import with_column
from robustparse.data.tags.schemes import OUTSIDE
from robustparse.data.tags.tag_reader import UNTAGGED, ReadSentence
from robustparse.errors import InputError
from robustparse.types import Example, Layout, Row, TagSequence

_COLUMN = {"upos": 3, "xpos": 4, "feats": 5, "misc": 9}


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


def read_treebank(path: Path, options: ReadOptions) -> Iterable[ReadSentence]:
    """Return the sentences of a treebank; see `TagReader`."""
    column, key = tag_column(options.columns)
    words = ReadOptions(gold=False)  # neither heads nor the length of sentences are checked
    examples = repeatable(partial(each_example, path, words), options.keep)
    if options.gold and key:
        _check_key(path, column, key, examples)
    return repeatable(partial(_each_of_treebank, path, options, examples), options.keep)


def _each_of_treebank(
    path: Path, options: ReadOptions, examples: Iterable[Example]
) -> Iterator[ReadSentence]:
    columns = options.columns
    (column, key), starts = tag_column(columns), blocks(path)
    for example, (start, block) in zip(examples, starts, strict=True):
        rows = [line.split("\t") for line in block if is_word(line)]
        lines = [start + at for at, line in enumerate(block) if is_word(line)]
        tags = [_value(row[column], key) for row in rows]
        if options.gold and not key and UNTAGGED in tags:
            line = lines[tags.index(UNTAGGED)]
            raise InputError("the word has no tag", path=path, line=line)
        row = Row(start, {}, Layout("tsv", ("form",), columns[-1] if columns else "upos"))
        yield ReadSentence(replace(example, gold=TagSequence(tuple(tags)), row=row), lines)


def _check_key(path: Path, column: int, key: str, examples: Iterable[Example]) -> None:
    """Reject a key that no word has if some have it in another casing; otherwise, warn."""
    lines = (line for example in examples for line in example.block.split("\n") if is_word(line))
    cells = {line.split("\t")[column] for line in lines}
    name = "feats" if column == _COLUMN["feats"] else "misc"
    if blank := next((cell for cell in cells if f" {key}=" in cell), None):
        problem, expected = f"{blank!r:.60} in column {column + 1}", "items divided by |"
        raise InputError(problem, path=path, key=f"{name}:{key}", expected=expected)
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


def tagged_treebank(block: str, name: str, tags: Sequence[str], words: Sequence[str] | None) -> str:
    """Return the lines of a sentence with other tags, and other words if they are set.

    Args:
        block: the lines.
        name: the column of the tags, see `tag_column`.
        tags: the tags.
        words: the words; None keeps them.
    """
    column, key = tag_column([name])
    values = [UNTAGGED if key and tag == OUTSIDE else tag for tag in tags]
    return with_column(block, column, values, words, key)
