"""Candidates by editing characters: typing errors, and the character attack of Zheng et al. 2020.

Random choices follow from (seed, sentence id, position). Casing is not adapted: a character may
become any other of the alphabet. A letter with its marks, such as an accent or a vowel sign, is one
character. Blanks, which words of some treebanks have, stay.
"""

import string
from collections.abc import Callable, Sequence

from robustparse.attacks.candidates.generator import CandidateGenerator, Slot
from robustparse.attacks.candidates.union import blanks
from robustparse.attacks.victim import Victim
from robustparse.errors import InputError, check_least
from robustparse.graphemes import graphemes
from robustparse.randomness import stream

ALPHANUMERIC = string.ascii_letters + string.digits


class CharacterVariant(CandidateGenerator):
    """Proposes one candidate per slot, with one random character replaced by another.

    The character variant of the black-box attack of Zheng et al. 2020 (released code): the
    character and its substitute are drawn uniformly.

    Args:
        alphabet: the possible substitutes (their code: letters and digits that the victim knows).

    Raises:
        InputError: the alphabet has fewer than two characters, one of them twice, or a blank.
    """

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

    Raises:
        InputError: an unknown kind or none, sample below 1, or an alphabet as above.
    """

    verbatim = True

    def __init__(
        self,
        *,
        edits: list[str] | None = None,
        sample: int | None = 50,
        alphabet: str | None = string.ascii_lowercase,
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
        self.sample = sample
        self.draws = sample is not None
        self.alphabet = alphabet if alphabet is None else _checked_alphabet(alphabet)

    def for_victim(self, victim: Victim) -> CandidateGenerator:
        """See `CandidateGenerator.for_victim`."""
        if self.alphabet is not None:
            return self
        known = {character for word in victim.training_words for character in graphemes(word)}
        alphabet = sorted(c for c in known if len(c) == 1 and not c.isspace())
        return CharacterEdits(edits=self.edits, sample=self.sample, alphabet="".join(alphabet))

    def propose(self, slots: Sequence[Slot], seed: int) -> list[list[str]]:
        """See `CandidateGenerator.propose`."""
        if self.alphabet is None:
            raise self.without_victim("give it an alphabet")
        return [self._draw(self.alphabet, slot, seed) for slot in slots]

    def _draw(self, alphabet: str, slot: Slot, seed: int) -> list[str]:
        # Different edits may give the same word, such as "aab" from "ab"; it counts once.
        characters = graphemes(slot.word)
        made = dict.fromkeys(
            word for kind in self.edits for word in _EDITS[kind](characters, alphabet)
        )
        made.pop(slot.word, None)
        words = list(made)
        if kept := blanks(slot.word):
            words = [word for word in words if blanks(word) == kept]
        if self.sample is None:
            return words
        order = stream(seed, slot.id, 1 + slot.position).permutation(len(words))[: self.sample]
        return [words[index] for index in order.tolist()]

    def fingerprint(self) -> str:
        """See `CandidateGenerator.fingerprint`."""
        return f"CharacterEdits {self.edits} {self.sample} {self.alphabet}"


def _insertions(word: Sequence[str], alphabet: str) -> list[str]:
    places = range(len(word) + 1)
    return ["".join([*word[:at], new, *word[at:]]) for at in places for new in alphabet]


def _deletions(word: Sequence[str], _alphabet: str) -> list[str]:
    places = range(len(word)) if len(word) > 1 else ()
    return ["".join([*word[:at], *word[at + 1 :]]) for at in places]


def _swaps(word: Sequence[str], _alphabet: str) -> list[str]:
    places = range(len(word) - 1)
    return ["".join([*word[:at], word[at + 1], word[at], *word[at + 2 :]]) for at in places]


def _substitutions(word: Sequence[str], alphabet: str) -> list[str]:
    places = range(len(word))
    return ["".join([*word[:at], new, *word[at + 1 :]]) for at in places for new in alphabet]


_EDITS: dict[str, Callable[[Sequence[str], str], list[str]]] = {
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
