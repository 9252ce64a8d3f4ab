"""Candidates of several generators together, as in Wang et al. 2021, and the casing of candidates.

Wang et al. unite, in this order, sememes, synonyms, embedding neighbours and a masked language
model. Tables and models propose lower case, sentences need their own.
"""

from collections.abc import Iterator, Sequence
from itertools import chain

from robustparse.attacks.candidates.generator import CandidateGenerator, Slot
from robustparse.attacks.victim import Victim
from robustparse.errors import InputError
from robustparse.types import Example


def in_casing_of(original: str, candidates: Sequence[str]) -> list[str]:
    """Put candidates in the casing of the original word (lower, UPPER, Capitalised; else as is).

    Repeats after the first are dropped, and so is the original word in any casing.
    """
    if original.isupper() and len(original) > 1:
        cased = dict.fromkeys(map(str.upper, candidates))
    elif original[:1].isupper():
        cased = dict.fromkeys([word[:1].upper() + word[1:] for word in candidates])
    elif original.islower():
        cased = dict.fromkeys(map(str.lower, candidates))
        cased.pop(original, None)
        return list(cased)
    else:
        cased = dict.fromkeys(candidates)
    lower = original.lower()
    return [word for word in cased if word.lower() != lower]


def as_they_are(original: str, candidates: Sequence[str]) -> list[str]:
    """Drop repeats and the original word itself; casing was chosen on purpose."""
    kept = dict.fromkeys(candidates)
    kept.pop(original, None)
    return list(kept)


def cased(
    generator: CandidateGenerator, slots: Sequence[Slot], proposals: Sequence[Sequence[str]]
) -> list[list[str]]:
    """Put a generator's proposals in the casing of the originals, unless it is verbatim."""
    fitted = as_they_are if generator.verbatim else in_casing_of
    return [fitted(slot.word, some) for slot, some in zip(slots, proposals, strict=True)]


def unite(proposals: Sequence[Sequence[Sequence[str]]]) -> list[list[str]]:
    """Merge each slot's candidates of all generators, keeping the first of all casings."""
    united = []
    for several in zip(*proposals, strict=True):
        words: dict[str, str] = {}  # lower-cased word to the word
        for word in chain.from_iterable(several):
            words.setdefault(word.lower(), word)
        united.append(list(words.values()))
    return united


class Union(CandidateGenerator):
    """Asks all generators; a word that several propose, in any casing, keeps its first place.

    Each generator's words take on the casing of the original, unless it is verbatim.

    Args:
        generators: those asked, in the order of their candidates.
    """

    verbatim = True

    def __init__(self, generators: list[CandidateGenerator]) -> None:
        if not generators:
            raise InputError("the list is empty; give one", key="union: generators")
        self.generators = list(generators)
        self.draws = any(generator.draws for generator in generators)
        self.is_model = any(generator.is_model for generator in generators)
        self.features = next((one.features for one in generators if one.features), None)

    def for_victim(self, victim: Victim) -> CandidateGenerator:
        """See `CandidateGenerator.for_victim`; every member must take the victim."""
        return Union([generator.for_victim(victim) for generator in self.generators])

    def check(self, examples: Sequence[Example]) -> None:
        """Accept sentences each of which at least one generator accepts."""
        for example in examples:
            self._check(example)

    def _check(self, example: Example) -> None:
        for generator in self.generators:
            try:
                generator.check([example])
            except InputError as error:
                refusal = error
            else:
                return
        raise refusal

    def warnings(self, examples: Sequence[Example]) -> Iterator[str]:
        """See `CandidateGenerator.warnings`."""
        for generator in self.generators:
            yield from generator.warnings(examples)

    def propose(self, slots: Sequence[Slot], seed: int) -> list[list[str]]:
        """See `CandidateGenerator.propose`."""
        return unite([cased(each, slots, each.propose(slots, seed)) for each in self.generators])

    def fingerprint(self) -> str:
        """See `CandidateGenerator.fingerprint`."""
        return f"Union {[generator.fingerprint() for generator in self.generators]}"
