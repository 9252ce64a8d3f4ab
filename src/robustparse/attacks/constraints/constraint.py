"""The base class of constraints: which words may be changed, and which candidates are accepted."""

from collections.abc import Iterator, Sequence, Set

import numpy as np

from robustparse.attacks.candidates.generator import Slot
from robustparse.attacks.tagged import Part
from robustparse.attacks.victim import Victim
from robustparse.types import Example, Mask

Words = Sequence[Sequence[str]]
"""Candidates of each slot."""

Masks = list[Mask]
"""Which candidates of each slot are accepted, `(candidates,)` each."""


class Constraint(Part):
    """Overrides one of two questions, `attackable` and `accept`, or both; allows all by default.

    Constraints apply in listed order. One that overrides `accept` says in its docstring what it
    compares a candidate with; it sees the original sentence with the one word changed.

    Attributes:
        of_read_words: whether it looks at the words that a victim reads, such as stems, instead of
            those of the text that is reworded, see `Reading`.
    """

    of_read_words: bool = False

    def prepare(self, victim: Victim) -> None:
        """Make ready for the sentences of a victim, before any question is asked."""

    def attackable(self, example: Example) -> Mask:
        """Tell which words of the sentence may be changed, `(words,)`."""
        return np.ones(len(example.sentence), dtype=np.bool_)

    def accept(self, slots: Sequence[Slot], candidates: Words, victim: Victim) -> Masks:
        """Tell which candidates of each slot are accepted."""
        return [np.ones(len(words), dtype=np.bool_) for words in candidates]


def absent(what: str, listed: Set[str], present: Set[str], default: bool) -> Iterator[str]:
    """Warn of listed names that the data do not have.

    Rare names of a default list may well be absent: such a list is wrong only if none is present.
    """
    missing = listed - present
    if present and missing and not (default and listed & present):
        yield (
            f"{what}: no word of the data has {', '.join(sorted(missing))}; its words have "
            f"{', '.join(sorted(present))}"
        )
