"""Candidates of several generators together, as in Wang et al. 2021.

They unite, in this order, sememes, synonyms, embedding neighbours and a masked language model.
"""

from collections.abc import Sequence
from itertools import chain

from robustparse.attacks.candidates.casing import as_they_are, in_casing_of
from robustparse.attacks.candidates.generator import CandidateGenerator, Slot
from robustparse.attacks.victim import Victim
from robustparse.errors import InputError
from robustparse.types import Example


def cased(
    generator: CandidateGenerator, slots: Sequence[Slot], proposals: Sequence[Sequence[str]]
) -> list[list[str]]:
    """Return a generator's proposals in the casing of the originals, unless it is verbatim."""
    fitted = as_they_are if generator.verbatim() else in_casing_of
    return [fitted(slot.word, some) for slot, some in zip(slots, proposals, strict=True)]


def unite(proposals: Sequence[Sequence[Sequence[str]]]) -> list[list[str]]:
    """Return the candidates of each slot from those of each generator, the first of all casings."""
    united = []
    for several in zip(*proposals, strict=True):
        words: dict[str, str] = {}  # lower-cased word to the word
        for word in chain.from_iterable(several):
            words.setdefault(word.lower(), word)
        united.append(list(words.values()))
    return united


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

    def check(self, examples: Sequence[Example]) -> None:
        """See `CandidateGenerator.check`: one generator that can go on is enough."""
        for generator in self.generators:
            try:
                generator.check(examples)
            except InputError as error:
                refusal = error
            else:
                return
        raise refusal

    def propose(self, slots: Sequence[Slot], seed: int) -> list[list[str]]:
        """See `CandidateGenerator.propose`."""
        return unite([cased(each, slots, each.propose(slots, seed)) for each in self.generators])

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
