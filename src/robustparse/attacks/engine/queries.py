"""The queries of one sentence: what was asked, what was said of it, and how many are left."""

import numpy as np
from numpy.typing import NDArray

from robustparse.attacks.engine.known import Known
from robustparse.attacks.goals.attachment import Verdict
from robustparse.attacks.problem import Problem
from robustparse.attacks.search.requests import Answer
from robustparse.attacks.search.white_box.gradients import Slope

_FIRST, _NOWHERE = np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int64)
_NOTHING = Verdict(np.zeros(0), np.zeros(0, dtype=np.bool_))


class QueryCounter:
    """Charges every state asked about, and knows those that were judged before.

    Args:
        start: the sentence as it is, `(1, words)`, which is query 1; or no state, `(0, words)`.
        budget: queries that may be charged; None is unlimited.

    Attributes:
        charged: queries so far.
        asked: the distinct states among them, `(n, words)` each, in their order.
    """

    def __init__(self, start: NDArray[np.int16], budget: int | None) -> None:
        self.charged = len(start)
        self.asked = [start]
        self._budget = budget
        self._known = Known(np.zeros(start.shape[1], dtype=np.int16))
        self._states, self._places, self._verdict = start, _FIRST, _NOTHING
        # Which states the next verdict helps to answer; None where it is all of the answer.
        self._numbers: NDArray[np.int64] | None = None

    @property
    def unique(self) -> int:
        """Distinct states charged so far; two of them may read the same."""
        return sum(map(len, self.asked))

    @property
    def left(self) -> int | None:
        """Queries left; None if there is no end to them."""
        return None if self._budget is None else self._budget - self.charged

    def charge(
        self, states: NDArray[np.int16], places: NDArray[np.int64]
    ) -> NDArray[np.int16] | None:
        """Count states asked about, `(n, words)`, cut to the budget.

        Returns:
            Those of them that were not judged before, in their order, or None: all were.
        """
        left = self.left
        states, self._places = states[:left], places[:left]
        self.charged += len(states)
        self._states = states
        if not len(states):
            self._verdict = _NOTHING
            return None
        self._numbers = None
        if (found := self._known.look_up(states)) is not None:
            self._numbers, new = found
            if not new.any():
                self._verdict = self._known.verdict(self._numbers)
                return None
            states = states[new]
        self.asked.append(states)
        return states

    def charge_nothing(self) -> None:
        """Take up a request that asks about no states."""
        self._states, self._places, self._verdict = self._states[:0], _NOWHERE, _NOTHING

    def take(self, verdict: Verdict) -> None:
        """Take in the verdict on the states that were not judged before."""
        self._known.add(verdict)
        numbers = self._numbers
        self._verdict = verdict if numbers is None else self._known.verdict(numbers)

    def answer(
        self, problem: Problem, slope: Slope | None, similarities: NDArray[np.float64] | None
    ) -> Answer:
        """Return the answer to what was asked last."""
        verdict = self._verdict
        return Answer(
            problem,
            self._states,
            verdict.scores,
            verdict.success,
            self.left,
            self._places,
            slope,
            similarities,
        )
