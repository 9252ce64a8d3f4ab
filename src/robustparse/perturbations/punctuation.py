"""Removes or changes punctuation."""

from typing import Literal, get_args

import numpy as np

from robustparse.errors import check_choice
from robustparse.perturbations.perturbation import Perturbation, Rewording
from robustparse.tagsets import BRACKETS
from robustparse.types import Sentence

How = Literal["drop", "change"]

_STOPS = ".!?…。！？．।॥؟۔"
# Punctuation marks. Other characters of Unicode's categories P, such as % & @ /, are read aloud.
_MARKS = frozenset(_STOPS + """,;:"'`´“”‘’„«»()[]{}-–—¡¿、，；：（）「」『』《》،؛""")
_OTHERS = {
    ".": ("!", "...", ";"),
    "!": (".", "!!", "..."),
    "?": (".", "??", "?!"),
    ",": (";", ".", "-"),
    ";": (",", "."),
    ":": ("-", ";"),
    "...": (".", "…"),
    "…": (".", "..."),
    '"': ("'", "“"),
    "'": ('"',),
    "``": ('"',),
    "''": ('"',),
    "“": ('"',),
    "”": ('"',),
    "-": ("–", "--"),
    "--": ("-", "—"),
    "–": ("-",),
    "—": ("-", "--"),
    "(": ("[",),
    ")": ("]",),
    "[": ("(",),
    "]": (")",),
    "-LRB-": ("-LSB-",),
    "-RRB-": ("-RSB-",),
    "-LSB-": ("-LRB-",),
    "-RSB-": ("-RRB-",),
}


class FinalStop(Perturbation):
    """Removes the full stop, question mark or exclamation mark at the end of a sentence.

    If the mark is not a separate word, it is removed from the last word.
    """

    def reword(self, sentence: Sentence, rng: np.random.Generator) -> Rewording:
        """See `Perturbation.reword`; a sentence that is only a stop stays unchanged."""
        whole = Rewording.of(sentence.words)
        bare = sentence.words[-1].rstrip(_STOPS)
        if bare:
            return Rewording.of([*sentence.words[:-1], bare])
        return Rewording(whole.words[:-1], whole.origins[:-1]) if len(sentence) > 1 else whole


class Punctuation(Perturbation):
    """Deletes all words that are punctuation, or replaces each by another mark.

    Args:
        how: ``drop``, or ``change`` to a similar mark (a stop to an exclamation mark, a bracket to
            another bracket); by default one is drawn for each sentence.

    Raises:
        InputError: another value of ``how``.
    """

    def __init__(self, *, how: How | None = None) -> None:
        if how is not None:
            check_choice("punctuation: how", how, get_args(How))
        self.how = how

    def reword(self, sentence: Sentence, rng: np.random.Generator) -> Rewording:
        """See `Perturbation.reword`; a sentence of only punctuation loses no word."""
        how = self.how or get_args(How)[int(rng.integers(2))]
        if how == "change":
            return Rewording.of([_changed(word, rng) for word in sentence.words])
        kept = [at for at, word in enumerate(sentence.words) if not _is_mark(word)]
        if not kept:
            return Rewording.of(sentence.words)
        return Rewording(tuple(sentence.words[at] for at in kept), tuple(kept))


def _is_mark(word: str) -> bool:
    return word in BRACKETS or _MARKS.issuperset(word)


def _changed(word: str, rng: np.random.Generator) -> str:
    others = _OTHERS.get(word)
    return word if others is None else others[int(rng.integers(len(others)))]
