"""The base class of constraints that judge a changed sentence as a whole, mostly by a model.

The verdict depends on the other changes of the sentence, so that no mask can be made in advance:
the scheduler asks about every candidate of an `Expand`, in all live sentences at once.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Generic, TypeVar

from robustparse.attacks.constraints.constraint import Constraint
from robustparse.types import Floats, Mask, Sentence, View

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


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
    def tag(self) -> str:
        """The corpus' tag of the word (`Sentence.tagset`), empty where there is none."""
        tags = self.sentence.tagged()
        return tags[self.position] if tags else ""

    @property
    def changed(self) -> tuple[str, ...]:
        """The words after the change."""
        return (*self.current[: self.position], self.word, *self.current[self.position + 1 :])

    def seen(self, view: View) -> "Edit":
        """Return the same change in what a constraint sees of a pair: its text, or both as one."""
        if view == "text":
            return self
        context = self.sentence.context
        return replace(
            self,
            sentence=self.sentence.joined,
            current=(*context, *self.current),
            position=len(context) + self.position,
        )


class SentenceConstraint(Constraint, ABC):
    """Judges changed sentences; only `admits` must be defined.

    The docstring of each says whether it compares with the original sentence or the current one.
    Such constraints come after all others, and then in listed order.

    Attributes:
        once: whether it admits no change of a word that has been changed already. Searches that
            change words again then pass these over, and need not ask.
    """

    is_model = True
    once: bool = False

    @abstractmethod
    def admits(self, edits: Sequence[Edit]) -> Mask:
        """Tell which edits are admissible, `(edits,)`, each independently of the others."""

    def similarities(self, edits: Sequence[Edit]) -> Floats | None:
        """Measure how similar each changed sentence is to its reference, `(edits,)`.

        Higher is more similar. A constraint that measures no similarity returns None.
        """
        return None

    def most_edits(self, words: int) -> int:
        """Tell how many of a sentence's words may differ from the original's.

        Searches that change words again then pass the others over, those that go from word to word
        end there: neither asks for candidates that would be refused.
        """
        return words


class Recent(Generic[K, V]):
    """A bounded memory of what a model said: the oldest values are forgotten.

    Args:
        size: entries kept.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._values: dict[K, V] = {}

    def of(self, keys: Sequence[K], compute: Callable[[list[K]], Sequence[V]]) -> list[V]:
        """Return the values of the keys.

        Args:
            keys: they may repeat.
            compute: gives the values of distinct unknown keys; called once, or not at all.
        """
        found = {key: self._values[key] for key in keys if key in self._values}
        missing = [key for key in dict.fromkeys(keys) if key not in found]
        if missing:
            fresh = dict(zip(missing, compute(missing), strict=True))
            found |= fresh
            self._values |= fresh
            for key in list(islice(self._values, max(0, len(self._values) - self._size))):
                del self._values[key]
        return [found[key] for key in keys]
