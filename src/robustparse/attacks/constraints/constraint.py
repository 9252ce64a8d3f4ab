"""The base class of constraints: which words may be changed, and which candidates are accepted."""

from collections.abc import Iterator, Sequence, Set

import numpy as np

from robustparse.attacks.candidates.generator import Slot
from robustparse.attacks.component import Component
from robustparse.attacks.victim import Victim
from robustparse.types import Example, Mask

Words = Sequence[Sequence[str]]
"""Candidates of each slot."""

Masks = list[Mask]
"""Which candidates of each slot are accepted, `(candidates,)` each."""


class Constraint(Component):
    """Decides which words may be changed and which candidates are accepted; by default all.

    Subclasses override `attackable`, `accept` or both. Constraints apply in the given order.
    `accept` sees the original sentence with one word changed; the docstring of each class says what
    it compares a candidate with.

    Attributes:
        of_read_words: whether it applies to the words that the victim reads, such as stems, instead
            of those of the text, see `Reading`.
    """

    of_read_words: bool = False

    def attackable(self, example: Example) -> Mask:
        """Tell which words of the sentence may be changed, `(words,)`."""
        return np.ones(len(example.sentence), dtype=np.bool_)

    def accept(self, slots: Sequence[Slot], candidates: Words, victim: Victim) -> Masks:
        """Tell which candidates of each slot are accepted."""
        return [np.ones(len(words), dtype=np.bool_) for words in candidates]


def absent(what: str, listed: Set[str], present: Set[str], default: bool) -> Iterator[str]:
    """Warn about listed names that do not occur in the data.

    Rare names of a default list are often absent, so there the warning needs all to be absent.
    """
    missing = listed - present
    if present and missing and not (default and listed & present):
        yield (
            f"{what}: no word of the data has {', '.join(sorted(missing))}; its words have "
            f"{', '.join(sorted(present))}"
        )
