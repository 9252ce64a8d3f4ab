"""The protocol of constraints: which words may be changed, and which candidates are accepted."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from robustparse.attacks.candidates.generator import Slot
from robustparse.attacks.victim import Victim
from robustparse.types import Example


class Constraint(Protocol):
    """A constraint overrides one of the two questions, or both. Constraints apply in listed order.

    A constraint states what it compares a candidate with; those that run when a problem is built
    see the original sentence with the one word changed.
    """

    def check(self, examples: Sequence[Example]) -> None:
        """Refuse sentences that lack what it goes by.

        Raises:
            InputError: names the first such sentence, counted from 1, and what it lacks.
        """
        return  # of a protocol, an empty body would be abstract

    def attackable(self, examples: Sequence[Example]) -> list[NDArray[np.bool_]]:
        """Which words of each sentence may be changed, `(words,)` each."""
        return [np.ones(len(example.sentence), dtype=np.bool_) for example in examples]

    def accept(
        self, slots: Sequence[Slot], candidates: Sequence[Sequence[str]], victim: Victim
    ) -> list[NDArray[np.bool_]]:
        """Which candidates of each slot are accepted, `(candidates,)` each."""
        return [np.ones(len(words), dtype=np.bool_) for words in candidates]

    def unmatched(self, examples: Sequence[Example]) -> str:
        """Return a warning about what it lists and the data does not have, or an empty text."""
        return ""

    def is_model(self) -> bool:
        """Whether a model decides; its seconds are then reported apart from the victim's."""
        return False
