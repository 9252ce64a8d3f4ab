"""The protocol of filters that are models and judge a changed sentence as a whole.

What they say depends on what the sentence has become, so that no mask can be made in advance: the
scheduler asks them about every candidate of an `Expand`, all live sentences at once.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robustparse.attacks.constraints.constraint import Constraint
from robustparse.types import Sentence


@dataclass(frozen=True, slots=True)
class Edit:
    """One word of a sentence under attack, about to be changed.

    Args:
        sentence: the original sentence.
        current: the words before the change, other changes included.
        position: the word's index, from 0.
        word: the new word.
    """

    sentence: Sentence
    current: tuple[str, ...]
    position: int
    word: str

    @property
    def changed(self) -> tuple[str, ...]:
        """The words after the change."""
        return (*self.current[: self.position], self.word, *self.current[self.position + 1 :])


class SentenceConstraint(Constraint):
    """A constraint on changed sentences; each says whether it compares with the original one.

    Such filters come after all other constraints, and then in listed order.
    """

    @abstractmethod
    def admits(self, edits: Sequence[Edit]) -> NDArray[np.bool_]:
        """Which edits are admissible, `(edits,)`; each is judged independently of the others."""

    def similarities(self, edits: Sequence[Edit]) -> NDArray[np.float64] | None:
        """How similar each changed sentence is to what it is compared with, `(edits,)`.

        Higher is more similar. None, as here, from a filter that measures no similarity.
        """
        return None

    def once(self) -> bool:
        """Whether it admits no change of a word that has been changed already.

        Searches that change words again then pass these over, and need not ask.
        """
        return False

    def most_edits(self, words: int) -> int | None:
        """How many words of a sentence of so many it lets differ from the original's; None: any.

        Searches that change words again then pass the others over, those that go from word to word
        end there: neither asks for candidates that would be refused.
        """
        return None

    def is_model(self) -> bool:
        """See `Constraint.is_model`."""
        return True
