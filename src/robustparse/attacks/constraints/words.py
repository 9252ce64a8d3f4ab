"""Constraints on single words: their form, length, position, and role in the gold answer."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Literal

import numpy as np

from robustparse.attacks.candidates.generator import Slot
from robustparse.attacks.candidates.vocabulary import read_words
from robustparse.attacks.component import training_words
from robustparse.attacks.constraints.constraint import Constraint, Masks, Words, absent
from robustparse.attacks.victim import Victim
from robustparse.errors import InputError, check_choice, check_least, nltk_data
from robustparse.graphemes import graphemes
from robustparse.types import DependencyTree, Example, LogicalForm, Mask, TagSequence

_FUNCTION_VERBS = ("cop", "aux")


class StopWords(Constraint):
    """Stop words may not be changed.

    Args:
        path: a text file with one word per line; None takes the list of `source`.
        fold: whether to ignore case (TextAttack and the released code of Jin et al. 2020 do not:
            false).
        source: `nltk`, NLTK's English list, or `textfooler`, the 266 words of the released code of
            Jin et al. 2020. It lacks 22 of NLTK's words, such as "have" and "very", and has 109
            others, such as "although" and "hundred".

    Raises:
        InputError: both a path and TextFooler's list are given; the file cannot be read; NLTK's
            list is missing (when first used).
    """

    loads = ("_words",)

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
                f"got {source} together with the path {path}",
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


class StopWordCandidates(StopWords):
    """No word may be replaced by a stop word (Li et al. 2020).

    The arguments are those of `StopWords`.
    """

    def attackable(self, example: Example) -> Mask:
        """See `Constraint.attackable`."""
        return np.ones(len(example.sentence), dtype=np.bool_)

    def accept(self, slots: Sequence[Slot], candidates: Words, victim: Victim) -> Masks:
        """See `Constraint.accept`."""
        folded = [[*map(str.lower, words)] if self.fold else words for words in candidates]
        return [
            np.array([word not in self._words for word in words], dtype=np.bool_)
            for words in folded
        ]


class Slots(Constraint):
    """Words that are tokens of the gold logical form may not be changed.

    These are mainly slots, the placeholders for entities, such as ``c0`` for a city, without which
    the form cannot be inferred (Huang et al. 2021).
    """

    of_read_words = True

    def attackable(self, example: Example) -> Mask:
        """See `Constraint.attackable`."""
        tokens = set(example.gold.split()) if isinstance(example.gold, LogicalForm) else set()
        return np.array([word not in tokens for word in example.sentence.words], dtype=np.bool_)


class ForbiddenRelations(Constraint):
    """Words attached by one of these relations in the gold tree may not be changed.

    The words of gold tags have no relations; all of them may be changed.

    Zheng et al. 2020 convert their treebank with the copula as head (footnote 4), so that replacing
    it by another verb keeps the tree. In Universal Dependencies, copulas and auxiliaries depend on
    the predicate. If "serves" replaces "is", the gold tree is no longer right, and a parser that
    recognises this would count as wrong.

    Args:
        relations: dependency labels, including their subtypes (`aux` covers `aux:pass`); by default
            `cop` and `aux`. The released code of Zheng et al. 2020 forbids `punct` in the attacks
            that do not use tags (phrases, characters).
    """

    tasks = ("dependency", "tags")

    def __init__(self, relations: list[str] | None = None) -> None:
        self.relations = frozenset(_FUNCTION_VERBS if relations is None else relations)
        self._default = relations is None

    def check(self, examples: Sequence[Example]) -> None:
        """See `Constraint.check`."""
        for example in examples:
            if not isinstance(example.gold, DependencyTree | TagSequence):
                raise InputError(
                    f"the gold answer of sentence {example.id + 1} is not a dependency tree",
                    key="forbidden relations",
                    remedy="leave the constraint out",
                )

    def attackable(self, example: Example) -> Mask:
        """See `Constraint.attackable`."""
        if isinstance(example.gold, TagSequence):
            return np.ones(len(example.sentence), dtype=np.bool_)
        forbidden = [
            not self.relations.isdisjoint(_universal(each)) for each in example.gold.labels
        ]
        return ~np.array(forbidden, dtype=np.bool_)

    def warnings(self, examples: Sequence[Example]) -> Iterator[str]:
        """See `Constraint.warnings`."""
        trees = [each.gold for each in examples if isinstance(each.gold, DependencyTree)]
        if not trees:
            return iter(())
        labels = {label for tree in trees for label in tree.labels}
        present = {name for label in labels for name in _universal(label)}
        return absent("forbidden relations", self.relations, present, self._default)


class MinimumLength(Constraint):
    """Words with fewer characters may not be changed; a letter with its marks is one character.

    Args:
        characters: minimum number of characters.
    """

    def __init__(self, characters: int) -> None:
        check_least("minimum length", characters=characters)
        self.characters = characters

    def attackable(self, example: Example) -> Mask:
        """See `Constraint.attackable`."""
        words = example.sentence.words
        return np.array([len(graphemes(word)) >= self.characters for word in words], dtype=np.bool_)


class ProtectedPositions(Constraint):
    """Words at these positions may not be changed.

    Args:
        positions: counted from 0, or from the end if negative (-1 is the last word). Positions
            outside a sentence are ignored.
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
        spans: sentence id (from 0, as in `examples.jsonl`) -> spans, each as its first and last
            word, from 0: `{3: [[0, 2], [7, 7]]}`.

    Raises:
        InputError: a span is not a pair of a first and a last word.
    """

    def __init__(self, spans: dict[int, list[list[int]]]) -> None:
        self.spans = {id_: [tuple(span) for span in listed] for id_, listed in spans.items()}
        for id_, listed in self.spans.items():
            for span in listed:
                if len(span) != 2 or not 0 <= span[0] <= span[1]:
                    raise InputError(
                        f"got {list(span)} for sentence {id_}",
                        key="protected spans",
                        expected="[first, last] with 0 <= first <= last",
                    )

    def attackable(self, example: Example) -> Mask:
        """See `Constraint.attackable`."""
        mask = np.ones(len(example.sentence), dtype=np.bool_)
        for first, last in self.spans.get(example.id, ()):
            if last >= len(mask):
                raise InputError(
                    f"sentence {example.id} has {len(mask)} words, but its span is "
                    f"[{first}, {last}]",
                    key="protected spans",
                    remedy="count words from 0",
                )
            mask[first : last + 1] = False
        return mask


class SeenInTraining(Constraint):
    """Candidates must occur in the training data, as written or lower-cased.

    The setting `400k(T)` of Wang et al. 2021, Table 7.

    Args:
        path: a text file with the training words, one per line; None takes the victim's training
            words (lower-cased, seen at least twice).

    Raises:
        InputError: the file cannot be read.
    """

    of_read_words = True

    def __init__(self, path: str | None = None) -> None:
        self.path = path
        self._words = frozenset(read_words(Path(path).expanduser()) if path is not None else ())

    def accept(self, slots: Sequence[Slot], candidates: Words, victim: Victim) -> Masks:
        """See `Constraint.accept`."""
        seen = training_words(victim, self) if self.path is None else self._words
        return [
            np.array([word in seen or word.lower() in seen for word in words], dtype=np.bool_)
            for words in candidates
        ]


def _universal(label: str) -> set[str]:
    """Return a label and the universal relation of which it is a subtype."""
    return {label, label.partition(":")[0]}
