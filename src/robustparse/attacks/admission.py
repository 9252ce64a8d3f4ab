"""What the filters on sentences have said of one sentence's states.

A state is admissible if a chain of admissible one-word changes leads to it from the original
sentence. The states that `Expand` answers continue such a chain; an outcome that a search put
together itself is taken apart again and loses the changes that do not pass.
"""

from collections.abc import Generator

import numpy as np
from numpy.typing import NDArray

from robustparse.attacks.constraints.sentence_filter import Edit
from robustparse.attacks.problem import Problem, State
from robustparse.attacks.search.requests import Expand


class Admission:
    """The judgements on one sentence so far; no change is judged twice."""

    def __init__(self) -> None:
        self._judged: dict[tuple[bytes, bytes], bool] = {}  # (state, changed state)
        self._reached: set[bytes] = set()
        self._base: State
        self._states: NDArray[np.int16]
        self._open: list[tuple[bytes, bytes]]

    def ask(self, problem: Problem, base: State, states: NDArray[np.int16]) -> list[Edit]:
        """Take up changes of one word each, `states (n, words)`; what the filters must judge."""
        self._base, self._states, self._open = base, states, []
        positions = (states != base).argmax(axis=1).tolist()
        key, current = base.tobytes(), problem.text(base)
        edits = []
        for position, state in zip(positions, states, strict=True):
            link = (key, state.tobytes())
            if link not in self._judged:
                self._open.append(link)
                word = problem.text(state)[position]
                edits.append(Edit(problem.sentence, current, position, word))
        return edits

    def take(self, admitted: NDArray[np.bool_]) -> None:
        """Take in the filters' answer to the edits asked about last."""
        self._judged.update(zip(self._open, admitted.tolist(), strict=True))

    def survivors(self) -> NDArray[np.int16]:
        """The admissible ones of the states asked about last, `(n, words)`."""
        base, keys = self._base.tobytes(), [state.tobytes() for state in self._states]
        passed = [self._judged[base, key] for key in keys]
        if self.admissible(self._base):
            self._reached.update(key for key, good in zip(keys, passed, strict=True) if good)
        return self._states[np.array(passed, dtype=np.bool_)]

    def admissible(self, state: State) -> bool:
        """Whether a chain of admissible changes is known to lead to the state."""
        return not state.any() or state.tobytes() in self._reached

    def rebuilt(self, problem: Problem, outcome: State) -> Generator[list[Edit], None, State]:
        """The outcome made again, one change after the other, without those that do not pass.

        Yields the edits to be judged; `take` must have been called before it goes on.
        """
        state = problem.start()
        for position in np.flatnonzero(outcome).tolist():
            step = state.copy()
            step[position] = outcome[position]
            if edits := self.ask(problem, state, step[None]):
                yield edits
            if len(self.survivors()):
                state = step
        return state


def limited(request: Expand, states: NDArray[np.int16]) -> NDArray[np.int16]:
    """The first states of each position, as many as the request wants; they come by position."""
    if request.limits is None or not len(states):
        return states
    positions = (states != request.state).argmax(axis=1)
    begins = np.concatenate([[True], positions[1:] != positions[:-1]])
    rows = np.arange(len(states))
    rank = rows - np.maximum.accumulate(np.where(begins, rows, 0))
    limit = np.zeros(states.shape[1], dtype=np.int64)
    limit[request.positions] = request.limits
    kept: NDArray[np.int16] = states[rank < limit[positions]]
    return kept
