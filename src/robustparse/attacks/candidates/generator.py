"""The base class of candidate generators, and the slots they fill."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from robustparse.attacks.tagged import Part
from robustparse.attacks.victim import Victim
from robustparse.errors import InputError
from robustparse.tagsets import Tagset
from robustparse.types import Sentence, View


@dataclass(frozen=True, slots=True)
class Slot:
    """One word of one sentence, to be replaced.

    Args:
        id: the example's id; a generator's random choices follow from (seed, id, position).
        sentence: the original sentence.
        position: the word's index, from 0.
    """

    id: int
    sentence: Sentence
    position: int

    @property
    def word(self) -> str:
        """The original word."""
        return self.sentence.words[self.position]

    def seen(self, view: View) -> "Slot":
        """Return the same word in what a part sees of a pair: its text, or both as one."""
        if view == "text":
            return self
        return Slot(self.id, self.sentence.joined, len(self.sentence.context) + self.position)

    @property
    def analysis(self) -> tuple[str, str] | None:
        """The word's universal tag and features; None where the sentence has no features."""
        return self.sentence.analyses[self.position] if self.sentence.feats else None

    def tagged(self, tagset: Tagset | None) -> tuple[Tagset, str]:
        """Return a tagset, by default the sentence's own, and the word's tag in it, or nothing."""
        tagset = tagset or self.sentence.tagset
        tags = self.sentence.tagged(tagset)
        return tagset, tags[self.position] if tags else ""


class CandidateGenerator(Part, ABC):
    """Proposes words for slots; only `propose` must be defined.

    The engine fits casing and drops duplicates and the original word.

    Attributes:
        CACHES: arguments that name files to which the generator writes what it has made.
        draws: whether the candidates depend on (seed, id) in addition to sentence and position.
        verbatim: whether candidates keep their own casing instead of taking on the original's.
    """

    CACHES: ClassVar[tuple[str, ...]] = ()
    without_tags = "take candidates that need none, such as those of MaskedLM"
    draws: bool = True
    verbatim: bool = False

    @abstractmethod
    def propose(self, slots: Sequence[Slot], seed: int) -> list[list[str]]:
        """Propose candidates for each slot, independent of the other slots.

        They come best first, or in the order drawn (`randomness.stream`).
        """

    def for_victim(self, victim: Victim) -> "CandidateGenerator":
        """Return the generator to use against a victim, on which the candidates may depend."""
        return self

    def without_victim(self, remedy: str) -> InputError:
        """Return the error of a generator whose words are a victim's, if it was given none."""
        return InputError(
            "proposes the words of a victim, and there is none here", key=self.name(), remedy=remedy
        )

    def fingerprint(self) -> str:
        """Return a text that changes with every setting and file the candidates depend on.

        Only a cache asks for it.

        Raises:
            InputError: the generator has none, as here.
        """
        raise InputError(
            f"{self.name()} cannot be cached, as it has no fingerprint",
            remedy="define fingerprint() in it, or use it without CachedCandidates",
        )

    def name(self) -> str:
        """Return the name under which its candidates are counted."""
        return type(self).__name__
