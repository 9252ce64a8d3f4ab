"""Word recognition: unknown words are read as the training words that they misspell.

Attacks on characters turn words into words that a model has never seen. Pruthi et al. (ACL 2019)
put a network that recognizes misspelled words in front of a classifier. Here, a dictionary of the
training words takes its place. It corrects one error a word, of the four kinds of their threat
model.
"""

from collections import defaultdict
from collections.abc import Sequence

from robustparse.casing import cased, casing_of
from robustparse.graphemes import graphemes, is_letters

_SHORTEST = 3  # letters of a recognized word; one error in a shorter word often gives another word


class WordRecognition:
    """Reads a misspelled word as the most frequent training word that it may stand for.

    A word is misspelled by one error: a letter is added, left out or replaced, or two neighbouring
    letters are swapped. Only training words of at least three letters, without other characters,
    are recognized.

    Args:
        words: lower-cased training words, the most frequent first.
    """

    def __init__(self, words: Sequence[str]) -> None:
        self._words, self._known = words, frozenset(words)
        # If one word misspells another, they become equal when at most one letter is removed from
        # each; so words are looked up by these shorter forms.
        self._ranks: dict[str, list[int]] = defaultdict(list)
        for rank, word in enumerate(words):
            if is_letters(word) and len(graphemes(word)) >= _SHORTEST:
                for shorter in _shortened(word):
                    self._ranks[shorter].append(rank)

    def read(self, word: str) -> str:
        """Return the recognized word in the casing of the given one.

        Training words, and words that misspell no training word, are returned unchanged.
        """
        written = word.lower()
        if written in self._known:
            return word
        ranks = {rank for each in _shortened(written) for rank in self._ranks.get(each, ())}
        for rank in sorted(ranks):
            if misspells(written, self._words[rank]):
                return cased(self._words[rank], casing_of(word))
        return word


def misspells(word: str, other: str) -> bool:
    """Tell whether at most one error turns one word into the other."""
    pairs = enumerate(zip(word, other, strict=False))
    same = next((at for at, (a, b) in pairs if a != b), min(len(word), len(other)))
    rest, right = word[same:], other[same:]
    added, left_out, replaced = rest[1:] == right, rest == right[1:], rest[1:] == right[1:]
    swapped = (rest[:2], rest[2:]) == (right[1::-1], right[2:])
    return added or left_out or replaced or swapped


def _shortened(word: str) -> set[str]:
    """Return the word, and the words without one of its letters."""
    return {word, *(word[:at] + word[at + 1 :] for at in range(len(word)))}
