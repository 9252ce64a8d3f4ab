"""Stems: what corpora of semantic parsing have in place of words (Snowball for English)."""

import re
from collections.abc import Iterable, Sequence
from functools import cache

from robustparse.data.reading import Reading

# Endings that the stemmer leaves and that English words hardly have: citi, serv, peopl, bridg, nc.
_ONLY_STEMS = re.compile(
    r"(?=[a-z]{4})[a-z]*[aeiouy][a-z]*(?:[^aeiouy]i|v|[bcdfgkptz]l|dg|[^aeiouy]c)"
)


@cache
def stem(word: str) -> str:
    """Return the stem of a word, in lower case."""
    from nltk.stem.snowball import SnowballStemmer

    found: str = SnowballStemmer("english").stem(word)
    return found


def are_stems(words: Iterable[str]) -> bool | None:
    """Tell whether the distinct words of a corpus are stems; None if they do not show it.

    Words that only a stemmer writes (``everi``) are counted against those that it would not leave
    as they are (``every``). A stem may be one of the latter (``pleas``), as stems are not stemmed
    twice.
    """
    spelled = {word for word in words if re.fullmatch("[a-z]+", word)}
    stems = {word for word in spelled if _ONLY_STEMS.fullmatch(word)}
    others = {word for word in spelled - stems if stem(word) != word}
    return None if len(stems) == len(others) else len(stems) > len(others)


class StemReading(Reading):
    """A text of stems without its raw words: candidates are stemmed before they are put there."""

    plain = False

    def candidates(self, index: int, words: Sequence[str]) -> list[str]:
        """Return the stems of the candidates, each once, without the original."""
        stems = dict.fromkeys(map(stem, words))
        stems.pop(self.words[index], None)
        return [*stems]
