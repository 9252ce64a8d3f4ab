"""Read and write sentences with one tag per word.

`treebank_tags`, `tag_lines` and `tag_rows` read and write the three kinds of files; here, the kind
is recognised, and tags of spans become BIO.
"""

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path

from robustparse.data.columns import check_alike, tell
from robustparse.data.conllu import COLUMNS, TREEBANKS, blocks, file_ending
from robustparse.data.read_options import ReadOptions
from robustparse.data.tables import is_dataset, is_parquet
from robustparse.data.tags.schemes import OUTSIDE, Scheme, scheme_of, to_bio, unread_spans
from robustparse.data.tags.tag_lines import read_lines, tagged_lines
from robustparse.data.tags.tag_reader import UNTAGGED, ReadSentence, TagReader
from robustparse.data.tags.tag_rows import read_rows
from robustparse.data.tags.treebank_tags import read_treebank, tagged_treebank
from robustparse.errors import InputError, located
from robustparse.files.compression import plain_ending
from robustparse.files.paths import Sources, each_path, in_short
from robustparse.types import Example, TagSequence

LINES = (".conll", ".iob", ".iob2", ".bio", ".bioes", ".bilou", ".tsv")
TABLES = (".jsonl", ".json", ".parquet")
ENDINGS = (*TREEBANKS, *LINES, *TABLES)


def read_tags(
    path: Sources, options: ReadOptions = ReadOptions(), repair: bool = False
) -> list[Example]:
    """Read the sentences of a file, or of several as of one; tags of spans become BIO.

    Args:
        path: the file, or a dataset; or several of the same kind.
        options: how it is read. Its columns are those of words and tags, and of the label of the
            text. A treebank takes the last name: ``upos`` (the default), ``xpos``, ``feats:KEY`` or
            ``misc:KEY``; lines of columns take none. If ``gold`` is false, missing tags become
            ``_``, and broken tags of spans are repaired. Of the sentences that are not chosen,
            length and tags of spans are not checked, and they are not kept in memory, except rows
            that `read_table` cannot read again.
        repair: whether to repair broken sequences of span tags instead of rejecting them.

    Raises:
        InputError: names file and line of content that cannot be used.
    """
    several = {each: _kind(each) for each in each_path(path)}
    files = [_READERS[kind](each, options) for each, kind in several.items()]
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
    ids = range(len(lengths)) if options.choose is None else {*options.choose(lengths)}
    examples: list[Example] = []
    for index, read in enumerate(chain.from_iterable(files)):
        if index in ids:
            with located(read.example.path, read.lines[0]):
                options.check_length(read.example.sentence)
            bio = _in_bio(read, scheme, repair or not options.gold)
            examples.append(replace(read.example, id=index, gold=bio))
            if len(examples) == len(ids):
                break  # nothing is read after the last one
    return examples


def _in_bio(read: ReadSentence, scheme: Scheme, repair: bool) -> TagSequence:
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


_READERS: dict[str, TagReader] = {
    "treebank": read_treebank,
    "lines": read_lines,
    "rows": read_rows,
}


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
        return tagged_treebank(example.block, str(example.row.layout.label), tags, words)
    return tagged_lines(example.block, answer, new)


def file_kind(path: str | Path) -> str:
    """Return the ending of files made from this one."""
    if is_dataset(path) or is_parquet(path):
        return ".jsonl"
    suffix = plain_ending(path)
    if suffix in TREEBANKS:
        return file_ending(path)
    return suffix if suffix in ENDINGS else ".conll"
