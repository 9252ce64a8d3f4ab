"""The base class of constraints that judge a changed sentence as a whole, usually with a model.

Their verdict depends on the other changes of the sentence and cannot be computed in advance. The
scheduler asks them during the search, for the changes of all running sentences together.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Generic, TypeVar

from robustparse.attacks.candidates.generator import Merged
from robustparse.attacks.constraints.constraint import Constraint
from robustparse.types import Floats, Mask, Sentence, View

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Edit:
    """A change of one word in a sentence under attack.

    Args:
        sentence: the original sentence.
        current: the words before the change, other changes included.
        position: the word's index, from 0.
        word: the new word.
        combined: whether a search took the word from another state, instead of changing it.
    """

    sentence: Sentence
    current: tuple[str, ...]
    position: int
    word: str
    combined: bool = False

    @property
    def tag(self) -> str:
        """The corpus' tag of the word (`Sentence.tagset`), empty if there is none."""
        tags = self.sentence.tagged()
        return tags[self.position] if tags else ""

    @property
    def changed(self) -> tuple[str, ...]:
        """The words after the change; the second of two merged words is empty."""
        before, after = self.current[: self.position], self.current[self.position + 1 :]
        if isinstance(self.word, Merged):
            return (*before, str(self.word), "", *after[1:])
        return (*before, self.word, *after)

    def seen(self, view: View) -> "Edit":
        """Return the edit in the view of a pair: in its own text, or in both texts joined."""
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
    """Judges changed sentences; subclasses must define only `admits`.

    The docstring of each class says whether it compares with the original or the current sentence.
    Sentence constraints apply after all others, in the given order.

    Attributes:
        once: whether it rejects every second change of a word. Searches then skip changed words.
        judges_combined: whether its verdict on a combined change is that on any other change.
    """

    is_model = True
    once: bool = False
    judges_combined: bool = True

    @abstractmethod
    def admits(self, edits: Sequence[Edit]) -> Mask:
        """Tell which edits are admissible, `(edits,)`, independently of each other."""

    def similarities(self, edits: Sequence[Edit]) -> Floats | None:
        """Measure how similar each changed sentence is to its reference, `(edits,)`.

        Higher is more similar. A constraint that measures no similarity returns None.
        """
        return None

    def most_edits(self, words: int) -> int:
        """Return how many words of a sentence of `words` words may differ from the original.

        Searches use the limit to avoid requests for candidates that would be rejected.
        """
        return words


class Recent(Generic[K, V]):
    """A cache of a model's results that drops the oldest entries.

    Args:
        size: maximum number of entries.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._values: dict[K, V] = {}

    def of(self, keys: Sequence[K], compute: Callable[[list[K]], Sequence[V]]) -> list[V]:
        """Return the values of the keys.

        Args:
            keys: the keys, which may repeat.
            compute: returns the values of distinct unknown keys; called at most once.
        """
        values = {key: self._values[key] for key in keys if key in self._values}
        missing = [key for key in dict.fromkeys(keys) if key not in values]
        if missing:
            fresh = dict(zip(missing, compute(missing), strict=True))
            values |= fresh
            self._values |= fresh
            for key in list(islice(self._values, max(0, len(self._values) - self._size))):
                del self._values[key]
        return [values[key] for key in keys]
