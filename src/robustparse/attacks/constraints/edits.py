"""Constraints on how many words and characters may be changed, and how often each word.

Jin et al. (2020) and Yoo et al. (2020) report the fraction of changed words but do not limit it;
with `EditBudget` their searches use the budget of Zheng et al. (2020, section 3.2) and become
comparable. Both change a word at most once; `Repeat` enforces this for any search.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import get_args

import numpy as np

from robustparse.attacks.constraints.sentence_constraint import Edit, SentenceConstraint
from robustparse.attacks.edit_budget import edit_budget
from robustparse.data.fractions import check_fraction
from robustparse.errors import InputError, check_choice, check_least
from robustparse.types import Mask, View


class EditBudget(SentenceConstraint):
    """Allows at most max(least, floor(gamma * n)) of a sentence's n words to be changed.

    Compares with the *original* sentence.

    Args:
        gamma: the fraction, in (0, 1] (0.15, the largest value in Zheng et al. 2020).
        view: which words n counts: those of the sentence, or of both texts of a pair (`joined`, as
            TextAttack).
        least: words that may be changed in any sentence, however short (Yoo and Qi 2021: 4).
        most: words that may be changed at most, however long the sentence is (Pruthi et al. 2019:
            1 and 2); None sets no limit.
        up: whether to round up to ceil(gamma * n), as TextAttack.
        combined: whether the limit also holds for states that a population search combines from
            others. In TextAttack's LEAP and IGA, it holds only when a word is changed.
    """

    is_model = False

    def __init__(
        self,
        gamma: float = 0.15,
        *,
        view: View = "text",
        least: int = 1,
        most: int | None = None,
        up: bool = False,
        combined: bool = True,
    ) -> None:
        check_fraction("edit budget: gamma", gamma)
        check_choice("edit budget: view", view, get_args(View))
        check_least("edit budget", least=least, most=most)
        if most is not None and most < least:
            raise InputError(f"got {most}", key="edit budget: most", expected=f"at least {least}")
        self.gamma, self.view = gamma, view
        self.least, self.most, self.up = least, most, up
        self.judges_combined = combined

    def admits(self, edits: Sequence[Edit]) -> Mask:
        """See `SentenceConstraint.admits`."""
        changed = [
            (edit.combined and not self.judges_combined)
            or sum(map(str.__ne__, edit.sentence.words, edit.changed))
            <= self._budget(len(edit.seen(self.view).current))
            for edit in edits
        ]
        return np.array(changed, dtype=np.bool_)

    def most_edits(self, words: int) -> int:
        """See `SentenceConstraint.most_edits`."""
        return words if self.view == "joined" else self._budget(words)

    def _budget(self, words: int) -> int:
        budget = max(self.least, edit_budget(self.gamma, words, up=self.up))
        return budget if self.most is None else min(self.most, budget)


class LevenshteinDistance(SentenceConstraint):
    """Allows at most so many insertions, deletions and substitutions of characters in a sentence.

    Compares with the *original* sentence: the edit distances of all changed words are added up, as
    in algorithm 1 of Gao et al. 2018. A swap of two neighbours has distance 2.

    Args:
        most: the maximum distance (Gao et al. 2018: 30).
    """

    is_model = False

    def __init__(self, most: int = 30) -> None:
        check_least("Levenshtein distance", most=most)
        self.most = most

    def admits(self, edits: Sequence[Edit]) -> Mask:
        """See `SentenceConstraint.admits`."""
        return np.array([self._is_near(edit) for edit in edits], dtype=np.bool_)

    def _is_near(self, edit: Edit) -> bool:
        words = zip(edit.sentence.words, edit.changed, strict=True)
        changed = [(old, new) for old, new in words if old != new]
        # The lengths are upper limits that decide most cases without any distance.
        if sum(max(len(old), len(new)) for old, new in changed) <= self.most:
            return True
        return sum(_distance(old, new) for old, new in changed) <= self.most


@lru_cache(1 << 16)
def _distance(word: str, other: str) -> int:
    # Common beginnings and ends cost nothing.
    begin = _common(word, other)
    word, other = word[begin:], other[begin:]
    end = _common(word[::-1], other[::-1])
    word, other = word[: len(word) - end], other[: len(other) - end]
    if not word or not other:
        return max(len(word), len(other))
    from nltk.metrics.distance import edit_distance

    distance: int = edit_distance(word, other)
    return distance


def _common(word: str, other: str) -> int:
    """Return the number of characters that two words have in common at the beginning."""
    pairs = enumerate(zip(word, other, strict=False))
    return next((at for at, (old, new) in pairs if old != new), min(len(word), len(other)))


class Repeat(SentenceConstraint):
    """Forbids to change a word twice.

    Compares the current word with the *original* word; a word that has its original form again may
    be changed.
    """

    is_model = False
    once = True

    def admits(self, edits: Sequence[Edit]) -> Mask:
        """See `SentenceConstraint.admits`."""
        untouched = [
            edit.current[edit.position] == edit.sentence.words[edit.position] for edit in edits
        ]
        return np.array(untouched, dtype=np.bool_)
