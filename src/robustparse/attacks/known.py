"""The verdicts on one sentence's states, told apart by 64-bit keys."""

import numpy as np
from numpy.typing import NDArray

from robustparse.attacks.goals import Verdict


class Known:
    """States by number, in the order in which they were first asked about.

    The clean state, whose key is 0, is number 0.

    Attributes:
        scores: of the states judged so far, `float64 (states,)`.
        success: likewise, `bool (states,)`.
    """

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {0: 0}
        self.scores = np.zeros(0)
        self.success = np.zeros(0, dtype=np.bool_)

    def __len__(self) -> int:
        """Distinct states asked about."""
        return len(self._numbers)

    def look_up(
        self, keys: NDArray[np.uint64]
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_] | None]:
        """The numbers of states, and which of them are the first of their kind.

        Args:
            keys: of the states, `(n,)`.

        Returns:
            The numbers `(n,)`, and a mask `(n,)`, or None if none is new.
        """
        known, before = self._numbers, len(self._numbers)
        found = [known.setdefault(key, len(known)) for key in keys.tolist()]
        numbers, new = np.array(found, dtype=np.int64), len(known) - before
        if not new:
            return numbers, None
        if new == len(keys):
            return numbers, np.ones(new, dtype=np.bool_)
        # Numbers rise in order of first appearance: a state is new where they reach a new height.
        heights = np.maximum.accumulate(np.concatenate([[before - 1], numbers]))
        return numbers, heights[1:] > heights[:-1]

    def add(self, verdict: Verdict) -> None:
        """Take in the verdicts on the states that were new, in their order."""
        self.scores = np.concatenate([self.scores, verdict.scores])
        self.success = np.concatenate([self.success, verdict.success])
