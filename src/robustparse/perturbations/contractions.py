"""English contractions: "do not" becomes "don't", and "don't" becomes "do not".

Tokenised corpora write a contraction as two words ("do n't", "I 'm"), which keeps the number of
words; texts that are split at blanks write one word. Ambiguous contractions ("'s" and "'d") are
never expanded, and words are not moved, so that "Don't you know" and "Isn't it" stay unchanged.

A verb is not contracted before a *gap*, where its complement is moved or omitted, as in "what it is
_ is good", "I know who he is _ now" and "she is _ too" (King 1970). Nouns are not contracted: "the
will not to live". If the neighbouring words do not decide, the words stay unchanged.
"""

from collections.abc import Sequence

import numpy as np

from robustparse.perturbations.perturbation import Perturbation, Rewording
from robustparse.types import Sentence

# Verbs before "not", and their forms before "n't".
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

# After one of these words in the same clause, the complement of "be" may be moved.
_TAKEN_FROM_BE = frozenset(
    (
        *("what", "who", "whom", "whose", "which", "how", "than", "as"),
        *("whatever", "whoever", "whomever", "whichever", "however"),
    )
)
_TAKEN_AWAY = _TAKEN_FROM_BE | {"where", "wherever", "when", "whenever", "why"}
_CLAUSE_ENDS = frozenset('.,;:!?()"') | {"--", "``", "''"}

# Finite verbs: after another verb they begin the words after a gap.
_FINITE = frozenset(
    (
        *("am", "is", "are", "was", "were", "has", "had", "does", "did", "'s", "'re", "'m", "'d"),
        *("will", "would", "can", "could", "must", "may", "might", "shall", "should"),
    )
)
_NOT_AFTER_BE = _FINITE | {"have", "do"}
_AND = frozenset(("and", "or", "but", "if", "though", "although", "unless"))
_PREPOSITIONS = frozenset(
    (
        *(
            "about",
            "after",
            "against",
            "among",
            "at",
            "before",
            "behind",
            "between",
            "by",
            "during",
        ),
        *("for", "from", "in", "into", "near", "of", "off", "on", "onto", "over", "since"),
        *("through", "till", "to", "toward", "towards", "under", "until", "with", "within"),
        "without",
    )
)
# Words that may follow a gap or a complete verb.
_ADVERBS = frozenset(
    (
        *("again", "already", "always", "anymore", "anyway", "currently", "ever", "here", "now"),
        *("nowadays", "often", "sometimes", "still", "then", "there", "today", "tomorrow"),
        *("tonight", "usually", "yesterday", "because", "that", "while", "so", "such"),
    )
)
_ADJECTIVES_OF_GAPS = frozenset(("like", "worth", "called", "done", "made", "supposed", "going"))

_DETERMINERS = frozenset(
    ("a", "an", "the", "my", "your", "his", "her", "its", "our", "their", "whose", "no", "'s")
)
_NOUNS = frozenset(("will", "can", "need", "must", "might", "do", "have"))  # verbs and nouns
# Before one of these words, "not" belongs to it, not to the verb: "can not only see but hear".
_FOCUS = frozenset(("only", "just", "merely", "simply"))
_INVERTED = frozenset(("why", "how", "when", "where"))  # words followed by verb, then subject


class Contractions(Perturbation):
    """Contracts full forms and expands contractions, wherever possible.

    Args:
        joined: contract to one word, as in texts that are split at blanks. Contractions of one word
            are always expanded.
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
            rest = [word.upper() for word in full[1:]] if words[at].isupper() else full[1:]
            new += [_cased(full[0], words[at]), *rest]
            origins += [at] * len(full)
            at += 1
        return Rewording(tuple(new), tuple(origins))


def _contracted(plain: Sequence[str], at: int) -> tuple[str, str] | None:
    """Contract a verb and "not", or a pronoun and a verb that is not before a gap."""
    word, following, after = plain[at : at + 3]
    if word in _VERBS and following == "not":
        kept = after in _FOCUS or _is_noun(plain, at)
        return None if kept else (_VERBS[word], "n't")
    negated = after == "not" and following in _VERBS  # "it isn't", not "it's not"
    if following in _SUBJECTS.get(word, ()) and not negated and not _before_gap(plain, at + 1):
        return word, _CLITICS[following]
    return None


def _is_noun(plain: Sequence[str], at: int) -> bool:
    """Tell whether a word before "not" is, or may be, a noun: "the will not to live"."""
    word, before, after = plain[at], plain[at - 1] if at else "", plain[at + 2]
    if before in ("the", "a", "an"):
        return True
    return word in _NOUNS and (before in _DETERMINERS or before.endswith("'s") or after == "to")


def _before_gap(plain: Sequence[str], at: int) -> bool:
    """Tell whether there is, or may be, a gap after a verb that follows a pronoun."""
    verb, after, beyond = plain[at : at + 3]
    be = verb in ("am", "are", "is")
    if not after.isalpha() or after in _AND or after in (_NOT_AFTER_BE if be else _FINITE):
        return True
    if after in ("too", "either") and not beyond.isalpha():
        return True
    if not be and after in _PREPOSITIONS:  # "that will of his"
        return True
    behind = _clause_before(plain, at - 1)
    if be and _TAKEN_FROM_BE.intersection(behind):
        predicate = after.endswith(("ing", "ed", "en")) or after in _ADJECTIVES_OF_GAPS
        return not predicate
    if _TAKEN_AWAY.intersection(behind):
        after_gap = _ADVERBS | _PREPOSITIONS | _SUBJECTS.keys()  # "wherever it is _ it rains"
        return after in after_gap or after.endswith("ly")
    return False


def _clause_before(plain: Sequence[str], at: int) -> list[str]:
    """Return the words between the previous punctuation mark and a position."""
    begin = at
    while begin and plain[begin - 1] not in _CLAUSE_ENDS:
        begin -= 1
    return [*plain[begin:at]]


def _written_out(plain: Sequence[str], at: int) -> tuple[str, str] | None:
    """Expand a verb and "n't", unless the verb's subject follows."""
    word, following = plain[at : at + 2]
    if word in _FULL and following == "n't" and not _inverted(plain, at, at + 2):
        return _FULL[word], "not"
    return None


def _inverted(plain: Sequence[str], at: int, after: int) -> bool:
    """Tell whether the subject of a contracted verb follows: "why don't the men know".

    Args:
        plain: the lower-cased words.
        at: the position of the verb.
        after: the position of the word after "not".
    """
    if plain[after] in _PRONOUNS:
        return True
    if at and plain[at - 1] not in _INVERTED:
        return False
    imperative = at == 0 and plain[at] in ("do", "don't")
    return not imperative or plain[after] in _DETERMINERS


def _full_words(plain: Sequence[str], at: int) -> list[str]:
    """Expand a contraction of one word; empty if the word is not a contraction."""
    word = plain[at]
    if at > 0 and word in _WRITTEN_OUT:
        return [_WRITTEN_OUT[word]]
    if word.endswith("n't") and word[:-3] in _FULL and not _inverted(plain, at, at + 1):
        return [_FULL[word[:-3]], "not"]
    stem, apostrophe, rest = word.partition("'")
    if stem in _SUBJECTS and apostrophe + rest in _WRITTEN_OUT:
        return [stem, _WRITTEN_OUT[apostrophe + rest]]
    return []


def _cased(new: str, old: str) -> str:
    """Put a word in the casing of another: all capitals, capitalised (not "n't"), or unchanged."""
    if old.isupper() and len(old) > 1:
        return new.upper()
    return new[:1].upper() + new[1:] if old[:1].isupper() and "'" not in new else new
