"""How the examples of a file are read, and what they are used for."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from robustparse.errors import InputError
from robustparse.metrics import PunctuationPolicy
from robustparse.types import Sentence

Choose = Callable[[Sequence[int]], Sequence[int]]
"""Returns the positions of the examples to read, ascending, given the number of words of each."""


@dataclass(frozen=True)
class Known:
    """What the model and the other files of a corpus tell about a table.

    Args:
        columns: column names in the model's training data; used if the table has them.
        labels: all labels of the model; None without a classifier.
        numbers: whether the labels of the model's training data are numbers.
        other_labels: returns the label counts of the other files of the corpus.
        other_first_rows: returns the first rows of the other files of the corpus.
    """

    columns: Sequence[str] | None = None
    labels: Collection[str] | None = None
    numbers: bool = False
    other_labels: Callable[[], Mapping[str, int]] = field(default=dict)
    other_first_rows: Callable[[], Collection[Sequence[Any]]] = field(default=tuple)


@dataclass(frozen=True)
class ReadOptions:
    """How the examples of a file, or of several as of one, are read.

    Args:
        columns: names of the columns to read, in formats without fixed columns; None finds them.
        max_length: words in the longest allowed sentence (in pairs, in each text); None allows any.
        gold: whether every example must have a gold answer.
        limit: the option that raises ``max_length``, for the message.
        known: what is known of the file before it is read.
        choose: chooses the examples to read; the others are kept in memory only where the format
            needs it, and may be left unchecked. None reads all.
    """

    columns: Sequence[str] | None = None
    max_length: int | None = None
    gold: bool = True
    limit: str = "max_length"
    known: Known = field(default_factory=Known)
    choose: Choose | None = None

    @property
    def keep(self) -> bool:
        """Whether all examples are kept in memory, so that a file is read once."""
        return self.choose is None

    def check_length(self, sentence: Sentence) -> None:
        """Check that no text of an example is too long, which guards the memory.

        Raises:
            InputError: a text is longer than ``max_length``.
        """
        second = " in the second text" if sentence.context else ""
        for where, words in ((" in the first text", sentence.context), (second, sentence.words)):
            if self.max_length is not None and len(words) > self.max_length:
                problem = f"{len(words)} words{where}, over the limit of {self.max_length}"
                remedy = f"raise {self.limit}, or shorten or leave out the text"
                raise InputError(problem, remedy=remedy)


@dataclass(frozen=True)
class FileUse:
    """What the examples of a file are used for; it decides which warnings appear.

    Args:
        path: the file, or several as of one; an example names its own file.
        punctuation: which punctuation is left out of the scores.
        training: whether the examples are trained on rather than scored.
        gold: whether gold answers are used.
    """

    path: str | Path
    punctuation: PunctuationPolicy = "none"
    training: bool = False
    gold: bool = True
