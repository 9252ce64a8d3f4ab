"""The base class of operations, which reword a sentence without changing its meaning.

An operation does not depend on the task. It aligns each new word with an original word, and
`Files.project` transfers the gold answer. Random choices follow from (seed, sentence id).
"""

import inspect
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import NamedTuple, Self

import numpy as np

from robustparse.data.fractions import check_fraction
from robustparse.errors import InputError
from robustparse.files.writing import unwritable
from robustparse.graphemes import graphemes, is_letters
from robustparse.randomness import stream
from robustparse.types import Example, Sentence

NEW = -1  # the origin of a word that corresponds to no original word
STOPS = (".", "?", "!")  # marks that stay at the end of a sentence


class Rewording(NamedTuple):
    """A reworded sentence.

    Attributes:
        words: the new words, at least one.
        origins: for each new word, the position (from 0) of the corresponding original word, or
            `NEW`. Missing positions are deleted words; repeated positions are split words.
    """

    words: tuple[str, ...]
    origins: tuple[int, ...]

    @classmethod
    def of(cls, words: Sequence[str]) -> Self:
        """Return the rewording that replaces the words one by one."""
        return cls(tuple(words), tuple(range(len(words))))

    def affected(self, original: Sequence[str]) -> int:
        """Count the original words that are changed or deleted."""
        kept = {at for word, at in zip(*self, strict=True) if at != NEW and original[at] == word}
        return len(original) - len(kept)


class Perturbation(ABC):
    """An operation; every argument of its constructor is an attribute of the same name."""

    @abstractmethod
    def reword(self, sentence: Sentence, rng: np.random.Generator) -> Rewording:
        """Reword a sentence, or return its words if nothing can be changed."""

    def rewordings(self, examples: Sequence[Example], seed: int) -> list[Rewording]:
        """Reword sentences; operations with a model may override this to process batches.

        Args:
            examples: the sentences; gold answers are not used.
            seed: the random stream of a sentence follows from (seed, id).
        """
        return [self.reword(each.sentence, stream(seed, each.id)) for each in examples]

    @property
    def name(self) -> str:
        """The name in tables: the class and the settings that differ from the defaults."""
        kind = plain_name(type(self))
        settings = [
            f"{name}={_written(value)}"
            for name, parameter in inspect.signature(type(self)).parameters.items()
            if (value := getattr(self, name, parameter.default)) != parameter.default
        ]
        return f"{kind}({', '.join(settings)})" if settings else kind


def _written(value: object) -> str:
    """Format a setting; objects are given by their class."""
    if isinstance(value, list):
        return f"[{', '.join(repr(v) if _is_plain(v) else _written(v) for v in value)}]"
    return str(value) if _is_plain(value) else type(value).__name__


def _is_plain(value: object) -> bool:
    return value is None or isinstance(value, str | int | float)


def plain_name(operation: type[Perturbation]) -> str:
    """Return the name of a class in commands: ``final_stop`` for `FinalStop`."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", operation.__name__).lower()


class WordPerturbation(Perturbation):
    """Changes some words, independently of each other.

    Args:
        fraction: the fraction of words to change, rounded down to at least one word (0.15, the
            usual budget of attacks); fewer if fewer can be changed.

    Raises:
        InputError: the fraction is not in (0, 1].
    """

    def __init__(self, *, fraction: float = 0.15) -> None:
        check_fraction(f"{self.name}: fraction", fraction)
        self.fraction = fraction

    def can_change(self, word: str) -> bool:
        """Tell whether a word may be changed; by default, words of at least three letters."""
        return is_letters(word) and len(graphemes(word)) >= 3

    @abstractmethod
    def change(self, word: str, rng: np.random.Generator) -> str:
        """Return the replacement of a word."""

    def reword(self, sentence: Sentence, rng: np.random.Generator) -> Rewording:
        """See `Perturbation.reword`."""
        words = list(sentence.words)
        positions = [at for at, word in enumerate(words) if self.can_change(word)]
        count = max(1, int(self.fraction * len(words) + 1e-9))
        for index in sorted(rng.permutation(len(positions))[:count].tolist()):
            words[positions[index]] = self.change(words[positions[index]], rng)
        return Rewording.of(words)


def check_operations(operations: object, key: str) -> None:
    """Check that a setting is a list of operations, one at least.

    Raises:
        InputError: it is not.
    """
    if (
        not isinstance(operations, Sequence)
        or not operations
        or not all(isinstance(each, Perturbation) for each in operations)
    ):
        expected = "a list of operations, such as [robustparse.perturbations.Typos()]"
        raise InputError(f"got {operations!r:.60}", key=key, expected=expected)


def draw_rewordings(
    operations: Sequence[Perturbation], examples: Sequence[Example], seed: int
) -> list[tuple[Rewording, Perturbation]]:
    """Reword each sentence by a randomly drawn operation, or by the next one if nothing changes.

    Operations are equally likely. The rewording of each does not depend on the other operations.

    Args:
        operations: one or more operations.
        examples, seed: see `Perturbation.rewordings`.

    Returns:
        For each sentence, its rewording and the operation that was tried last.
    """
    results = [(Rewording.of(each.sentence.words), operations[0]) for each in examples]
    orders = [stream(seed, each.id, 1).permutation(len(operations)) for each in examples]
    left = list(range(len(examples)))
    for turn in range(len(operations)):
        for index, operation in enumerate(operations):
            drawn = [at for at in left if orders[at][turn] == index]
            given = operation.rewordings([examples[at] for at in drawn], seed)
            rewordings = [*given] if isinstance(given, Iterable) else []
            if len(rewordings) != len(drawn):
                problem, expected = f"returned {given!r:.60}", f"a list of {len(drawn)} rewordings"
                raise InputError(problem, key=operation.name, expected=expected)
            for at, rewording in zip(drawn, rewordings, strict=True):
                results[at] = _checked(rewording, examples[at], operation), operation
        left = [at for at in left if results[at][0].words == examples[at].sentence.words]
    return results


def _checked(rewording: Rewording, example: Example, operation: Perturbation) -> Rewording:
    """Reject inconsistent output of a custom operation and words that files cannot hold.

    Its words and origins may be lists.
    """
    if not isinstance(rewording, Rewording) or not all(map(_is_list, rewording)):
        problem = f"gives {rewording!r:.60}"
        raise InputError(problem, key=operation.name, expected="a Rewording of two tuples")
    words, origins = rewording = Rewording(tuple(rewording.words), tuple(rewording.origins))
    positions = range(NEW, len(example.sentence))
    if not all(isinstance(word, str) for word in words):
        problem, expected = f"gives {list(words)!r:.60}", "words of the type str"
    elif not words or not all(words):
        problem, expected = f"gives {list(words)!r}", "at least one word, none of them empty"
    elif len(words) != len(origins) or not all(origin in positions for origin in origins):
        problem = f"gives {len(words)} words with the origins {list(origins)!r}"
        expected = f"for each word a position below {positions.stop}, or {NEW}"
    elif strange := _strange(words, example.sentence.words):
        problem, expected = f"gives {strange}", "words without blanks and control characters"
    else:
        return rewording
    text = " ".join(example.sentence.words)[:40]
    raise InputError(f"{problem} for {text!r}", key=operation.name, expected=expected)


def _is_list(value: object) -> bool:
    return isinstance(value, Sequence | np.ndarray) and not isinstance(value, str)


def _strange(words: Sequence[str], original: Sequence[str]) -> str | None:
    """Describe a blank or control character in new words, if it is not in the original words."""
    known = set("".join(original))
    for word in set(words).difference(original):
        new = "".join(set(word) - known)
        if character := unwritable(new) or ("a blank" if any(map(str.isspace, new)) else None):
            return f"{character} in the word {word!r:.40}"
    return None
