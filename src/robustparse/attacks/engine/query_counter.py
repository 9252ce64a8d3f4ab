"""The queries of one sentence: the states scored so far, their verdicts, and the budget left.

States are numbered in the order in which they were first queried.
"""

import numpy as np

from robustparse.attacks.goals.goal import Verdict
from robustparse.types import Indices, States

NOTHING = Verdict(np.zeros(0), np.zeros(0, dtype=np.bool_))
"""The verdict on no states."""


class QueryCounter:
    """Charges every queried state and keeps the verdicts.

    Args:
        budget: maximum number of queries; None is unlimited.

    Attributes:
        charged: number of queries so far.
    """

    def __init__(self, budget: int | None) -> None:
        self.charged = 0
        self._budget = budget
        self._numbers: dict[bytes, int] = {}
        self._verdicts: list[Verdict] = []

    @property
    def unique(self) -> int:
        """Number of distinct states charged so far; states with equal text count separately."""
        return len(self._numbers)

    @property
    def left(self) -> int | None:
        """Number of queries left; None if unlimited."""
        return None if self._budget is None else self._budget - self.charged

    def charge(self, states: States) -> tuple[States, Indices | None]:
        """Charge states `(n, words)`; the budget must allow all of them.

        Returns:
            The new states, in order, `(new, words)`; the caller must judge them and `add` the
            verdict next. And the numbers of all states, `(n,)`, or None if all are new.
        """
        self.charged += len(states)
        if not len(states):
            return states, None
        numbers = self._numbers
        before = len(numbers)
        content, size = states.tobytes(), states[0].nbytes
        keys = [content[begin : begin + size] for begin in range(0, len(content), size)]
        row_of = np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int64)
        new = len(numbers) - before
        if new == len(keys):
            return states, None
        if not new:
            return states[:0], row_of
        # Numbers rise in order of first appearance: a state is new if it reaches a new maximum.
        highest = np.maximum.accumulate(np.concatenate([[before - 1], row_of]))
        return states[highest[1:] > highest[:-1]], row_of

    def add(self, verdict: Verdict) -> None:
        """Store the verdict on the new states, in order."""
        self._verdicts.append(verdict)

    def verdict(self, numbers: Indices) -> Verdict:
        """Look up the verdict on judged states by their numbers, `(n,)`."""
        if len(self._verdicts) > 1:
            self._verdicts = [Verdict.joined(self._verdicts)]
        return self._verdicts[0].rows(numbers)
