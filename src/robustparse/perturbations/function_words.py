"""Function words put in, left out or exchanged (Huang et al. 2021, section 3.1).

The paper calls the first two insertion and deletion, the third substitution (f), and lists no
words. Those here are what its released sets insert most often, with the other words of their
classes. Words that carry meaning of their own are not among them (`MEANT_WORDS`): negations, "or",
question words, quantifiers and comparatives.
"""

import numpy as np

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
"""Words of closed classes that no other word can stand for."""
_KNOWN = frozenset(FUNCTION_WORDS)


def is_function_word(word: str) -> bool:
    """Tell whether a word is one of `FUNCTION_WORDS`; casing does not count."""
    return word.lower() in _KNOWN


class Insertion(Perturbation):
    """Puts a function word at a random place: before any word, or at the end.

    A stop that ends the sentence stays there.
    """

    def reword(self, sentence: Sentence, rng: np.random.Generator) -> Rewording:
        """See `Perturbation.reword`."""
        words, origins = list(sentence.words), list(range(len(sentence)))
        end = len(words) - (len(words) > 1 and words[-1] in STOPS)
        place = int(rng.integers(end + 1))
        words.insert(place, FUNCTION_WORDS[int(rng.integers(len(FUNCTION_WORDS)))])
        origins.insert(place, NEW)
        return Rewording(tuple(words), tuple(origins))


class Deletion(Perturbation):
    """Leaves out one of the function words, any as likely as another."""

    def reword(self, sentence: Sentence, rng: np.random.Generator) -> Rewording:
        """See `Perturbation.reword`; the only word of a sentence stays."""
        kept = list(range(len(sentence)))
        if (places := _places(sentence)) and len(kept) > 1:
            kept.remove(places[int(rng.integers(len(places)))])
        return Rewording(tuple(sentence.words[at] for at in kept), tuple(kept))


class FunctionWordSubstitution(Perturbation):
    """Puts another function word, any as likely as another, in place of one of the function words.

    The word put in takes on the casing of its place if that is a capital.
    """

    def reword(self, sentence: Sentence, rng: np.random.Generator) -> Rewording:
        """See `Perturbation.reword`."""
        words = list(sentence.words)
        if places := _places(sentence):
            place = places[int(rng.integers(len(places)))]
            others = [word for word in FUNCTION_WORDS if word != words[place].lower()]
            new = others[int(rng.integers(len(others)))]
            words[place] = new.capitalize() if words[place][:1].isupper() else new
        return Rewording.of(words)


def _places(sentence: Sentence) -> list[int]:
    return [at for at, word in enumerate(sentence.words) if is_function_word(word)]
