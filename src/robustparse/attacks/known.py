"""The verdicts on one sentence's states, told apart by 64-bit keys."""

import numpy as np
from numpy.typing import NDArray

from robustparse.attacks.goals import Verdict


class Known:
    """States by number, in the order in which they were first asked about.

    The clean state, whose key is 0, is number 0.
    """

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {0: 0}
        self._verdicts: list[Verdict] = []

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
            The numbers `(n,)`, and a mask `(n,)`, or None if all are new.
        """
        known, before = self._numbers, len(self._numbers)
        wanted: list[int] = keys.tolist()
        found = list(map(known.get, wanted))
        if None in found:
            for at, number in enumerate(found):
                if number is None:
                    found[at] = known.setdefault(wanted[at], len(known))
        numbers, new = np.array(found, dtype=np.int64), len(known) - before
        if new == len(wanted):
            return numbers, None
        if not new:
            return numbers, np.zeros(len(wanted), dtype=np.bool_)
        # Numbers rise in order of first appearance: a state is new where they reach a new height.
        heights = np.maximum.accumulate(np.concatenate([[before - 1], numbers]))
        return numbers, heights[1:] > heights[:-1]

    def add(self, verdict: Verdict) -> None:
        """Take in the verdicts on the states that were new, in their order."""
        self._verdicts.append(verdict)

    def verdict(self, numbers: NDArray[np.int64]) -> Verdict:
        """The verdicts on states that were judged, by their numbers, `(n,)`."""
        if len(self._verdicts) > 1:
            scores = np.concatenate([verdict.scores for verdict in self._verdicts])
            success = np.concatenate([verdict.success for verdict in self._verdicts])
            self._verdicts = [Verdict(scores, success)]
        (verdict,) = self._verdicts
        return Verdict(verdict.scores[numbers], verdict.success[numbers])
