"""The verdicts of sentence constraints on the states of one sentence.

A state is admissible if a chain of admissible one-word changes leads to it from the original
sentence. States of an `Expand`, and those of a `Score` with a base, extend such a chain. If a
search returns a state that it combined itself, the state is rebuilt word by word, without the
changes that the constraints reject. States with the unknown word or a deleted word are not texts,
so no constraint can judge them: the victim may score them to rank words, but they are never
admissible.
"""

from collections.abc import Generator
from typing import TypeVar

import numpy as np

from robustparse.attacks.constraints.sentence_constraint import Edit
from robustparse.attacks.engine.need import Need
from robustparse.attacks.problem import Problem, State
from robustparse.attacks.search.requests import Expand, Score
from robustparse.types import Indices, Mask, States

T = TypeVar("T")
Judging = Generator[Need, Mask, T]
"""A generator that asks the service `check` for masks and returns a T."""

_Link = tuple[bytes, bytes, bool]
"""A state, the changed state, and whether a constraint is told that the change is combined."""


class AdmissibleStates:
    """The verdicts for one sentence so far; no change is judged twice.

    Args:
        start: the state of the unchanged sentence.
        tells_combined: whether a constraint judges combined changes in another way.
    """

    def __init__(self, start: State, tells_combined: bool = False) -> None:
        self._tells_combined = tells_combined
        self._judged: dict[_Link, bool] = {}
        self._reached = {start.tobytes()}

    def asked(self, problem: Problem, request: Expand | Score) -> Judging[tuple[States, Indices]]:
        """Return the states to score for a request, and their origins (see `Answer.origins`).

        Changes that the constraints reject are left out, unless the request asks for all.
        """
        if isinstance(request, Expand) and request.judged:
            changed, states, origins = request.changes(problem)
            bases = np.atleast_2d(request.state)[changed]
            passed = yield from self._passed(problem, bases, states)
            return request.first(states[passed], origins[passed])
        if isinstance(request, Expand) or request.base is None:
            return request.asked(problem)
        states = request.states.copy()
        # A newly combined state may already be known from another chain.
        fresh = [row for row, state in enumerate(states) if not self.admissible(state)]
        states[fresh] = yield from self._followed(problem, request.base, states[fresh])
        lost = (states == request.base).all(axis=1) & (request.states != request.base).any(axis=1)
        return states[~lost], np.flatnonzero(~lost)

    def checked(self, problem: Problem, base: State, states: States) -> Judging[Indices]:
        """Return the rows of states, each one change away from the base, that are admissible."""
        bases = np.repeat(base[None], len(states), axis=0)
        return np.flatnonzero((yield from self._passed(problem, bases, states)))

    def admissible(self, state: State) -> bool:
        """Tell whether a chain of admissible changes is known to lead to the state."""
        return state.tobytes() in self._reached

    def rebuilt(self, problem: Problem, outcome: State) -> Judging[State]:
        """Rebuild the outcome, one change after the other, without rejected changes."""
        state: State = (yield from self._followed(problem, problem.start(), outcome[None]))[0]
        return state

    def _followed(self, problem: Problem, base: State, states: States) -> Judging[States]:
        """Build states `(n, words)` from a base, word by word, without rejected changes."""
        made = np.repeat(base[None], len(states), axis=0)
        for position in np.flatnonzero((states != base).any(axis=0)).tolist():
            rows = np.flatnonzero(states[:, position] != base[position])
            steps = made[rows]
            steps[:, position] = states[rows, position]
            passed = yield from self._passed(problem, made[rows], steps, combined=True)
            made[rows[passed]] = steps[passed]
        return made

    def _passed(
        self, problem: Problem, bases: States, states: States, combined: bool = False
    ) -> Judging[Mask]:
        """Tell which one-word changes, from bases to states `(n, words)`, pass, `(n,)`."""
        positions = (states != bases).argmax(axis=1).tolist()
        whole: Mask = bases >= 0
        spelt: list[bool] = np.all(whole, axis=1).tolist()
        told = combined and self._tells_combined
        links = [
            (base.tobytes(), new.tobytes(), told) for base, new in zip(bases, states, strict=True)
        ]
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
            position = problem.text_position(positions[row])
            fresh[link] = Edit(problem.sentence, texts[link[0]], position, word, told)
        if fresh:
            admitted = yield Need("check", list(fresh.values()))
            self._judged.update(zip(fresh, admitted.tolist(), strict=True))
        passed = [self._judged[link] for link in links]
        for (base, state, _), good in zip(links, passed, strict=True):
            if good and base in self._reached:
                self._reached.add(state)
        return np.array(passed, dtype=np.bool_)
