"""The words that a victim reads when a text is reworded; by default, the words of the text."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from robustparse.types import Indices, Mask, Sentence


@dataclass(frozen=True, eq=False)
class Reading:
    """A text to reword, and the words that the victim reads for it; here they are the same.

    Args:
        sentence: the text to reword.
        words: the words that the victim reads.
        positions: position in the text of each word in `words`, or -1.
        free: which of `words` may be replaced, `bool (words,)`.

    Attributes:
        plain: whether the victim reads the text unchanged.
    """

    sentence: Sentence
    words: tuple[str, ...]
    positions: Indices
    free: Mask
    plain: ClassVar[bool] = True

    @classmethod
    def word_for_word(cls, sentence: Sentence, fixed: Collection[str] = ()) -> Self:
        """Return the reading of a text that the victim reads unchanged.

        Args:
            sentence: the text.
            fixed: words that may not be replaced.
        """
        free = np.array([word not in fixed for word in sentence.words], dtype=np.bool_)
        return cls(sentence, sentence.words, np.arange(len(sentence)), free)

    def candidates(self, index: int, words: Sequence[str]) -> list[str]:
        """Return the candidates that can replace the word with this index among `words`.

        Subclasses leave out candidates that the victim reads as the original word.
        """
        return list(words)

    def read(self, word: str) -> str:
        """Return the word that the victim reads for a candidate."""
        return word

    def of(self, words: Sequence[str]) -> tuple[str, ...]:
        """Return what the victim reads when the text has these words, as many as before."""
        return tuple(words)
