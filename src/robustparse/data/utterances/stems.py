"""Stems, which corpora of semantic parsing hold instead of words (Snowball, English)."""

import re
from collections.abc import Iterable, Sequence
from functools import cache

from robustparse.data.reading import Reading

# Endings that are common in stems and rare in English words: citi, serv, peopl, bridg, nc.
_ONLY_STEMS = re.compile(
    r"(?=[a-z]{4})[a-z]*[aeiouy][a-z]*(?:[^aeiouy]i|v|[bcdfgkptz]l|dg|[^aeiouy]c)"
)


@cache
def stem(word: str) -> str:
    """Return the stem of a word, in lower case."""
    from nltk.stem.snowball import SnowballStemmer

    stemmed: str = SnowballStemmer("english").stem(word)
    return stemmed


def are_stems(words: Iterable[str]) -> bool | None:
    """Tell whether the words of a corpus are stems; None if that is undecided.

    Compares the number of words that only a stemmer writes (``everi``) with the number of words
    that a stemmer would change (``every``). Stems can count as the latter (``pleas``), because
    stemming a stem may change it again.
    """
    spelled = {word for word in words if re.fullmatch("[a-z]+", word)}
    stems = {word for word in spelled if _ONLY_STEMS.fullmatch(word)}
    others = {word for word in spelled - stems if stem(word) != word}
    return None if len(stems) == len(others) else len(stems) > len(others)


class StemReading(Reading):
    """A text of stems without raw words; candidates are stemmed before they replace a word."""

    plain = False

    def candidates(self, index: int, words: Sequence[str]) -> list[str]:
        """Return the stems of the candidates, each once, without the original."""
        stems = dict.fromkeys(map(stem, words))
        stems.pop(self.words[index], None)
        return [*stems]
