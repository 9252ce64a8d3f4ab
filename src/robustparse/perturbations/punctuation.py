"""Punctuation as people leave it out, or put other marks."""

from typing import Literal, get_args

import numpy as np

from robustparse.errors import check_choice
from robustparse.perturbations.perturbation import Perturbation, Rewording
from robustparse.types import Sentence

How = Literal["drop", "change"]

_STOPS = ".!?…。।؟"
# Marks between words; others of Unicode's categories P, as % & @ /, are read aloud.
_MARKS = frozenset(_STOPS + """,;:"'`´“”‘’„«»()[]{}-–—¡¿、，""")
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
}


class FinalStop(Perturbation):
    """Leaves out the full stop, question mark or exclamation mark at the end of a sentence.

    The last word is dropped, or loses the mark where that is not a word of its own.
    """

    def reword(self, sentence: Sentence, rng: np.random.Generator) -> Rewording:
        """See `Perturbation.reword`; a sentence of stops only stays."""
        whole = Rewording.of(sentence.words)
        bare = sentence.words[-1].rstrip(_STOPS)
        if bare:
            return Rewording.of([*sentence.words[:-1], bare])
        return Rewording(whole.words[:-1], whole.origins[:-1]) if len(sentence) > 1 else whole


class Punctuation(Perturbation):
    """Drops all words that are punctuation, or puts another mark in place of each.

    Args:
        how: ``drop``, or ``change`` (into a mark that also occurs in such places: a stop becomes an
            exclamation mark, a bracket another bracket); by default one is drawn for each sentence.

    Raises:
        InputError: neither of the two.
    """

    def __init__(self, *, how: How | None = None) -> None:
        if how is not None:
            check_choice("punctuation: how", how, get_args(How))
        self.how = how

    def reword(self, sentence: Sentence, rng: np.random.Generator) -> Rewording:
        """See `Perturbation.reword`; a sentence of punctuation only loses none."""
        how = self.how or get_args(How)[int(rng.integers(2))]
        if how == "change":
            return Rewording.of([_changed(word, rng) for word in sentence.words])
        kept = [at for at, word in enumerate(sentence.words) if not _MARKS.issuperset(word)]
        if not kept:
            return Rewording.of(sentence.words)
        return Rewording(tuple(sentence.words[at] for at in kept), tuple(kept))


def _changed(word: str, rng: np.random.Generator) -> str:
    others = _OTHERS.get(word)
    return word if others is None else others[int(rng.integers(len(others)))]
