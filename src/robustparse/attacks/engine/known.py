"""The verdicts on one sentence's states."""

import numpy as np
from numpy.typing import NDArray

from robustparse.attacks.goals.attachment import Verdict


class Known:
    """States by number, in the order in which they were first asked about.

    Args:
        clean: the sentence as it is, `(words,)`, which is number 0.
    """

    def __init__(self, clean: NDArray[np.int16]) -> None:
        self._numbers = {clean.tobytes(): 0}
        self._verdicts: list[Verdict] = []

    def __len__(self) -> int:
        """Distinct states asked about."""
        return len(self._numbers)

    def look_up(
        self, states: NDArray[np.int16]
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]] | None:
        """Return the numbers of states `(n, words)`, and which of them are the first of their kind.

        Returns:
            The numbers `(n,)` and a mask `(n,)`; None if all are new.
        """
        known, before = self._numbers, len(self._numbers)
        content, size = states.tobytes(), states[0].nbytes
        keys = [content[begin : begin + size] for begin in range(0, len(content), size)]
        found = [known.setdefault(key, len(known)) for key in keys]
        new = len(known) - before
        if new == len(keys):
            return None
        numbers = np.array(found, dtype=np.int64)
        if not new:
            return numbers, np.zeros(len(keys), dtype=np.bool_)
        # Numbers rise in order of first appearance: a state is new where they reach a new height.
        heights = np.maximum.accumulate(np.concatenate([[before - 1], numbers]))
        return numbers, heights[1:] > heights[:-1]

    def add(self, verdict: Verdict) -> None:
        """Take in the verdicts on the states that were new, in their order."""
        self._verdicts.append(verdict)

    def verdict(self, numbers: NDArray[np.int64]) -> Verdict:
        """Return the verdicts on states that were judged, by their numbers, `(n,)`."""
        if len(self._verdicts) > 1:
            scores = np.concatenate([verdict.scores for verdict in self._verdicts])
            success = np.concatenate([verdict.success for verdict in self._verdicts])
            self._verdicts = [Verdict(scores, success)]
        (verdict,) = self._verdicts
        return Verdict(verdict.scores[numbers], verdict.success[numbers])
