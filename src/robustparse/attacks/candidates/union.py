"""The union of several generators (Wang et al. 2021), and the casing of candidates.

Wang et al. unite, in this order, sememes, synonyms, embedding neighbours and a masked language
model. Tables and models often propose lower-cased words, which take the casing of the original.
"""

from collections.abc import Iterable, Iterator, Sequence, Set
from itertools import chain
from typing import ClassVar

from robustparse.attacks.candidates.generator import CandidateGenerator, Slot
from robustparse.attacks.victim import Victim
from robustparse.casing import in_casing_of
from robustparse.errors import InputError
from robustparse.types import Example


def verbatim(original: str, candidates: Sequence[str]) -> list[str]:
    """Keep the casing; remove duplicates and the original word."""
    kept = dict.fromkeys(candidates)
    kept.pop(original, None)
    return list(kept)


def cased(
    generator: CandidateGenerator, slots: Sequence[Slot], proposals: Sequence[Sequence[str]]
) -> list[list[str]]:
    """Put a generator's proposals in the casing of the originals, unless it is verbatim.

    Raises:
        InputError: the proposals are not one list of words per slot; only a candidate for a word
            with blanks may have the same blanks.
    """
    adapt = verbatim if generator.verbatim else in_casing_of
    listed = isinstance(proposals, Sequence) and not isinstance(proposals, str)
    if not listed or len(proposals) != len(slots):
        problem = f"returns {repr(proposals)[:60]} for {len(slots)} slots"
        key, expected = f"{generator.name()}.propose", "a list with a list of words for each slot"
        raise InputError(problem, key=key, expected=expected)
    pairs = zip(slots, proposals, strict=True)
    return [adapt(slot.word, _words(generator, slot.word, words)) for slot, words in pairs]


def _words(generator: CandidateGenerator, original: str, proposed: Sequence[str]) -> Sequence[str]:
    """Check the proposals for a word."""
    if generator.spans:
        return proposed
    listed = isinstance(proposed, Iterable) and not isinstance(proposed, str | Set)
    words = [*proposed] if listed else []
    if listed and all(isinstance(word, str) for word in words):
        if "\n".join(words).split() == words:
            return words
        wrong = [word for word in words if not word or blanks(word) not in ([], blanks(original))]
        if not wrong:
            return words
        problem = f"proposes {wrong[0]!r:.60} for {original!r:.60}"
        remedy = "leave out candidates with blanks, and empty ones"
    else:
        problem, remedy = f"proposes {repr(proposed)[:60]} for {original!r:.60}", None
    key = f"{generator.name()}.propose"
    raise InputError(problem, key=key, expected="a list of words", remedy=remedy)


def blanks(word: str) -> list[str]:
    """Return the blanks in a word: some treebanks have words such as ``10 000``."""
    return [character for character in word if character.isspace()]


def unite(proposals: Sequence[Sequence[Sequence[str]]]) -> list[list[str]]:
    """Merge each slot's candidates of all generators; a word counts once, ignoring case."""
    united = []
    for several in zip(*proposals, strict=True):
        words: dict[str, str] = {}  # lower-cased word to the word
        for word in chain.from_iterable(several):
            words.setdefault(word.lower(), word)
        united.append(list(words.values()))
    return united


class GeneratorGroup(CandidateGenerator):
    """The base class of several generators that are used as one.

    Candidates take the casing of the original, except those of verbatim generators.

    Args:
        generators: the members.

    Attributes:
        owner: the group's name in messages.

    Raises:
        InputError: there is no generator.
    """

    owner: ClassVar[str]
    verbatim = True
    changes = ""

    def __init__(self, generators: list[CandidateGenerator]) -> None:
        if not generators:
            raise InputError("empty list", key=f"{self.owner}: generators", expected="at least one")
        self.generators = list(generators)
        self.draws = any(generator.draws for generator in generators)
        self.is_model = any(generator.is_model for generator in generators)
        self.spans = any(generator.spans for generator in generators)
        self.follows = all(generator.follows for generator in generators)
        self.features = next((one.features for one in generators if one.features), None)

    def for_victim(self, victim: Victim) -> CandidateGenerator:
        """See `CandidateGenerator.for_victim`; every member must take the victim."""
        return type(self)([generator.for_victim(victim) for generator in self.generators])

    def prepare(self, victim: Victim) -> None:
        """See `Component.prepare`."""
        for generator in self.generators:
            generator.prepare(victim)

    def warnings(self, examples: Sequence[Example]) -> Iterator[str]:
        """See `CandidateGenerator.warnings`."""
        for generator in self.generators:
            yield from generator.warnings(examples)

    def fingerprint(self) -> str:
        """See `CandidateGenerator.fingerprint`."""
        members = [generator.fingerprint() for generator in self.generators]
        return f"{type(self).__name__} {members}"


class Union(GeneratorGroup):
    """Joins the candidates of several generators, without duplicates (ignoring case).

    Args:
        generators: in the order of their candidates.
    """

    owner = "union"

    def check(self, examples: Sequence[Example]) -> None:
        """Accept sentences that at least one generator accepts."""
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

    def propose(self, slots: Sequence[Slot], seed: int) -> list[list[str]]:
        """See `CandidateGenerator.propose`."""
        return unite([cased(each, slots, each.propose(slots, seed)) for each in self.generators])
