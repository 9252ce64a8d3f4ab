"""Constraints on single words: their form, length, position, and part in the gold answer."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Literal

import numpy as np

from robustparse.attacks.candidates.generator import Slot
from robustparse.attacks.candidates.vocabulary import read_words
from robustparse.attacks.constraints.constraint import Constraint, Masks, Words, absent
from robustparse.attacks.victim import Victim
from robustparse.errors import InputError, check_choice, check_least, nltk_data
from robustparse.types import DependencyTree, Example, LogicalForm, Mask

_FUNCTION_VERBS = ("cop", "aux")


class StopWords(Constraint):
    """Stop words may not be changed.

    Args:
        path: a text file with one word per line; None takes the list of `source`.
        fold: whether casing does not count (TextAttack compares words as they are: false, and so
            does the released code of Jin et al. 2020).
        source: `nltk`, NLTK's English list, or `textfooler`, the 266 words of Jin et al. 2020's
            released code. It lacks 22 of NLTK's, among them "have" and "very", and has 109 others,
            among them "although" and "hundred".

    Raises:
        InputError: both a path and TextFooler's list are wanted; the file cannot be read; NLTK's
            list is missing (when first used).
    """

    def __init__(
        self,
        path: str | None = None,
        *,
        fold: bool = True,
        source: Literal["nltk", "textfooler"] = "nltk",
    ) -> None:
        check_choice("stop words: source", source, ("nltk", "textfooler"))
        if path is not None and source != "nltk":
            raise InputError(
                f"is {source}, and path is {path}",
                key="stop words: source",
                remedy="leave out one of them",
            )
        self.path, self.fold, self.source = path, fold, source
        if path is not None:
            self._words = self._folded(read_words(Path(path).expanduser()))

    def attackable(self, example: Example) -> Mask:
        """See `Constraint.attackable`."""
        words = map(str.lower, example.sentence.words) if self.fold else example.sentence.words
        return np.array([word not in self._words for word in words], dtype=np.bool_)

    def _folded(self, words: Sequence[str]) -> frozenset[str]:
        return frozenset(map(str.lower, words) if self.fold else words)

    @cached_property
    def _words(self) -> frozenset[str]:
        if self.source == "textfooler":
            lines = (files(__package__) / "textfooler_stop_words.txt").read_text(encoding="utf-8")
            return self._folded([line for line in lines.splitlines() if line[:1] != "#"])
        from nltk.corpus import stopwords

        with nltk_data("stop words", "corpora/stopwords"):
            return self._folded(stopwords.words("english"))


class Slots(Constraint):
    """Words that are tokens of the gold logical form may not be changed.

    These are above all slots, the names that stand for entities, as ``c0`` for a city: without them
    nobody could tell the form (Huang et al. 2021).
    """

    of_read_words = True

    def attackable(self, example: Example) -> Mask:
        """See `Constraint.attackable`."""
        tokens = set(example.gold.split()) if isinstance(example.gold, LogicalForm) else set()
        return np.array([word not in tokens for word in example.sentence.words], dtype=np.bool_)


class ForbiddenRelations(Constraint):
    """Words attached by one of these relations in the gold tree may not be changed.

    Zheng et al. 2020 convert their treebank with the copula as head (footnote 4), so that another
    verb in its place keeps the tree. In Universal Dependencies a copula or an auxiliary depends on
    the predicate: with "serves" in the place of "is" the gold tree is no longer right, and a parser
    that sees this would count as wrong.

    Args:
        relations: dependency labels, with their subtypes (`aux` stands for `aux:pass` too); by
            default `cop` and `aux`. The released code of Zheng et al. 2020 forbids `punct` where it
            does not go by tags (phrases, characters).
    """

    def __init__(self, relations: list[str] | None = None) -> None:
        self.relations = frozenset(_FUNCTION_VERBS if relations is None else relations)
        self._default = relations is None

    def check(self, examples: Sequence[Example]) -> None:
        """See `Constraint.check`."""
        for example in examples:
            if not isinstance(example.gold, DependencyTree):
                raise InputError(
                    f"the gold answer of sentence {example.id + 1} is no dependency tree",
                    key="forbidden relations",
                    remedy="leave the constraint out",
                )

    def attackable(self, example: Example) -> Mask:
        """See `Constraint.attackable`."""
        forbidden = [
            not self.relations.isdisjoint(_universal(each)) for each in example.gold.labels
        ]
        return ~np.array(forbidden, dtype=np.bool_)

    def warnings(self, examples: Sequence[Example]) -> Iterator[str]:
        """See `Constraint.warnings`."""
        labels = {label for example in examples for label in example.gold.labels}
        present = {name for label in labels for name in _universal(label)}
        return absent("forbidden relations", self.relations, present, self._default)


class MinimumLength(Constraint):
    """Shorter words may not be changed.

    Args:
        characters: the fewest a word must have.
    """

    def __init__(self, characters: int) -> None:
        check_least("minimum length", characters=characters)
        self.characters = characters

    def attackable(self, example: Example) -> Mask:
        """See `Constraint.attackable`."""
        words = example.sentence.words
        return np.array([len(word) >= self.characters for word in words], dtype=np.bool_)


class ProtectedPositions(Constraint):
    """Words at these positions may not be changed.

    Args:
        positions: counted from 0, or from the end if negative (-1 is the last word). Positions
            that a sentence does not have protect nothing in it.
    """

    def __init__(self, positions: list[int]) -> None:
        self.positions = list(positions)

    def attackable(self, example: Example) -> Mask:
        """See `Constraint.attackable`."""
        mask = np.ones(len(example.sentence), dtype=np.bool_)
        mask[[at for at in self.positions if -len(mask) <= at < len(mask)]] = False
        return mask


class ProtectedSpans(Constraint):
    """Words of these spans may not be changed.

    Args:
        spans: of each sentence, by its number in the file (from 0, as `id` in `examples.jsonl`):
            its first and last word, from 0: `{3: [[0, 2], [7, 7]]}`. Sentences that are not named
            have none.

    Raises:
        InputError: a span is not its first and last word.
    """

    def __init__(self, spans: dict[int, list[list[int]]]) -> None:
        self.spans = {id_: [tuple(span) for span in listed] for id_, listed in spans.items()}
        for id_, listed in self.spans.items():
            for span in listed:
                if len(span) != 2 or not 0 <= span[0] <= span[1]:
                    raise InputError(
                        f"sentence {id_} has {list(span)}",
                        key="protected spans",
                        expected="[first, last] with 0 <= first <= last",
                    )

    def attackable(self, example: Example) -> Mask:
        """See `Constraint.attackable`."""
        mask = np.ones(len(example.sentence), dtype=np.bool_)
        for first, last in self.spans.get(example.id, ()):
            if last >= len(mask):
                raise InputError(
                    f"sentence {example.id} has {len(mask)} words, its span [{first}, {last}] "
                    "ends beyond them",
                    key="protected spans",
                    remedy="count words from 0",
                )
            mask[first : last + 1] = False
        return mask


class SeenInTraining(Constraint):
    """Candidates must be known from training, as they are or lower-cased.

    The setting `400k(T)` of Wang et al. 2021, Table 7, against substitutes out of training.

    Args:
        path: a text file with the training words, one a line; None takes the victim's, which are
            lower-cased and seen at least twice.

    Raises:
        InputError: the file cannot be read.
    """

    of_read_words = True

    def __init__(self, path: str | None = None) -> None:
        self.path = path
        self._words = frozenset(read_words(Path(path).expanduser()) if path is not None else ())

    def accept(self, slots: Sequence[Slot], candidates: Words, victim: Victim) -> Masks:
        """See `Constraint.accept`."""
        seen = victim.training_words if self.path is None else self._words
        return [
            np.array([word in seen or word.lower() in seen for word in words], dtype=np.bool_)
            for words in candidates
        ]


def _universal(label: str) -> set[str]:
    """Return a label, and what it is a subtype of."""
    return {label, label.partition(":")[0]}
