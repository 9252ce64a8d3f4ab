"""The data every part of robustparse speaks in: frozen, plain, without behaviour beyond checks."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from robustparse.tagsets import PENN_TAGS, Tagset

Mask = NDArray[np.bool_]
Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
Ids = NDArray[np.int32]  # rows and marks of a victim
States = NDArray[np.int16]  # of searches, (n, words)
View = Literal["text", "joined"]  # what of a pair a constraint sees: the text, or both as one
Heads = NDArray[np.int16]  # of parses, (n, words), 0 is ROOT
Predictions = tuple[NDArray[Any], ...]  # of n texts, arrays of n rows


@dataclass(frozen=True, slots=True)
class Sentence:
    """A list of words with their tags; ROOT is not part of it.

    Args:
        words: the forms, in order.
        upos: universal part-of-speech tags, one a word, or empty where the sentence has none.
        xpos: the treebank's own tags, such as Penn tags, one a word, or empty.
        context: the words of the other text of a pair, which is never edited, or empty.
        feats: morphological features, such as `Number=Sing|Tense=Past`, in alphabetical order; one
            string a word, `_` for a word without features, or empty where no word has any.
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
        """Both texts of a pair as one without tags, the context first; a single text as it is."""
        return Sentence((*self.context, *self.words)) if self.context else self

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags a parser reads: the treebank's own, or universal ones if there are no others."""
        return self.xpos or self.upos

    @property
    def marks(self) -> tuple[str, ...]:
        """What goes with a position whatever word stands there, one a word.

        The whole context of a pair, otherwise the tag, otherwise `_`.
        """
        if self.context:
            return (" ".join(self.context),) * len(self.words)
        return self.tags or ("_",) * len(self.words)

    @property
    def tagset(self) -> Tagset:
        """Which tags to go by: `xpos` if these are Penn tags, or the only ones; else `upos`."""
        only = not self.upos
        return "xpos" if self.xpos and (only or PENN_TAGS.issuperset(self.xpos)) else "upos"

    @property
    def analyses(self) -> tuple[tuple[str, str], ...]:
        """The universal tag, or `_`, and the features of each word; empty without features."""
        upos = self.upos or ("_",) * len(self.feats)
        return tuple(zip(upos, self.feats, strict=True)) if self.feats else ()

    def tagged(self, tagset: Tagset | None = None) -> tuple[str, ...]:
        """Return the tags of a set, by default the sentence's own `tagset`, or none."""
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


class Label(str):
    """A classifier's answer: the most probable label, as a string, with what it is chosen from.

    Args:
        name: the label.
        probabilities: of every label.
    """

    probabilities: Mapping[str, float]

    def __new__(cls, name: str, probabilities: Mapping[str, float] | None = None) -> Self:
        """Make the string."""
        label = super().__new__(cls, name)
        label.probabilities = probabilities or {}
        return label


class LogicalForm(str):
    """A semantic parser's answer: a logical form in one line, its tokens separated by blanks.

    Args:
        text: the form.
        language: what it is written in, as `language_named` knows it.
    """

    language: str

    def __new__(cls, text: str, language: str) -> Self:
        """Make the string."""
        form = super().__new__(cls, text)
        form.language = language
        return form

    def __getnewargs__(self) -> tuple[str, str]:  # type: ignore[override]
        """Return what a copy is made of."""
        return str(self), self.language


TableKind = Literal["tsv", "quoted tsv", "csv", "json lines", "json list"]
ColumnName = str | int
"""The name of a column of a table, or its number from 0 where columns have no names."""


@dataclass(frozen=True, slots=True)
class Layout:
    """What the rows of a table have in common.

    Args:
        kind: how a file of such rows is written.
        texts: the column of the text; of pairs those of both texts.
        label: the column of the answer, which predictions may add.
        delimiter: between the cells of a CSV file.
        header: the first line of a file of tabs or commas names the columns.
        raw: of utterances, the columns of the raw text and of the slots, if there are any.
    """

    kind: TableKind
    texts: tuple[ColumnName, ...]
    label: ColumnName
    delimiter: str = "\t"
    header: bool = False
    raw: tuple[ColumnName, ColumnName] | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table, from which a writer restores all that no command changes.

    Args:
        line: where it begins in its file, from 1; in a dataset or Parquet file its number.
        values: of all its columns, in the order of the file.
        layout: of its table.
    """

    line: int
    values: Mapping[ColumnName, Any]
    layout: Layout


@dataclass(frozen=True, slots=True)
class Example:
    """A sentence with its gold answer.

    Args:
        id: position in its file, from 0. Random choices follow from (seed, id).
        sentence: the words and tags.
        gold: the gold answer; its type is the task's, as `DependencyTree` of a dependency parser,
            `LogicalForm` of a semantic parser or a label (`str`) of a classifier.
        block: the sentence's lines in its treebank (comments, ranges and empty nodes
            included), so that a writer can restore what a parse leaves out; empty if made in
            memory.
        row: the text's row in its table, for the same purpose; None if made in memory.
        ending: what a file of such examples ends in, as ``.conllx``; empty if made in memory.
    """

    id: int
    sentence: Sentence
    gold: Any
    block: str = ""
    row: Row | None = None
    ending: str = ""

    @property
    def line(self) -> int:
        """The line of a table in which it begins; otherwise its number from 1."""
        return self.id + 1 if self.row is None else self.row.line


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
        """Return itself: Lightning moves to the CPU all that a step returns."""
        return self
