"""What a search may ask, what it is told, and what it returns.

A search is a generator: it yields `Propose`, `Score` or `Expand`, is sent an `Answer`, and returns
an `Outcome`. It calls no model and knows no other sentence, so that the scheduler can answer
hundreds of searches with one forward pass.
"""

from collections.abc import Generator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from robustparse.attacks.problem import Problem, State


@dataclass(frozen=True, eq=False)
class Score:
    """Ask about states, `int16 (n, words)`."""

    states: NDArray[np.int16]

    def rows(self, problem: Problem) -> NDArray[np.int16]:
        """The states asked about, `(n, words)`."""
        return self.states


@dataclass(frozen=True, eq=False)
class Expand:
    """Ask about the candidates of some positions, one change to `state` each.

    They come in the order of the positions, then of the candidates; the choice that already stands
    in `state` is left out.

    Args:
        state: the state to change, `int16 (words,)`.
        positions: where, `(positions,)`.
        limits: at most so many candidates of each position, the first ones, `(positions,)`.
    """

    state: State
    positions: NDArray[np.int64]
    limits: NDArray[np.int64] | None = None

    def rows(self, problem: Problem) -> NDArray[np.int16]:
        """The states asked about, `(n, words)`."""
        counts = problem.ptr[self.positions + 1] - problem.ptr[self.positions]
        if self.limits is not None:
            counts = np.minimum(counts, self.limits)
        position = np.repeat(self.positions, counts)
        choice = np.arange(1, len(position) + 1) - np.repeat(np.cumsum(counts) - counts, counts)
        new = choice != self.state[position]
        position, choice = position[new], choice[new]
        states = np.repeat(self.state[None], len(position), axis=0)
        states[np.arange(len(position)), position] = choice
        return states


@dataclass(frozen=True, eq=False)
class Propose:
    """Ask for the candidates of some positions, which have none before.

    Candidate models cost as much as the victim: ask only for words that may really be changed.
    Positions that are not eligible stay without. Nothing is charged.

    Args:
        positions: where, `(positions,)`.
    """

    positions: NDArray[np.int64]


Request = Propose | Score | Expand


@dataclass(frozen=True, eq=False)
class Answer:
    """The verdicts on a request, cut to what the budget allows.

    Args:
        problem: the sentence with all candidates proposed so far.
        states: the states that were judged, `int16 (n, words)`.
        scores: higher is nearer the goal, `float64 (n,)`.
        success: whether the goal is reached, `bool (n,)`.
        left: queries left in the budget, or None where there is none. At 0 the search is over: it
            must return its outcome, a further request is an error.
    """

    problem: Problem
    states: NDArray[np.int16]
    scores: NDArray[np.float64]
    success: NDArray[np.bool_]
    left: int | None

    @property
    def over(self) -> bool:
        """Whether the budget is spent."""
        return self.left == 0


@dataclass(frozen=True, eq=False)
class Outcome:
    """The state a search settles on, `int16 (words,)`; the scheduler parses it once more."""

    state: State


class Search(Protocol):
    """An attack's strategy. Settings are constructor arguments; nothing is kept between runs."""

    def run(
        self, problem: Problem, clean: Answer, rng: np.random.Generator
    ) -> Generator[Request, Answer, Outcome]:
        """Search one sentence.

        Args:
            problem: the search space, without candidates as yet.
            clean: the verdict on the original sentence, which was query 1.
            rng: the sentence's own random stream.
        """
        ...
