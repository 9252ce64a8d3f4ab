"""English contractions: "do not" becomes "don't", and "don't" becomes "do not".

Tokenised corpora write a contraction as two words ("do n't", "I 'm"), which keeps their number;
texts that are split at blanks write one. Only what has one reading is changed: "'s" and "'d" are
never written out, and nothing is moved, so that "Don't you know" and "Isn't it" stay.
"""

from collections.abc import Sequence

import numpy as np

from robustparse.perturbations.perturbation import Perturbation, Rewording
from robustparse.types import Sentence

# What stands before "not", and before "n't" where that is another form.
_VERBS = {
    verb: verb
    for verb in (
        *("do", "does", "did", "is", "are", "was", "were", "have", "has", "had"),
        *("would", "could", "should", "must", "might", "need"),
    )
} | {"can": "ca", "will": "wo", "shall": "sha"}
_FULL = {short: full for full, short in _VERBS.items()}
_CLITICS = {"am": "'m", "are": "'re", "is": "'s", "will": "'ll", "would": "'d"}
_WRITTEN_OUT = {"'m": "am", "'re": "are", "'ve": "have", "'ll": "will"}
_SUBJECTS = {
    "i": ("am", "will", "would"),
    **dict.fromkeys(("you", "we", "they"), ("are", "will", "would")),
    **dict.fromkeys(("he", "she", "it", "that", "there"), ("is", "will", "would")),
    **dict.fromkeys(("who", "what"), ("is",)),
}
_PRONOUNS = frozenset(_SUBJECTS) | {"this", "these", "those"}


class Contractions(Perturbation):
    """Contracts what is written out, and writes out what is contracted, wherever it can.

    Args:
        joined: contract into one word, as in texts that are split at blanks. Contractions that are
            one word are written out either way.
    """

    def __init__(self, *, joined: bool = False) -> None:
        self.joined = joined

    def reword(self, sentence: Sentence, rng: np.random.Generator) -> Rewording:
        """See `Perturbation.reword`; nothing is drawn."""
        words = sentence.words
        plain = [word.lower().replace("’", "'") for word in words] + ["", ""]
        new: list[str] = []
        origins: list[int] = []
        at = 0
        while at < len(words):
            if pair := _contracted(plain, at) or _written_out(plain, at):
                pair = (_cased(pair[0], words[at]), _cased(pair[1], words[at + 1]))
                joins = self.joined and "'" in pair[1]
                new += ["".join(pair)] if joins else pair
                origins += [at] if joins else [at, at + 1]
                at += 2
                continue
            full = _full_words(plain, at) or [words[at]]
            new += [_cased(full[0], words[at]), *full[1:]]
            origins += [at] * len(full)
            at += 1
        return Rewording(tuple(new), tuple(origins))


def _contracted(plain: Sequence[str], at: int) -> tuple[str, str] | None:
    """Return a verb and "not", or a pronoun and a verb, contracted; the clause must continue."""
    word, following, after = plain[at : at + 3]
    if word in _VERBS and following == "not":
        return _VERBS[word], "n't"
    negated = after == "not" and following in _VERBS  # "it isn't", not "it's not"
    if following in _SUBJECTS.get(word, ()) and after.isalpha() and not negated:
        return word, _CLITICS[following]
    return None


def _written_out(plain: Sequence[str], at: int) -> tuple[str, str] | None:
    """Return a verb and "n't" written out, unless its subject follows."""
    word, following, after = plain[at : at + 3]
    if word in _FULL and following == "n't" and after not in _PRONOUNS:
        return _FULL[word], "not"
    return None


def _full_words(plain: Sequence[str], at: int) -> list[str]:
    """Return what the contraction in one word stands for; nothing if it is none."""
    word, following = plain[at : at + 2]
    if at > 0 and word in _WRITTEN_OUT:
        return [_WRITTEN_OUT[word]]
    if word.endswith("n't") and word[:-3] in _FULL and following not in _PRONOUNS:
        return [_FULL[word[:-3]], "not"]
    stem, apostrophe, rest = word.partition("'")
    if stem in _SUBJECTS and apostrophe + rest in _WRITTEN_OUT:
        return [stem, _WRITTEN_OUT[apostrophe + rest]]
    return []


def _cased(new: str, old: str) -> str:
    """Return a word in the casing of another: all capitals, a capital first, or as it is."""
    if old.isupper() and len(old) > 1:
        return new.upper()
    return new[:1].upper() + new[1:] if old[:1].isupper() else new
