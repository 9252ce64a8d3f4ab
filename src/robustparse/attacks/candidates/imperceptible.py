"""Candidates that look like the word but are encoded in another way (Boucher et al. 2021)."""

import string
from collections.abc import Callable, Sequence
from itertools import chain

from robustparse.attacks.candidates.generator import CandidateGenerator, Merged, Slot
from robustparse.errors import InputError, check_least
from robustparse.graphemes import graphemes

_ZERO_WIDTH = "\u200b\u200c\u200d"  # space, non-joiner, joiner
# Controls of the bidirectional algorithm: overrides, isolates, and what ends each of them.
_LRO, _RLO, _PDF, _LRI, _PDI = "\u202d", "\u202e", "\u202c", "\u2066", "\u2069"
_BACKSPACE = "\x08"
_DELETED = string.ascii_letters + string.digits + string.punctuation


class ImperceptibleEdits(CandidateGenerator):
    """Proposes words with one encoding trick that a reader does not see.

    Homoglyphs, the fourth kind of the paper, are proposed by `Homoglyphs`.

    Args:
        kinds: `invisible` inserts a character without width before a letter; `reorderings`
            exchanges two neighbours and adds controls that exchange them back on the screen;
            `deletions` inserts a character and a backspace. By default all three.
        sample: candidates per slot, drawn uniformly; None takes all, ordered by kind, then by
            position.
        blanks: whether reorderings also exchange a blank with the character before or after it, as
            TextAttack does, which changes two words. Only for texts with one answer for the whole
            text.

    Raises:
        InputError: an unknown kind or none, or sample below 1.
    """

    verbatim = True
    changes = "characters"

    def __init__(
        self,
        *,
        kinds: list[str] | None = None,
        sample: int | None = None,
        blanks: bool = False,
    ) -> None:
        self.kinds = list(_KINDS) if kinds is None else list(kinds)
        unknown = sorted(set(self.kinds) - set(_KINDS))
        if unknown or not self.kinds:
            raise InputError(
                f"got {', '.join(unknown) or 'none'}",
                key="imperceptible edits: kinds",
                expected=f"some of {', '.join(_KINDS)}",
            )
        check_least("imperceptible edits", sample=sample)
        self.sample = sample
        self.draws = sample is not None
        self.blanks = self.spans = blanks

    def propose(self, slots: Sequence[Slot], seed: int) -> list[list[str]]:
        """See `CandidateGenerator.propose`."""
        return [self._draw(slot, seed) for slot in slots]

    def _draw(self, slot: Slot, seed: int) -> list[str]:
        characters = graphemes(slot.word)
        words = list(chain.from_iterable(_KINDS[kind](characters) for kind in self.kinds))
        after = slot.sentence.words[slot.position + 1 :][:1]
        if self.blanks and after and "reorderings" in self.kinds:
            words += _reordered_blanks(characters, graphemes(after[0]))
        return slot.drawn(words, self.sample, seed)

    def fingerprint(self) -> str:
        """See `CandidateGenerator.fingerprint`."""
        return f"ImperceptibleEdits {self.kinds} {self.sample}" + " blanks" * self.blanks


def _invisible(word: Sequence[str]) -> list[str]:
    return [
        "".join([*word[:at], new, *word[at:]]) for at in range(len(word)) for new in _ZERO_WIDTH
    ]


def _reorderings(word: Sequence[str]) -> list[str]:
    return [
        "".join([*word[:at], _swapped(word[at + 1], word[at]), *word[at + 2 :]])
        for at in range(len(word) - 1)
    ]


def _reordered_blanks(word: Sequence[str], after: Sequence[str]) -> list[Merged]:
    """Exchange the blank between two words with the character before it, or after it."""
    before = [*word[:-1], _swapped(" ", word[-1]), *after]
    return [Merged("".join(before)), Merged("".join([*word, _swapped(after[0], " "), *after[1:]]))]


def _swapped(first: str, second: str) -> str:
    """Encode two characters so that they are shown in the opposite order."""
    one, other = (f"{_LRI}{each}{_PDI}" for each in (first, second))
    return f"{_LRO}{_LRI}{_RLO}{one}{other}{_PDF}{_PDI}{_PDF}"


def _deletions(word: Sequence[str]) -> list[str]:
    return [
        "".join([*word[:at], new, _BACKSPACE, *word[at:]])
        for at in range(len(word) + 1)
        for new in _DELETED
    ]


_KINDS: dict[str, Callable[[Sequence[str]], list[str]]] = {
    "invisible": _invisible,
    "reorderings": _reorderings,
    "deletions": _deletions,
}
