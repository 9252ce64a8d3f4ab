"""Candidates that should not change a label: other names, places, numbers and contractions.

The invariance tests of CheckList (Ribeiro et al. 2020). Where CheckList finds entities by a tagger,
these are found by lists; only entities of one word are replaced.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Literal, get_args

from robustparse.attacks.candidates.generator import CandidateGenerator, Slot
from robustparse.casing import casing_of
from robustparse.errors import InputError, check_choice, check_least
from robustparse.types import Example, LogicalForm

Kind = Literal["names", "places", "numbers"]

_LISTS: dict[Kind, tuple[str, ...]] = {
    "names": ("men", "women", "last names"),
    "places": ("countries", "cities"),
}
_SHARE = 0.2  # numbers change by a fifth at most
_KEPT = (2, 4)  # they often stand for "to" and "for"


class NamedEntities(CandidateGenerator):
    """Proposes other names, places and numbers in the place of such ones.

    A first name gives way to another one of the same list (men or women), a last name to a last
    name, a country to a country and a city to a city; a whole number to one that differs by a fifth
    at most. Names of lower-cased texts are found, too, but not names that are also other words
    unless they are capitalised or tagged as a proper noun. The lists are English and lie in
    `named_entities.txt`, with their source and licence.

    Args:
        kinds: `names`, `places`, `numbers`; by default all three.
        sample: candidates per slot, drawn uniformly (CheckList: 10 for numbers; TextAttack: 3);
            None takes all.

    Raises:
        InputError: an unknown kind or none, or sample below 1.
    """

    def __init__(self, *, kinds: list[str] | None = None, sample: int | None = 10) -> None:
        self.kinds = list(get_args(Kind)) if kinds is None else list(kinds)
        for kind in self.kinds:
            check_choice("named entities: kinds", kind, get_args(Kind))
        if not self.kinds:
            raise InputError("got none", key="named entities: kinds", expected="at least one")
        check_least("named entities", sample=sample)
        self.sample = sample
        self.draws = sample is not None

    def warnings(self, examples: Sequence[Example]) -> Iterator[str]:
        """Warn about logical forms, which would have to change with the names in them."""
        if any(isinstance(example.gold, LogicalForm) for example in examples):
            yield (
                "named entities: logical forms may hold the names and numbers of their sentences; "
                "another name then makes the form wrong"
            )

    def propose(self, slots: Sequence[Slot], seed: int) -> list[list[str]]:
        """See `CandidateGenerator.propose`."""
        return [self._draw(slot, seed) for slot in slots]

    def _draw(self, slot: Slot, seed: int) -> list[str]:
        words = self._others(slot)
        return slot.drawn(words, self.sample, seed)

    def _others(self, slot: Slot) -> list[str]:
        word = slot.word
        if word.isdecimal() and word.isascii():
            return _numbers(int(word)) if "numbers" in self.kinds else []
        for kind in ("names", "places"):
            for name in _LISTS[kind] if kind in self.kinds and _may_be_a_name(slot) else ():
                members = _lists()[name]
                if word.lower() in members:
                    return [other for key, other in members.items() if key != word.lower()]
        return []

    def fingerprint(self) -> str:
        """See `CandidateGenerator.fingerprint`."""
        return f"NamedEntities {self.kinds} {self.sample}"


# Names that are other words in lower case.
_WORDS = frozenset(
    (
        *("mark", "frank", "carol", "brown", "white", "young", "king", "hill", "green", "baker"),
        *("hall", "walker", "parker", "turner", "turkey", "china", "phoenix"),
    )
)


def _may_be_a_name(slot: Slot) -> bool:
    tag = slot.tagged(None)[1]
    if tag:
        return tag in ("NNP", "NNPS", "PROPN")
    return casing_of(slot.word) != "lower" or slot.word not in _WORDS


def _numbers(number: int) -> list[str]:
    """Return the positive numbers that differ by a fifth at most, rounded down, and by one."""
    if number in _KEPT:
        return []
    change = int(number * _SHARE) + 1
    others = range(max(1, number - change), number + change + 1)
    return [str(other) for other in others if other != number]


@cache
def _lists() -> Mapping[str, Mapping[str, str]]:
    """Map each list to {lower-cased word: word}."""
    text = (files(__package__) / "named_entities.txt").read_text(encoding="utf-8")
    lines = (line.partition(":") for line in text.splitlines() if line[:1] != "#")
    return {name: {word.lower(): word for word in words.split()} for name, _, words in lines}


_VERBS = frozenset(
    (
        *("do", "does", "did", "is", "are", "was", "were", "have", "has", "had"),
        *("would", "could", "should", "must", "might", "need"),
    )
)
_CLITICS = {
    "'m": ("am", ("i",)),
    "'re": ("are", ("you", "we", "they")),
    "'ve": ("have", ("i", "you", "we", "they")),
    "'ll": ("will", ("i", "you", "he", "she", "it", "we", "they", "that", "there")),
}


class ContractedForms(CandidateGenerator):
    """Proposes "n't" for "not" and the reverse, and the like for "am", "are", "have" and "will".

    For texts whose contractions are two words, as treebanks and tokenised corpora have them: "do
    n't", "they 're". English only.
    """

    draws = False

    def propose(self, slots: Sequence[Slot], seed: int) -> list[list[str]]:
        """See `CandidateGenerator.propose`."""
        return [self._other(slot) for slot in slots]

    def _other(self, slot: Slot) -> list[str]:
        words, at = slot.sentence.words, slot.position
        word, before = words[at].lower(), words[at - 1].lower() if at else ""
        if before in _VERBS:
            other = {"not": "n't", "n't": "not"}.get(word)
            return [other] if other else []
        for clitic, (full, subjects) in _CLITICS.items():
            if before in subjects and word in (clitic, full):
                return [full if word == clitic else clitic]
        return []

    def fingerprint(self) -> str:
        """See `CandidateGenerator.fingerprint`."""
        return "ContractedForms"
