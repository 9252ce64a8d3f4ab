"""What the constraints on sentences have said of one sentence's states.

A state is admissible if a chain of admissible one-word changes leads to it from the original
sentence. The states that `Expand` answers, and `Score` where it names their base, continue such a
chain; an outcome that a search put together itself is taken apart again and loses the changes that
do not pass. States with the unknown word or without a word are no texts that a constraint could
judge: they may be asked about, to see what a word is worth, and are never admissible.
"""

from collections.abc import Generator

import numpy as np

from robustparse.attacks.constraints.sentence_constraint import Edit
from robustparse.attacks.problem import Problem, State
from robustparse.attacks.search.requests import Expand, Score
from robustparse.types import Indices, Mask, States

Judging = Generator[list[Edit], None, tuple[States, Indices]]
"""Yields edits that constraints must judge; ends with the states asked about and their places."""

_Link = tuple[bytes, bytes]  # a state and the changed state


class AdmissibleStates:
    """The judgements on one sentence so far; no change is judged twice."""

    def __init__(self) -> None:
        self._judged: dict[_Link, bool] = {}
        self._reached: set[bytes] = set()
        self._open: list[_Link] = []
        self._links: list[_Link]

    def asked(self, problem: Problem, request: Expand | Score) -> Judging:
        """Yield what a request asks about among the admissible changes, and the places.

        Yields as `rebuilt` does.
        """
        if isinstance(request, Expand):
            changed, states, places = request.changes(problem)
            if edits := self._ask(problem, np.atleast_2d(request.state)[changed], states):
                yield edits
            passed = self._passed()
            return request.first(states[passed], places[passed])
        if request.base is None:
            return request.asked(problem)
        states = request.states.copy()
        # What a search has put together anew may be known already, from another chain.
        fresh = [row for row, state in enumerate(states) if not self.admissible(state)]
        states[fresh] = yield from self._followed(problem, request.base, states[fresh])
        lost = (states == request.base).all(axis=1) & (request.states != request.base).any(axis=1)
        return states[~lost], np.flatnonzero(~lost)

    def take(self, admitted: Mask) -> None:
        """Take in the constraints' answer to the edits asked about last."""
        self._judged.update(zip(self._open, admitted.tolist(), strict=True))

    def admissible(self, state: State) -> bool:
        """Whether a chain of admissible changes is known to lead to the state."""
        return not state.any() or state.tobytes() in self._reached

    def rebuilt(self, problem: Problem, outcome: State) -> Generator[list[Edit], None, State]:
        """Yield the outcome made again, one change after the other, without those that do not pass.

        Yields the edits to be judged; `take` must have been called before it continues.
        """
        state: State = (yield from self._followed(problem, problem.start(), outcome[None]))[0]
        return state

    def _followed(
        self, problem: Problem, base: State, states: States
    ) -> Generator[list[Edit], None, States]:
        """States `(n, words)` made from a base, each word by word, without what does not pass."""
        made = np.repeat(base[None], len(states), axis=0)
        for position in np.flatnonzero((states != base).any(axis=0)).tolist():
            rows = np.flatnonzero(states[:, position] != base[position])
            steps = made[rows]
            steps[:, position] = states[rows, position]
            if edits := self._ask(problem, made[rows], steps):
                yield edits
            passed = self._passed()
            made[rows[passed]] = steps[passed]
        return made

    def _ask(self, problem: Problem, bases: States, states: States) -> list[Edit]:
        """Return the edits to judge among changes of one word each, between states `(n, words)`."""
        self._reached.add(problem.start().tobytes())
        positions = (states != bases).argmax(axis=1).tolist()
        whole: Mask = bases >= 0
        spelt: list[bool] = np.all(whole, axis=1).tolist()
        self._links = [
            (base.tobytes(), state.tobytes()) for base, state in zip(bases, states, strict=True)
        ]
        fresh: dict[_Link, Edit] = {}
        texts: dict[bytes, tuple[str, ...]] = {}
        for row, link in enumerate(self._links):
            if link in self._judged or link in fresh:
                continue
            if not spelt[row]:
                self._judged[link] = True
                continue
            if link[0] not in texts:
                texts[link[0]] = problem.text(bases[row])
            word = problem.word(states[row], positions[row])
            fresh[link] = Edit(problem.sentence, texts[link[0]], positions[row], word)
        self._open = list(fresh)
        return list(fresh.values())

    def _passed(self) -> Mask:
        """Which of the changes asked about last are admissible, `(n,)`."""
        passed = [self._judged[link] for link in self._links]
        for (base, state), good in zip(self._links, passed, strict=True):
            if good and base in self._reached:
                self._reached.add(state)
        return np.array(passed, dtype=np.bool_)
