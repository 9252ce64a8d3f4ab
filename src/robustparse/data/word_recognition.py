"""Word recognition: unknown words are read as the training words that they misspell.

Attacks on characters turn words into words that a model has never seen. Pruthi et al. (ACL 2019)
put a network that recognizes misspelled words in front of a classifier. This is the smallest
recognizer of this kind: a dictionary of the training words, and the four errors of their threat
model, of which a word has at most one.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from robustparse.casing import cased, casing_of
from robustparse.graphemes import graphemes, is_letters

_SHORTEST = 3  # letters of a word that is recognized; an error in shorter ones gives another word


class WordRecognition:
    """Reads a misspelled word as the most frequent training word that it may stand for.

    A word is misspelled by one error: a letter is added, left out or replaced, or two neighbouring
    letters are swapped. Words of fewer than three letters, or with other characters, are never
    recognized.

    Args:
        words: lower-cased training words, the most frequent first.
    """

    def __init__(self, words: Sequence[str]) -> None:
        self._words, self._known = words, frozenset(words)
        # An error changes at most one letter of either word, or swaps two: without one letter each,
        # they are equal.
        self._ranks: dict[str, list[int]] = defaultdict(list)
        for rank, word in enumerate(words):
            if is_letters(word) and len(graphemes(word)) >= _SHORTEST:
                for shorter in _shortened(word):
                    self._ranks[shorter].append(rank)

    def read(self, word: str) -> str:
        """Return the recognized word in the casing of the given one.

        Training words, and those that misspell none of them, are returned as they are.
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
    rest, others = word[same:], other[same:]
    swapped = rest[:2] == others[1::-1] and rest[2:] == others[2:]
    return swapped or rest[1:] in (others, others[1:]) or rest == others[1:]


def _shortened(word: str) -> Iterator[str]:
    """Yield the word, and the word without each of its letters."""
    return iter({word, *(word[:at] + word[at + 1 :] for at in range(len(word)))})
