"""Candidates of several generators together, as in Wang et al. 2021.

They unite, in this order, sememes, synonyms, embedding neighbours and a masked language model.
"""

from collections.abc import Sequence

from robustparse.attacks.candidates.casing import as_they_are, in_casing_of
from robustparse.attacks.candidates.generator import CandidateGenerator, Slot
from robustparse.attacks.victim import Victim
from robustparse.errors import InputError


class Union(CandidateGenerator):
    """Asks all generators; a word proposed by several, in any casing, comes where it comes first.

    Each generator's words take on the casing of the original, unless it wants them as they are.

    Args:
        generators: whom to ask, in the order of their candidates.

    Raises:
        InputError: there is none.
    """

    def __init__(self, generators: list[CandidateGenerator]) -> None:
        if not generators:
            raise InputError("union of candidates: the list of generators is empty; give one")
        self.generators = list(generators)

    def for_victim(self, victim: Victim) -> CandidateGenerator:
        """See `CandidateGenerator.for_victim`."""
        return Union([generator.for_victim(victim) for generator in self.generators])

    def propose(self, slots: Sequence[Slot], seed: int) -> list[list[str]]:
        """See `CandidateGenerator.propose`."""
        united: list[dict[str, str]] = [{} for _ in slots]  # lower-cased word to the word
        for generator in self.generators:
            cased = as_they_are if generator.verbatim() else in_casing_of
            proposals = generator.propose(slots, seed)
            for slot, words, proposal in zip(slots, united, proposals, strict=True):
                for word in cased(slot.word, proposal):
                    words.setdefault(word.lower(), word)
        return [list(words.values()) for words in united]

    def verbatim(self) -> bool:
        """See `CandidateGenerator.verbatim`."""
        return True

    def fingerprint(self) -> str:
        """See `CandidateGenerator.fingerprint`."""
        return f"Union {[generator.fingerprint() for generator in self.generators]}"

    def draws(self) -> bool:
        """See `CandidateGenerator.draws`."""
        return any(generator.draws() for generator in self.generators)

    def is_model(self) -> bool:
        """See `CandidateGenerator.is_model`."""
        return any(generator.is_model() for generator in self.generators)
