"""Labels in the answers of language models, and the labels' probabilities."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from robustparse.errors import InputError

_AROUND = " \t\r\n\"'`*_.,:;!()[]{}<>"
"""Characters around a label that do not count."""

# Scripts in which other characters may touch a word: from Thai to Khmer, kana, Han, Hangul.
_RUNNING = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"
)


class Token(NamedTuple):
    """A token of an answer.

    Args:
        text: its text.
        logprob: its log-probability.
        top: the most probable tokens at its position with their log-probabilities.
    """

    text: str
    logprob: float
    top: Sequence[tuple[str, float]]


def label_words(labels: Sequence[str] | Mapping[str, str] | None) -> dict[str, str]:
    """Return the word that stands for each label in the answers of a service.

    Args:
        labels: labels that stand for themselves, or a mapping from each label to its word.

    Raises:
        InputError: two words are equal up to casing, or one is empty.
    """
    pairs = labels if isinstance(labels, Mapping) else {each: each for each in labels or ()}
    words = {str(label): word for label, word in pairs.items()}  # YAML has numbers as keys
    known: dict[str, str] = {}
    for label, word in words.items():
        plain = word.strip().casefold()
        if not plain or plain in known:
            problem = f"the labels {known.get(plain, label)!r} and {label!r} have the word {word!r}"
            raise InputError(problem, key="victim: labels", expected="different words")
        known[plain] = label
    return words


def label_in(answer: str, words: Mapping[str, str]) -> str | None:
    """Return the label that an answer names; None if it names none, or several.

    An answer that equals a label's word names this label. Otherwise, exactly one label must occur
    in it as a word of its own, or anywhere if its script does not set words apart. A label within a
    longer label, as `entailment` in `not entailment`, does not count, and neither does one that is
    denied (`not toxic`, `non-toxic`). Casing does not matter.

    Args:
        answer: the text.
        words: label -> the word that stands for it.
    """
    plain = _plain(answer)
    for label, word in words.items():
        if plain == _plain(word):
            return label
    spans: list[tuple[str, int, int]] = []
    for label, word in words.items():
        pattern = rf"(?<!\w)(?<!\bnot )(?<!n't )(?<!\bnon-){re.escape(word)}(?!\w)"
        if _RUNNING.search(word):
            pattern = rf"(?<![不非无無未没沒]){re.escape(word)}"
        spans += [(label, *match.span()) for match in re.finditer(pattern, answer, re.IGNORECASE)]
    named = {
        label
        for label, begin, end in spans
        if not any(a <= begin and end <= b and (a, b) != (begin, end) for _, a, b in spans)
    }
    return named.pop() if len(named) == 1 else None


def probabilities_of(
    label: str, tokens: Sequence[Token], words: Mapping[str, str]
) -> list[float] | None:
    """Return the probabilities of all labels, in their order; None if the tokens do not tell.

    The first token of an answer usually decides which label it will be: each alternative to it
    gives its probability to the label that it begins. If several labels begin like the answer, the
    next token decides between them. Of several spellings of a label the most probable one counts,
    so that the answered label, which the server chose by the same probabilities, comes first. The
    probabilities are divided by their sum.

    Args:
        label: the label that was answered.
        tokens: the tokens of the answer.
        words: label -> the word that stands for it.
    """
    plain = {each: _plain(word) for each, word in words.items()}
    shares = dict.fromkeys(words, 0.0)
    begun, before = "", 1.0
    for token in tokens:
        alternatives = [*token.top, (token.text, token.logprob)]
        for text, logprob in alternatives:
            beginning = _plain_start(begun + text)
            able = [each for each, word in plain.items() if _agree(word, beginning)]
            if len(able) == 1:
                share = before * math.exp(logprob)
                shares[able[0]] = max(shares[able[0]], share)
        begun += token.text
        before *= math.exp(token.logprob)
        beginning = _plain_start(begun)
        able = [each for each, word in plain.items() if _agree(word, beginning)]
        if beginning and len(able) <= 1:
            break
    if not shares[label]:
        return None
    # A label that shares its first token may have been chosen by that token's sum.
    shares[label] = max(shares.values())
    whole = sum(shares.values())
    return [share / whole for share in shares.values()]


def _agree(word: str, beginning: str) -> bool:
    """Tell whether a text that begins so may become the word, or has become it."""
    return bool(beginning) and (word.startswith(beginning) or beginning.startswith(word))


def _plain(text: str) -> str:
    return text.strip(_AROUND).casefold()


def _plain_start(text: str) -> str:
    return text.lstrip(_AROUND).rstrip(" \t\r\n").casefold()
