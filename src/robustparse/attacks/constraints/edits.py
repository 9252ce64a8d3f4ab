"""How many words of a sentence may be changed, for searches without a budget of their own.

Jin et al. (2020) and Yoo et al. (2020) report the share of words changed and leave it free; with
this filter their searches keep to the budget of Zheng et al. (2020, section 3.2), beside which they
can then be put.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from robustparse.attacks.constraints.sentence_filter import Edit, SentenceFilter
from robustparse.attacks.edit_budget import check_gamma, edit_budget


class EditBudget(SentenceFilter):
    """No more than max(1, floor(gamma n)) of a sentence's n words differ from the original's.

    Compares with the *original* sentence.

    Args:
        gamma: the share, in (0, 1] (0.15, the largest one of Zheng et al. 2020).

    Raises:
        InputError: gamma is out of range.
    """

    def __init__(self, gamma: float = 0.15) -> None:
        check_gamma(gamma, "edit budget")
        self.gamma = gamma

    def admits(self, edits: Sequence[Edit]) -> NDArray[np.bool_]:
        """See `SentenceFilter.admits`."""
        return np.array([self._within(edit) for edit in edits], dtype=np.bool_)

    def _within(self, edit: Edit) -> bool:
        original = edit.sentence.words
        pairs = zip(original, edit.changed, strict=True)
        return sum(one != other for one, other in pairs) <= edit_budget(self.gamma, len(original))

    def is_model(self) -> bool:
        """See `Constraint.is_model`."""
        return False
