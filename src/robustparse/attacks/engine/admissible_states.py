"""What the constraints on sentences have said of one sentence's states.

A state is admissible if a chain of admissible one-word changes leads to it from the original
sentence. The states that `Expand` answers, and `Score` where it names their base, continue such a
chain; an outcome that a search put together itself is taken apart again and loses the changes that
do not pass. States with the unknown word or without a word are no texts that a constraint could
judge: they may be asked about, to see what a word is worth, and are never admissible.
"""

from collections.abc import Generator
from typing import NamedTuple, TypeVar

import numpy as np

from robustparse.attacks.constraints.sentence_constraint import Edit
from robustparse.attacks.problem import Problem, State
from robustparse.attacks.search.requests import Expand, Score
from robustparse.types import Indices, Mask, States


class Admit(NamedTuple):
    """Needs to know which edits the constraints on sentences admit, `bool (edits,)`."""

    edits: list[Edit]


T = TypeVar("T")
Judging = Generator[Admit, Mask, T]
"""Yields edits that constraints must judge, is sent which they admit, and returns a T."""

_Link = tuple[bytes, bytes]  # a state and the changed state


class AdmissibleStates:
    """The judgements on one sentence so far; no change is judged twice.

    Args:
        start: the sentence as it is.
    """

    def __init__(self, start: State) -> None:
        self._judged: dict[_Link, bool] = {}
        self._reached = {start.tobytes()}

    def asked(self, problem: Problem, request: Expand | Score) -> Judging[tuple[States, Indices]]:
        """Yield what a request asks about, and the places: if judged, among admissible changes."""
        if isinstance(request, Expand) and request.judged:
            changed, states, places = request.changes(problem)
            bases = np.atleast_2d(request.state)[changed]
            passed = yield from self._passed(problem, bases, states)
            return request.first(states[passed], places[passed])
        if isinstance(request, Expand) or request.base is None:
            return request.asked(problem)
        states = request.states.copy()
        # What a search has put together anew may be known already, from another chain.
        fresh = [row for row, state in enumerate(states) if not self.admissible(state)]
        states[fresh] = yield from self._followed(problem, request.base, states[fresh])
        lost = (states == request.base).all(axis=1) & (request.states != request.base).any(axis=1)
        return states[~lost], np.flatnonzero(~lost)

    def checked(self, problem: Problem, base: State, states: States) -> Judging[Indices]:
        """Yield which changes of one word to a base are admissible: their rows, rising."""
        bases = np.repeat(base[None], len(states), axis=0)
        return np.flatnonzero((yield from self._passed(problem, bases, states)))

    def admissible(self, state: State) -> bool:
        """Whether a chain of admissible changes is known to lead to the state."""
        return state.tobytes() in self._reached

    def rebuilt(self, problem: Problem, outcome: State) -> Judging[State]:
        """Make the outcome again, one change after the other, without those that do not pass."""
        state: State = (yield from self._followed(problem, problem.start(), outcome[None]))[0]
        return state

    def _followed(self, problem: Problem, base: State, states: States) -> Judging[States]:
        """States `(n, words)` made from a base, each word by word, without what does not pass."""
        made = np.repeat(base[None], len(states), axis=0)
        for position in np.flatnonzero((states != base).any(axis=0)).tolist():
            rows = np.flatnonzero(states[:, position] != base[position])
            steps = made[rows]
            steps[:, position] = states[rows, position]
            passed = yield from self._passed(problem, made[rows], steps)
            made[rows[passed]] = steps[passed]
        return made

    def _passed(self, problem: Problem, bases: States, states: States) -> Judging[Mask]:
        """Which changes of one word each, between states `(n, words)`, are admissible, `(n,)`."""
        positions = (states != bases).argmax(axis=1).tolist()
        whole: Mask = bases >= 0
        spelt: list[bool] = np.all(whole, axis=1).tolist()
        links = [(one.tobytes(), other.tobytes()) for one, other in zip(bases, states, strict=True)]
        fresh: dict[_Link, Edit] = {}
        texts: dict[bytes, tuple[str, ...]] = {}
        for row, link in enumerate(links):
            if link in self._judged or link in fresh:
                continue
            if not spelt[row]:
                self._judged[link] = True
                continue
            if link[0] not in texts:
                texts[link[0]] = problem.text(bases[row])
            word = problem.word(states[row], positions[row])
            fresh[link] = Edit(
                problem.sentence, texts[link[0]], problem.place(positions[row]), word
            )
        if fresh:
            admitted = yield Admit(list(fresh.values()))
            self._judged.update(zip(fresh, admitted.tolist(), strict=True))
        passed = [self._judged[link] for link in links]
        for (base, state), good in zip(links, passed, strict=True):
            if good and base in self._reached:
                self._reached.add(state)
        return np.array(passed, dtype=np.bool_)
