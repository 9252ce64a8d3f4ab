"""Constraints on how many words of a sentence may be changed, and how often each word.

Jin et al. (2020) and Yoo et al. (2020) report the fraction of changed words but do not limit it;
with `EditBudget` their searches use the budget of Zheng et al. (2020, section 3.2) and become
comparable. Both change a word at most once; `Repeat` enforces this for any search.
"""

from collections.abc import Sequence
from typing import get_args

import numpy as np

from robustparse.attacks.constraints.sentence_constraint import Edit, SentenceConstraint
from robustparse.attacks.edit_budget import check_gamma, edit_budget
from robustparse.errors import check_choice
from robustparse.types import Mask, View


class EditBudget(SentenceConstraint):
    """Allows at most max(1, floor(gamma * n)) of a sentence's n words to be changed.

    Compares with the *original* sentence.

    Args:
        gamma: the fraction, in (0, 1] (0.15, the largest value in Zheng et al. 2020).
        view: which words n counts: those of the sentence, or of both texts of a pair (`joined`, as
            TextAttack).
    """

    is_model = False

    def __init__(self, gamma: float = 0.15, *, view: View = "text") -> None:
        check_gamma(gamma, "edit budget")
        check_choice("edit budget: view", view, get_args(View))
        self.gamma, self.view = gamma, view

    def admits(self, edits: Sequence[Edit]) -> Mask:
        """See `SentenceConstraint.admits`."""
        changed = [
            sum(map(str.__ne__, edit.sentence.words, edit.changed))
            <= edit_budget(self.gamma, len(edit.seen(self.view).current))
            for edit in edits
        ]
        return np.array(changed, dtype=np.bool_)

    def most_edits(self, words: int) -> int:
        """See `SentenceConstraint.most_edits`."""
        return words if self.view == "joined" else edit_budget(self.gamma, words)


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
