"""Typing errors: letters that are swapped, dropped, inserted, doubled, or hit on a nearby key.

The casing of letters is kept. A letter with its marks, such as an accent or a vowel sign, is one
letter. Numbers, words of fewer than three letters and words with other characters are not changed,
since an error there often gives another word.
"""

import string
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Literal, get_args

import numpy as np

from robustparse.errors import InputError, check_choice
from robustparse.graphemes import graphemes
from robustparse.keyboards import Layout, neighbouring_keys
from robustparse.perturbations.perturbation import WordPerturbation

Slip = Literal["swap", "drop", "insert"]


class Typos(WordPerturbation):
    """Makes one typing error in each drawn word.

    Args:
        edits: the kinds to draw from: ``swap`` two different neighbouring letters, ``drop`` one, or
            ``insert`` one of a to z, or one of the word's own if it has none of these; by default
            all three.
        fraction: see `WordPerturbation`.

    Raises:
        InputError: an unknown kind, or none; or see `WordPerturbation`.
    """

    def __init__(self, *, edits: list[Slip] | None = None, fraction: float = 0.15) -> None:
        for edit in get_args(Slip) if edits is None else edits:
            check_choice("typos: edits", edit, get_args(Slip))
        if edits == []:
            raise InputError("is empty", key="typos: edits", expected="at least one kind")
        self.edits = edits
        super().__init__(fraction=fraction)

    def change(self, word: str, rng: np.random.Generator) -> str:
        """See `WordPerturbation.change`; a word of one repeated letter cannot be swapped."""
        made = [_EDITS[edit](word, rng) for edit in self.edits or get_args(Slip)]
        changed = [new for new in made if new != word]
        return changed[int(rng.integers(len(changed)))] if changed else word


def _swap(word: str, rng: np.random.Generator) -> str:
    letters = graphemes(word)
    places = [at for at, (first, second) in enumerate(pairwise(letters)) if first != second]
    if places:
        at = places[int(rng.integers(len(places)))]
        letters[at : at + 2] = letters[at + 1], letters[at]
    return "".join(letters)


def _drop(word: str, rng: np.random.Generator) -> str:
    letters = graphemes(word)
    del letters[int(rng.integers(len(letters)))]
    return "".join(letters)


def _insert(word: str, rng: np.random.Generator) -> str:
    letters = graphemes(word)
    at = int(rng.integers(len(letters) + 1))
    of_script = string.ascii_lowercase if any(map(str.isascii, letters)) else letters.copy()
    letter = of_script[int(rng.integers(len(of_script)))]
    letters.insert(at, letter.upper() if word.isupper() else letter)
    return "".join(letters)


_EDITS: dict[str, Callable[[str, np.random.Generator], str]] = {
    "swap": _swap,
    "drop": _drop,
    "insert": _insert,
}


class KeyboardSlips(WordPerturbation):
    """Hits a key next to the right one, once in each drawn word.

    Args:
        layout: the keyboard layout, ``qwerty``, ``qwertz`` or ``azerty``.
        fraction: see `WordPerturbation`.

    Raises:
        InputError: there is no such layout; or see `WordPerturbation`.
    """

    def __init__(self, *, layout: Layout = "qwerty", fraction: float = 0.15) -> None:
        check_choice("keyboard_slips: layout", layout, get_args(Layout))
        self.layout = layout
        self._near = neighbouring_keys(layout)
        super().__init__(fraction=fraction)

    def can_change(self, word: str) -> bool:
        """Tell whether a word has at least three letters, one of them on the keyboard."""
        return super().can_change(word) and bool(self._places(graphemes(word)))

    def change(self, word: str, rng: np.random.Generator) -> str:
        """See `WordPerturbation.change`."""
        letters = graphemes(word)
        places = self._places(letters)
        at = places[int(rng.integers(len(places)))]
        near = self._near[letters[at].lower()]
        key = near[int(rng.integers(len(near)))]
        letters[at] = key.upper() if letters[at].isupper() else key
        return "".join(letters)

    def _places(self, letters: Sequence[str]) -> list[int]:
        """Return where letters of the keyboard are."""
        return [at for at, letter in enumerate(letters) if letter.lower() in self._near]


class DoubledLetters(WordPerturbation):
    """Writes one letter of each drawn word twice.

    Args:
        fraction: see `WordPerturbation`.
    """

    def change(self, word: str, rng: np.random.Generator) -> str:
        """See `WordPerturbation.change`."""
        letters = graphemes(word)
        at = int(rng.integers(len(letters)))
        letters.insert(at, letters[at])
        return "".join(letters)
