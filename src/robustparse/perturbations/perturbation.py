"""What every operation is: a rule that rewords a sentence and keeps what it means.

An operation knows no task. It says for each new word which original word it stands for, and
`Task.project` carries the gold answer over. What it draws follows from (seed, sentence id).
"""

import inspect
import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np

from robustparse.data.fractions import check_fraction
from robustparse.errors import InputError
from robustparse.files import unwritable
from robustparse.graphemes import graphemes, is_letters
from robustparse.randomness import stream
from robustparse.types import Example, Sentence

NEW = -1  # the origin of a word that stands for no original one
STOPS = (".", "?", "!")  # a last word that stays last


class Rewording(NamedTuple):
    """The words that an operation puts in place of a sentence's.

    Attributes:
        words: the new words, at least one.
        origins: for each of them the position, from 0, of the original word that it stands for, or
            `NEW`. A position that is missing was dropped; one that is there twice was split.
    """

    words: tuple[str, ...]
    origins: tuple[int, ...]

    @classmethod
    def of(cls, words: Sequence[str]) -> Self:
        """Return the rewording that puts one word in place of each."""
        return cls(tuple(words), tuple(range(len(words))))

    def affected(self, original: Sequence[str]) -> int:
        """Count the original words that do not stand there as they were."""
        kept = {at for word, at in zip(*self, strict=True) if at != NEW and original[at] == word}
        return len(original) - len(kept)


class Perturbation(ABC):
    """An operation; every argument of its constructor is an attribute of the same name."""

    @abstractmethod
    def reword(self, sentence: Sentence, rng: np.random.Generator) -> Rewording:
        """Return the sentence reworded, or its own words where there is nothing to do."""

    def rewordings(self, examples: Sequence[Example], seed: int) -> list[Rewording]:
        """Reword sentences, each by a random stream of its own; one with a model may override this.

        Args:
            examples: whose gold answers are not looked at.
            seed: of the streams, with each example's id.
        """
        return [self.reword(each.sentence, stream(seed, each.id)) for each in examples]

    @property
    def name(self) -> str:
        """What tables call it: its class and the settings that differ from the defaults."""
        kind = plain_name(type(self))
        settings = [
            f"{name}={_written(value)}"
            for name, parameter in inspect.signature(type(self)).parameters.items()
            if (value := getattr(self, name, parameter.default)) != parameter.default
        ]
        return f"{kind}({', '.join(settings)})" if settings else kind


def _written(value: object) -> str:
    """Write a setting; of a part, or of one in a list, the class."""
    if isinstance(value, list):
        return f"[{', '.join(repr(one) if _is_plain(one) else _written(one) for one in value)}]"
    return str(value) if _is_plain(value) else type(value).__name__


def _is_plain(value: object) -> bool:
    return value is None or isinstance(value, str | int | float)


def plain_name(operation: type[Perturbation]) -> str:
    """Return the name by which commands know a class: ``final_stop`` for `FinalStop`."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", operation.__name__).lower()


class WordPerturbation(Perturbation):
    """Changes some words, each by itself.

    Args:
        fraction: of the sentence's words, rounded down, but at least one word (0.15, the usual
            budget of attacks); fewer where not as many can change.

    Raises:
        InputError: the fraction is not in (0, 1].
    """

    def __init__(self, *, fraction: float = 0.15) -> None:
        check_fraction(f"{self.name}: fraction", fraction)
        self.fraction = fraction

    def can_change(self, word: str) -> bool:
        """Tell whether a word may be drawn; by default those of at least three letters only."""
        return is_letters(word) and len(graphemes(word)) >= 3

    @abstractmethod
    def change(self, word: str, rng: np.random.Generator) -> str:
        """Return the replacement of a word."""

    def reword(self, sentence: Sentence, rng: np.random.Generator) -> Rewording:
        """See `Perturbation.reword`."""
        words = list(sentence.words)
        places = [at for at, word in enumerate(words) if self.can_change(word)]
        count = max(1, int(self.fraction * len(words) + 1e-9))
        for index in sorted(rng.permutation(len(places))[:count].tolist()):
            words[places[index]] = self.change(words[places[index]], rng)
        return Rewording.of(words)


def draw_rewordings(
    operations: Sequence[Perturbation], examples: Sequence[Example], seed: int
) -> list[tuple[Rewording, Perturbation]]:
    """Reword each sentence by one of several operations, the next if that changes nothing.

    Each operation, as likely to be drawn as another, rewords as it does without the others.

    Args:
        operations: to draw from, at least one.
        examples, seed: as in `Perturbation.rewordings`.

    Returns:
        For each sentence how it is reworded, and the operation that was the last to try.
    """
    found = [(Rewording.of(each.sentence.words), operations[0]) for each in examples]
    orders = [stream(seed, each.id, 1).permutation(len(operations)) for each in examples]
    left = list(range(len(examples)))
    for turn in range(len(operations)):
        for index, operation in enumerate(operations):
            drawn = [at for at in left if orders[at][turn] == index]
            rewordings = operation.rewordings([examples[at] for at in drawn], seed)
            for at, rewording in zip(drawn, rewordings, strict=True):
                found[at] = _checked(rewording, examples[at], operation), operation
        left = [at for at in left if found[at][0].words == examples[at].sentence.words]
    return found


def _checked(rewording: Rewording, example: Example, operation: Perturbation) -> Rewording:
    """Refuse a rewording that is inconsistent, or that no file of sentences can hold."""
    words, origins = rewording
    places = range(NEW, len(example.sentence))
    if not words or not all(words):
        found, expected = f"gives {list(words)!r}", "at least one word, none of them empty"
    elif len(words) != len(origins) or not all(origin in places for origin in origins):
        found = f"gives {len(words)} words with the origins {list(origins)!r}"
        expected = f"for each word a position below {places.stop}, or {NEW}"
    elif strange := _strange(words, example.sentence.words):
        found, expected = f"gives {strange}", "words without blanks and control characters"
    else:
        return rewording
    text = " ".join(example.sentence.words)[:40]
    raise InputError(f"{found} for {text!r}", key=operation.name, expected=expected)


def _strange(words: Sequence[str], original: Sequence[str]) -> str | None:
    """Name a blank or control character of new words; the blanks of original words may stay."""
    known = set("".join(original))
    for word in set(words).difference(original):
        new = "".join(set(word) - known)
        if character := unwritable(new) or ("a blank" if any(map(str.isspace, new)) else None):
            return f"{character} in the word {word!r:.40}"
    return None
