"""The protocol of candidate generators: one batched method over slots."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

from robustparse.attacks.victim import Victim
from robustparse.types import Example, Sentence


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

    @property
    def tag(self) -> str:
        """The corpus' Penn tag of the word, empty where there is none."""
        return self.sentence.xpos[self.position] if self.sentence.xpos else ""


class CandidateGenerator(Protocol):
    """Proposes words for slots. Casing, duplicates and the original word are seen to elsewhere.

    A generator has the four abstract methods: by what they say a cache tells generators apart.
    """

    CACHES: ClassVar[tuple[str, ...]] = ()
    """Arguments that name files in which it keeps what it has made, whatever that is."""

    def check(self, examples: Sequence[Example]) -> None:
        """Refuse sentences that lack what it goes by.

        Raises:
            InputError: names the first such sentence, counted from 1, and what it lacks.
        """
        return  # of a protocol, an empty body would be abstract

    def verbatim(self) -> bool:
        """Whether candidates stand as they are, instead of taking on the original's casing."""
        return False

    def for_victim(self, victim: Victim) -> "CandidateGenerator":
        """Return the generator to use against a victim; it differs only where candidates depend on
        it.
        """
        return self

    def name(self) -> str:
        """Return what figures about its candidates are called by."""
        return type(self).__name__

    @abstractmethod
    def propose(self, slots: Sequence[Slot], seed: int) -> list[list[str]]:
        """Candidates of each slot, best first or in the order drawn; independent of the others."""

    @abstractmethod
    def fingerprint(self) -> str:
        """Return a text that changes with every setting and file the candidates depend on."""

    @abstractmethod
    def draws(self) -> bool:
        """Whether the candidates depend on (seed, id) beside the sentence and the position."""

    @abstractmethod
    def is_model(self) -> bool:
        """Whether a model proposes; its seconds are then reported apart from the victim's."""
