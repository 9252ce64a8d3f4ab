"""The queries of one sentence: which states were asked about, what was said of them, what is left.

States are told apart by number, in the order in which they were first asked about.
"""

import numpy as np

from robustparse.attacks.goals.goal import Verdict
from robustparse.types import Indices, States

NOTHING = Verdict(np.zeros(0), np.zeros(0, dtype=np.bool_))
"""The verdict on no states."""


class QueryCounter:
    """Charges every state asked about, and remembers the verdicts on all of them.

    Args:
        budget: queries that may be charged; None is unlimited.

    Attributes:
        charged: queries so far.
    """

    def __init__(self, budget: int | None) -> None:
        self.charged = 0
        self._budget = budget
        self._numbers: dict[bytes, int] = {}
        self._verdicts: list[Verdict] = []

    @property
    def unique(self) -> int:
        """Distinct states charged so far; two of them may read the same."""
        return len(self._numbers)

    @property
    def left(self) -> int | None:
        """Queries left; None if there is no end to them."""
        return None if self._budget is None else self._budget - self.charged

    def charge(self, states: States) -> tuple[States, Indices | None]:
        """Count states asked about, `(n, words)`, which the budget must allow.

        Returns:
            Those that were not asked about before, in their order, `(new, words)`: they must be
            judged and `add`ed next. And the numbers of all, `(n,)`, or None where all are new.
        """
        self.charged += len(states)
        if not len(states):
            return states, None
        numbers = self._numbers
        before = len(numbers)
        content, size = states.tobytes(), states[0].nbytes
        keys = [content[begin : begin + size] for begin in range(0, len(content), size)]
        found = np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int64)
        new = len(numbers) - before
        if new == len(keys):
            return states, None
        if not new:
            return states[:0], found
        # Numbers rise in order of first appearance: a state is new where they reach a new height.
        heights = np.maximum.accumulate(np.concatenate([[before - 1], found]))
        return states[heights[1:] > heights[:-1]], found

    def add(self, verdict: Verdict) -> None:
        """Remember the verdict on the states that were new, in their order."""
        self._verdicts.append(verdict)

    def verdict(self, numbers: Indices) -> Verdict:
        """Look up the verdict on states that were judged, by their numbers, `(n,)`."""
        if len(self._verdicts) > 1:
            self._verdicts = [Verdict.joined(self._verdicts)]
        return self._verdicts[0].rows(numbers)
