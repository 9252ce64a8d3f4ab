"""The base class of candidate generators, the slots that they fill, and kinds of candidates."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from robustparse.attacks.component import Component
from robustparse.attacks.victim import Victim
from robustparse.errors import InputError
from robustparse.randomness import stream
from robustparse.tagsets import Tagset
from robustparse.types import Sentence, View


@dataclass(frozen=True, slots=True)
class Slot:
    """A word of a sentence that is to be replaced.

    Args:
        id: the example's id; a generator's random choices follow from (seed, id, position).
        sentence: the original sentence; the current one for candidates that follow a change.
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
        """Return the slot in the view of a pair: in its own text, or in both texts joined."""
        if view == "text":
            return self
        return Slot(self.id, self.sentence.joined, len(self.sentence.context) + self.position)

    @property
    def analysis(self) -> tuple[str, str] | None:
        """The word's universal tag and features; None if the sentence has no features."""
        return self.sentence.analyses[self.position] if self.sentence.feats else None

    def tagged(self, tagset: Tagset | None) -> tuple[Tagset, str]:
        """Return a tagset, by default the sentence's own, and the word's tag, empty if untagged."""
        tagset = tagset or self.sentence.tagset
        tags = self.sentence.tagged(tagset)
        return tagset, tags[self.position] if tags else ""

    def drawn(self, words: Sequence[str], sample: int | None, seed: int) -> list[str]:
        """Draw candidates for the slot, uniformly and without replacement; None keeps all."""
        if sample is None:
            return list(words)
        order = stream(seed, self.id, 1 + self.position).permutation(len(words))[:sample]
        return [words[index] for index in order.tolist()]


class Merged(str):
    """A candidate that takes the place of two words, that of the slot and the next one."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Merged) and str.__eq__(self, other)

    def __hash__(self) -> int:
        return hash((Merged, str(self)))

    def lower(self) -> "Merged":
        """Return the candidate in lower case."""
        return Merged(str(self).lower())


def is_word(candidate: str) -> bool:
    """Tell whether a candidate is one word in the place of one word."""
    return not isinstance(candidate, Merged) and len(candidate.split()) == 1


class CandidateGenerator(Component, ABC):
    """Proposes words for slots; subclasses must define only `propose`.

    The engine adapts the casing and removes duplicates and the original word.

    Attributes:
        CACHES: names of arguments that are paths of cache files.
        draws: whether the candidates depend on (seed, id) in addition to sentence and position.
        verbatim: whether candidates keep their casing instead of taking that of the original.
        spans: whether a candidate may be several words, separated by blanks, or none, or `Merged`.
            Only texts with one answer for the whole text can be attacked with it.
        optional: whether a member of a union with `spans` proposes nothing where words have answers
            of their own, or where the victim reads other words, instead of refusing the attack.
        follows: whether it changes a word that the search has just visited once more, as the
            current sentence has it (BAE-R+I). Only searches that ask for it (`Search.follows`).
        changes: what kind of edit it makes: `words`, `characters`, `insertions`, `merges`,
            `splits` or `deletions`; empty for a group of other generators.
    """

    CACHES: ClassVar[tuple[str, ...]] = ()
    without_tags = "take candidates that need none, such as those of MaskedLM"
    draws: bool = True
    verbatim: bool = False
    spans: bool = False
    optional: ClassVar[bool] = False
    follows: bool = False
    changes: ClassVar[str] = "words"

    @abstractmethod
    def propose(self, slots: Sequence[Slot], seed: int) -> list[list[str]]:
        """Propose candidates for each slot, independently of the other slots.

        The best candidates come first; random ones come in the order drawn (`randomness.stream`).
        """

    def for_victim(self, victim: Victim) -> "CandidateGenerator":
        """Return the generator to use against a victim; candidates may depend on the victim."""
        return self

    def without_victim(self, remedy: str) -> InputError:
        """Return the error of a generator that needs a victim but has none."""
        return InputError(
            "proposes words of the victim, but there is no victim", key=self.name(), remedy=remedy
        )

    def fingerprint(self) -> str:
        """Return a text that changes with every setting and file that affects the candidates.

        Only `CachedCandidates` needs it.

        Raises:
            InputError: the generator defines no fingerprint, as in this base class.
        """
        raise InputError(
            f"{self.name()} cannot be cached, because it has no fingerprint",
            remedy="define fingerprint() in it, or use it without CachedCandidates",
        )

    def name(self) -> str:
        """Return the name of the generator in the candidate counts."""
        return type(self).__name__
