"""What a victim reads of a text that is reworded: here the text itself, word for word."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from robustparse.types import Indices, Mask, Sentence


@dataclass(frozen=True, eq=False)
class Reading:
    """A text that is reworded, and the words that a victim reads instead: here the same.

    Args:
        sentence: the text that is reworded.
        words: what the victim reads.
        places: for each of `words` the position in the text of the word that it stands for, or -1.
        free: which of `words` may be exchanged, `bool (words,)`.

    Attributes:
        plain: whether the text is read as it is.
    """

    sentence: Sentence
    words: tuple[str, ...]
    places: Indices
    free: Mask
    plain: ClassVar[bool] = True

    @classmethod
    def word_for_word(cls, sentence: Sentence) -> Self:
        """Return the reading that has a word for each word of the text."""
        size = len(sentence)
        return cls(sentence, sentence.words, np.arange(size), np.ones(size, dtype=np.bool_))

    def candidates(self, index: int, words: Sequence[str]) -> list[str]:
        """Return what can stand in the text for one of the words read, given as its index.

        A candidate that is read as the original is left out.
        """
        return list(words)

    def read(self, word: str) -> str:
        """Return what is read of a candidate."""
        return word

    def of(self, words: Sequence[str]) -> tuple[str, ...]:
        """Return what is read of the text with other words, as many."""
        return tuple(words)
