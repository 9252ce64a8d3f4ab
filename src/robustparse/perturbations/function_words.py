"""Inserts, deletes or replaces function words (Huang et al. 2021, section 3.1).

The paper calls these operations insertion, deletion and substitution (f), and lists no words. The
words here are those that its released sets insert most often, with the other words of their
classes. Words that carry meaning are excluded (`MEANT_WORDS`): negations, "or", question words,
quantifiers and comparatives.
"""

import numpy as np

from robustparse.casing import cased, casing_of
from robustparse.perturbations.perturbation import NEW, STOPS, Perturbation, Rewording
from robustparse.types import Sentence

FUNCTION_WORDS = (
    *("a", "an", "the", "this", "that", "these", "those", "and", "there"),
    *("at", "by", "for", "from", "in", "into", "of", "on", "onto", "over", "through", "to", "via"),
    *("with", "within"),
    *("i", "me", "my", "we", "us", "our", "you", "your", "it", "its", "they", "them", "their"),
    *("am", "is", "are", "was", "were", "be", "been", "do", "does", "did", "has", "have", "had"),
    *("can", "could", "may", "might", "shall", "should", "will", "would"),
)
MEANT_WORDS = frozenset(
    (
        *("how", "what", "when", "where", "which", "who", "whom", "whose", "why"),
        *("but", "if", "never", "no", "none", "nor", "not", "or", "than", "unless", "without"),
        *("all", "any", "both", "each", "either", "every", "few", "many", "much", "neither"),
        *("several", "some", "fewer", "least", "less", "more", "most", "only"),
    )
)
"""Words of closed classes that cannot be replaced by any other word."""
_KNOWN = frozenset(FUNCTION_WORDS)


def is_function_word(word: str) -> bool:
    """Tell whether a word is in `FUNCTION_WORDS`, ignoring case."""
    return word.lower() in _KNOWN


class Insertion(Perturbation):
    """Inserts a function word at a random position: before any word, or at the end.

    A final stop stays at the end.
    """

    def reword(self, sentence: Sentence, rng: np.random.Generator) -> Rewording:
        """See `Perturbation.reword`."""
        words, origins = list(sentence.words), list(range(len(sentence)))
        end = len(words) - (len(words) > 1 and words[-1] in STOPS)
        position = int(rng.integers(end + 1))
        words.insert(position, FUNCTION_WORDS[int(rng.integers(len(FUNCTION_WORDS)))])
        origins.insert(position, NEW)
        return Rewording(tuple(words), tuple(origins))


class Deletion(Perturbation):
    """Deletes a random function word."""

    def reword(self, sentence: Sentence, rng: np.random.Generator) -> Rewording:
        """See `Perturbation.reword`; the only word of a sentence stays."""
        kept = list(range(len(sentence)))
        if (positions := _positions(sentence)) and len(kept) > 1:
            kept.remove(positions[int(rng.integers(len(positions)))])
        return Rewording(tuple(sentence.words[at] for at in kept), tuple(kept))


class FunctionWordSubstitution(Perturbation):
    """Replaces a random function word by another one, in the original's casing."""

    def reword(self, sentence: Sentence, rng: np.random.Generator) -> Rewording:
        """See `Perturbation.reword`."""
        words = list(sentence.words)
        if positions := _positions(sentence):
            position = positions[int(rng.integers(len(positions)))]
            others = [word for word in FUNCTION_WORDS if word != words[position].lower()]
            new = others[int(rng.integers(len(others)))]
            # "I" has a capital in any position.
            casing = "lower" if position and words[position] == "I" else casing_of(words[position])
            words[position] = cased(new, casing)
        return Rewording.of(words)


def _positions(sentence: Sentence) -> list[int]:
    return [at for at, word in enumerate(sentence.words) if is_function_word(word)]
