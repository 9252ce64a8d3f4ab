"""The plain data types that all packages share: sentences, answers, examples, predictions."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from robustparse.tagsets import PENN_TAGS, Tagset

Mask = NDArray[np.bool_]
Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
Ids = NDArray[np.int32]  # a victim's rows and marks
States = NDArray[np.int16]  # states of a search, (n, words)
View = Literal["text", "joined"]  # which text of a pair a constraint reads: its own, or both joined
Heads = NDArray[np.int16]  # heads of parses, (n, words), 0 is ROOT
Predictions = tuple[NDArray[Any], ...]  # predictions for n texts: arrays of n rows


class TextRows(NamedTuple):
    """A batch of n texts as a victim reads them.

    Args:
        words: the victim's rows, `int32 (n, length)`, 0 beyond a text's length.
        marks: the victim's ids of marks, `int32 (n, length)`, 0 beyond a text's length.
        lengths: words of each text, `int32 (n,)`.
    """

    words: Ids
    marks: Ids
    lengths: Ids


@dataclass(frozen=True, slots=True)
class Sentence:
    """A list of words with their tags, without ROOT.

    Args:
        words: the forms, in order.
        upos: universal part-of-speech tags, one per word, or empty.
        xpos: the treebank's own tags, such as Penn tags, one per word, or empty.
        context: the words of the other text of a pair, which is never changed, or empty.
        feats: morphological features, such as `Number=Sing|Tense=Past`, in alphabetical order, one
            string per word, `_` for a word without features; empty if no word has any.
    """

    words: tuple[str, ...]
    upos: tuple[str, ...] = ()
    xpos: tuple[str, ...] = ()
    context: tuple[str, ...] = ()
    feats: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.words)

    @property
    def joined(self) -> "Sentence":
        """Both texts of a pair, context first, without tags; a single text is unchanged."""
        return Sentence((*self.context, *self.words)) if self.context else self

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags that a parser reads: the treebank's own tags, or else the universal tags."""
        return self.xpos or self.upos

    @property
    def marks(self) -> tuple[str, ...]:
        """The input of a victim besides the word, one string per word, kept when a word changes.

        It is the whole context of a pair, otherwise the tag, otherwise `_`.
        """
        if self.context:
            return (" ".join(self.context),) * len(self.words)
        return self.tags or ("_",) * len(self.words)

    @property
    def tagset(self) -> Tagset:
        """The default tagset: `xpos` if these are Penn tags or the only tags, otherwise `upos`."""
        only = not self.upos
        return "xpos" if self.xpos and (only or PENN_TAGS.issuperset(self.xpos)) else "upos"

    @property
    def analyses(self) -> tuple[tuple[str, str], ...]:
        """The universal tag, or `_`, and the features of each word; empty without features."""
        upos = self.upos or ("_",) * len(self.feats)
        return tuple(zip(upos, self.feats, strict=True)) if self.feats else ()

    def tagged(self, tagset: Tagset | None = None) -> tuple[str, ...]:
        """Return the tags in a tagset, by default that of the sentence; empty if there are none."""
        return self.xpos if (tagset or self.tagset) == "xpos" else self.upos


@dataclass(frozen=True, slots=True)
class DependencyTree:
    """The parse of a sentence of n words.

    Args:
        heads: n integers in 0..n, the head of each word; words count from 1, 0 is ROOT.
        labels: n dependency labels.
    """

    heads: tuple[int, ...]
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TagSequence:
    """A tagger's answer for a sentence: a tag for each word, and a label of the text if it has one.

    Args:
        tags: one tag per word; tags of spans are BIO.
        label: the label of the whole text, such as an intent; empty if texts have none.
    """

    tags: tuple[str, ...]
    label: str = ""

    @property
    def labels(self) -> tuple[str, ...]:
        """The names for a vocabulary: the tags, and the label after a blank, which no tag has."""
        return (*self.tags, *([f" {self.label}"] if self.label else []))


class Label(str):
    """A classifier's answer: the most probable label as a string, with all probabilities.

    Args:
        name: the label.
        probabilities: label -> probability.
    """

    probabilities: Mapping[str, float]

    def __new__(cls, name: str, probabilities: Mapping[str, float] | None = None) -> Self:
        """Make the label."""
        label = super().__new__(cls, name)
        label.probabilities = probabilities or {}
        return label


class LogicalForm(str):
    """A semantic parser's answer: a logical form in one line, with tokens separated by blanks.

    Args:
        text: the form.
        language: the name of its language, see `language_named`.
    """

    language: str

    def __new__(cls, text: str, language: str) -> Self:
        """Make the form."""
        form = super().__new__(cls, text)
        form.language = language
        return form

    def __getnewargs__(self) -> tuple[str, str]:  # type: ignore[override]
        """Return the arguments for copies."""
        return str(self), self.language


TableKind = Literal["tsv", "quoted tsv", "csv", "json lines", "json list"]
ColumnName = str | int
"""The name of a column of a table, or its number from 0 if columns have no names."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The format of a table.

    Args:
        kind: the file format.
        texts: the column of the text, or the columns of both texts of a pair.
        label: the column of the answer, which predictions may add.
        delimiter: the delimiter of a CSV file.
        header: whether the first line of a TSV or CSV file names the columns.
        raw: for utterances, the columns of the raw text and of the slots, if there are any.
        numbers: whether answers are numbers, or true and false, in JSON and Parquet, as in the
            model's training data.
        topic: for tagged sentences, the column of the label of the text.
    """

    kind: TableKind
    texts: tuple[ColumnName, ...]
    label: ColumnName
    delimiter: str = "\t"
    header: bool = False
    raw: tuple[ColumnName, ColumnName] | None = None
    numbers: bool = False
    topic: ColumnName | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table, from which a writer restores the columns that commands do not change.

    Args:
        line: its first line in the file, from 1; in a dataset or Parquet file its number.
        values: column -> value, in the order of the file.
        layout: the format of its table.
    """

    line: int
    values: Mapping[ColumnName, Any]
    layout: Layout


@dataclass(frozen=True, slots=True)
class Example:
    """A sentence with its gold answer.

    Args:
        id: position in its file, or in all files that are read as one, from 0. Random choices
            follow from (seed, id).
        sentence: the words and tags.
        gold: the gold answer, of the task's type: `DependencyTree` for dependency parsing,
            `LogicalForm` for semantic parsing, a label (`str`) for classification, `TagSequence`
            for tagging.
        block: the sentence's lines in its treebank, including comments, ranges and empty nodes,
            from which a writer restores what a parse lacks; empty if made in memory.
        row: the text's row in its table, for the same purpose; None if made in memory.
        ending: the ending of a file of such examples, such as ``.conllx``; empty if made in memory.
        path: the file or dataset that it was read from, for messages; empty if made in memory.
            Examples that differ in it only are equal.
        start: without a row, its first line in that file, from 1; 0 if made in memory. Examples
            that differ in it only are equal.
    """

    id: int
    sentence: Sentence
    gold: Any
    block: str = ""
    row: Row | None = None
    ending: str = ""
    path: str = field(default="", repr=False, compare=False)
    start: int = field(default=0, repr=False, compare=False)

    @property
    def line(self) -> int:
        """Its first line in its file; its number, from 1, if made in memory."""
        return self.start or self.id + 1 if self.row is None else self.row.line

    def place(self, path: object) -> str:
        """Return its file and line for a message.

        Args:
            path: the file, if the example names none.
        """
        return f"{self.path or path}:{self.line}"


@dataclass(frozen=True, slots=True)
class Prediction:
    """A model's answer for one sentence.

    Args:
        id: the example's id.
        answer: of the task's type, as `Example.gold`.
    """

    id: int
    answer: Any

    def to(self, *_: object, **__: object) -> "Prediction":
        """Return itself; Lightning calls this to move the results of a step to the CPU."""
        return self
