"""Candidates by editing characters: typing errors, and the character attack of Zheng et al. 2020.

Random choices follow from (seed, sentence id, position). Casing is not adapted: a character may
become any other of the alphabet. A letter with its marks, such as an accent or a vowel sign, is one
character. Blanks, which words of some treebanks have, stay.
"""

import string
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Literal, get_args

from robustparse.attacks.candidates.generator import CandidateGenerator, Slot
from robustparse.attacks.candidates.union import blanks
from robustparse.attacks.component import training_words
from robustparse.attacks.victim import Victim
from robustparse.errors import InputError, check_choice, check_least
from robustparse.graphemes import graphemes
from robustparse.randomness import stream

ALPHANUMERIC = string.ascii_letters + string.digits

Per = Literal["word", "edit"]


class CharacterVariant(CandidateGenerator):
    """Proposes one candidate per slot, with one random character replaced by another.

    The character variant of the black-box attack of Zheng et al. 2020 (released code): the
    character and its substitute are drawn uniformly.

    Args:
        alphabet: the possible substitutes (their code: letters and digits that the victim knows).

    Raises:
        InputError: the alphabet has fewer than two characters, one of them twice, or a blank.
    """

    changes = "characters"
    verbatim = True

    def __init__(self, *, alphabet: str = ALPHANUMERIC) -> None:
        self.alphabet = _checked_alphabet(alphabet)

    def propose(self, slots: Sequence[Slot], seed: int) -> list[list[str]]:
        """See `CandidateGenerator.propose`."""
        return [self._draw(slot, seed) for slot in slots]

    def _draw(self, slot: Slot, seed: int) -> list[str]:
        rng, characters = stream(seed, slot.id, 1 + slot.position), graphemes(slot.word)
        places = [at for at, character in enumerate(characters) if not character.isspace()]
        at = places[int(rng.integers(len(places)))]
        others = self.alphabet.replace(characters[at], "")
        characters[at] = others[int(rng.integers(len(others)))]
        return ["".join(characters)]

    def fingerprint(self) -> str:
        """See `CandidateGenerator.fingerprint`."""
        return f"CharacterVariant {self.alphabet}"


class CharacterEdits(CandidateGenerator):
    """Proposes words at edit distance one, drawn uniformly without replacement.

    Args:
        edits: the kinds of edit: `insert` a character anywhere, `delete` one (never the only
            one), `swap` two neighbours, `substitute` one by another; by default all four.
        sample: candidates per slot; None takes all, ordered by kind, then by position.
        alphabet: the characters to insert and substitute; None takes the characters of the victim's
            training words (lower-cased, seen at least twice), except those with marks.
        inner: whether the first and the last character stay where they are (Pruthi et al. 2019; Li
            et al. 2018).
        per: whether `sample` counts the candidates of a `word`, or those of each kind of `edit` (Li
            et al. 2018 draw one of each kind).

    Raises:
        InputError: an unknown kind or none, sample below 1, or an alphabet as above.
    """

    changes = "characters"
    verbatim = True

    def __init__(
        self,
        *,
        edits: list[str] | None = None,
        sample: int | None = 50,
        alphabet: str | None = string.ascii_lowercase,
        inner: bool = False,
        per: Per = "word",
    ) -> None:
        self.edits = list(_EDITS) if edits is None else list(edits)
        unknown = sorted(set(self.edits) - set(_EDITS))
        if unknown or not self.edits:
            raise InputError(
                f"got {', '.join(unknown) or 'none'}",
                key="character edits: edits",
                expected=f"some of {', '.join(_EDITS)}",
            )
        check_least("character edits", sample=sample)
        check_choice("character edits: per", per, get_args(Per))
        self.sample, self.inner = sample, inner
        self.per: Per = per
        self.draws = sample is not None
        self.alphabet = alphabet if alphabet is None else _checked_alphabet(alphabet)
        if alphabet is None and {"insert", "substitute"}.isdisjoint(self.edits):
            self.alphabet = ""  # no edit needs a character of it

    def for_victim(self, victim: Victim) -> CandidateGenerator:
        """See `CandidateGenerator.for_victim`."""
        if self.alphabet is not None:
            return self
        words = training_words(victim, self)
        known = {character for word in words for character in graphemes(word)}
        alphabet = sorted(c for c in known if len(c) == 1 and not c.isspace())
        return CharacterEdits(
            edits=self.edits,
            sample=self.sample,
            alphabet="".join(alphabet),
            inner=self.inner,
            per=self.per,
        )

    def propose(self, slots: Sequence[Slot], seed: int) -> list[list[str]]:
        """See `CandidateGenerator.propose`."""
        if self.alphabet is None:
            raise self.without_victim("give it an alphabet")
        return [self._draw(self.alphabet, slot, seed) for slot in slots]

    def _draw(self, alphabet: str, slot: Slot, seed: int) -> list[str]:
        characters = graphemes(slot.word)
        edges = (characters[:1], characters[1:-1], characters[-1:])
        before, edited, after = edges if self.inner else ([], characters, [])
        if self.inner and len(characters) < 3:
            return []
        kept = blanks(slot.word)
        made: list[list[str]] = []
        for kind in self.edits:
            words = ["".join([*before, *new, *after]) for new in _EDITS[kind](edited, alphabet)]
            # Different edits may give the same word, such as "aab" from "ab"; it counts once.
            distinct = dict.fromkeys(word for word in words if not kept or blanks(word) == kept)
            distinct.pop(slot.word, None)
            made.append([word for word in distinct if word])
        if self.per == "word":
            made = [list(dict.fromkeys(chain.from_iterable(made)))]
        if self.sample is None:
            return list(dict.fromkeys(chain.from_iterable(made)))
        rng, drawn = stream(seed, slot.id, 1 + slot.position), list[str]()
        for words in made:
            order = rng.permutation(len(words))[: self.sample]
            drawn += [words[index] for index in order.tolist()]
        return list(dict.fromkeys(drawn))

    def fingerprint(self) -> str:
        """See `CandidateGenerator.fingerprint`."""
        changed = " inner" * self.inner + " per edit" * (self.per == "edit")
        return f"CharacterEdits {self.edits} {self.sample} {self.alphabet}{changed}"


def _insertions(word: Sequence[str], alphabet: str) -> list[list[str]]:
    places = range(len(word) + 1)
    return [[*word[:at], new, *word[at:]] for at in places for new in alphabet]


def _deletions(word: Sequence[str], _alphabet: str) -> list[list[str]]:
    return [[*word[:at], *word[at + 1 :]] for at in range(len(word))]


def _swaps(word: Sequence[str], _alphabet: str) -> list[list[str]]:
    places = range(len(word) - 1)
    return [[*word[:at], word[at + 1], word[at], *word[at + 2 :]] for at in places]


def _substitutions(word: Sequence[str], alphabet: str) -> list[list[str]]:
    places = range(len(word))
    return [[*word[:at], new, *word[at + 1 :]] for at in places for new in alphabet]


_EDITS: dict[str, Callable[[Sequence[str], str], list[list[str]]]] = {
    "insert": _insertions,
    "delete": _deletions,
    "swap": _swaps,
    "substitute": _substitutions,
}


def _checked_alphabet(alphabet: str) -> str:
    if not 2 <= len(alphabet) == len(set(alphabet)) or any(map(str.isspace, alphabet)):
        raise InputError(
            f"got {alphabet!r}",
            key="characters: alphabet",
            expected="at least two characters, none of them a blank or repeated",
        )
    return alphabet
