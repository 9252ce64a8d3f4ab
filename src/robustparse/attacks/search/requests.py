"""What a search may ask, what it is told, and what it returns.

A search is a generator: it yields `Propose`, `Score`, `Expand` or `Gradient`, is sent an `Answer`,
and returns an `Outcome`. It calls no model and knows no other sentence, so that the scheduler can
answer hundreds of searches with one forward pass.
"""

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from robustparse.attacks.problem import Problem, State
from robustparse.attacks.victim import Loss


@dataclass(frozen=True, eq=False)
class Score:
    """Ask about states, `int16 (n, words)`."""

    states: NDArray[np.int16]

    def rows(self, problem: Problem) -> NDArray[np.int16]:
        """The states asked about, `(n, words)`."""
        return self.states

    def places(self, problem: Problem) -> NDArray[np.int64]:
        """Which of `states` each row is, `(n,)`."""
        return np.arange(len(self.states))


@dataclass(frozen=True, eq=False)
class Expand:
    """Ask about the candidates of some positions, one change to a state each.

    They come in the order of the positions, then of the candidates; the choice that already stands
    in the state is left out.

    Args:
        state: the state to change, `int16 (words,)`, or several, `(states, words)`.
        positions: where, `(positions,)`.
        limits: at most so many candidates of each position, the first ones that filters admit,
            `(positions,)`.
        bases: which of several states each position belongs to, `(positions,)`.
        distinct: leave out states that come a second time, from another base.
    """

    state: NDArray[np.int16]
    positions: NDArray[np.int64]
    limits: NDArray[np.int64] | None = None
    bases: NDArray[np.int64] | None = None
    distinct: bool = False

    def rows(self, problem: Problem) -> NDArray[np.int16]:
        """The states asked about, `(n, words)`."""
        return self._asked(problem)[0]

    def places(self, problem: Problem) -> NDArray[np.int64]:
        """Which of `positions` each row changes, `(n,)`, rising."""
        return self._asked(problem)[1]

    def _asked(self, problem: Problem) -> tuple[NDArray[np.int16], NDArray[np.int64]]:
        _, states, places = self.changes(problem)
        return self.first(states, places)

    def first(
        self, states: NDArray[np.int16], places: NDArray[np.int64]
    ) -> tuple[NDArray[np.int16], NDArray[np.int64]]:
        """What is asked about of the changes that are left, and their places."""
        if self.limits is not None:
            rank = np.arange(len(places)) - np.searchsorted(places, places)
            kept = rank < self.limits[places]
            states, places = states[kept], places[kept]
        if self.distinct:
            fresh = np.sort(np.unique(states, axis=0, return_index=True)[1])
            states, places = states[fresh], places[fresh]
        return states, places

    def changes(
        self, problem: Problem
    ) -> tuple[NDArray[np.int16], NDArray[np.int16], NDArray[np.int64]]:
        """All changes, without regard to limits and repeats.

        Returns:
            The states to change and the changed ones, both `(n, words)`, and which of `positions`
            each changes, `(n,)`, rising.
        """
        counts = problem.ptr[self.positions + 1] - problem.ptr[self.positions]
        place = np.repeat(np.arange(len(counts)), counts)
        choice = np.arange(1, len(place) + 1) - np.repeat(np.cumsum(counts) - counts, counts)
        several = np.atleast_2d(self.state)
        base = np.zeros(len(place), np.int64) if self.bases is None else self.bases[place]
        new = choice != several[base, self.positions[place]]
        place, choice = place[new], choice[new]
        bases = several[base[new]]
        states = bases.copy()
        states[np.arange(len(place)), self.positions[place]] = choice
        return bases, states, place


@dataclass(frozen=True, eq=False)
class Propose:
    """Ask for the candidates of some positions, which have none before.

    Candidate models cost as much as the victim: ask only for words that may really be changed.
    Positions that are not eligible stay without. Nothing is charged.

    Args:
        positions: where, `(positions,)`.
    """

    positions: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Gradient:
    """Ask for the gradient of the victim's loss towards the word embeddings of a state.

    White-box attacks only. Nothing is charged.

    Args:
        state: `int16 (words,)`, without a deleted word.
        loss: which loss.
        among: the words whose arcs enter the loss, `bool (words,)`; None takes all.
        characters: ask for the gradient towards the characters' embeddings too.
    """

    state: State
    loss: Loss = "margin"
    among: NDArray[np.bool_] | None = None
    characters: bool = False


@dataclass(frozen=True, eq=False)
class Slope:
    """The gradient of a state's loss; it points to where the victim errs.

    Args:
        gradient: towards the words' embeddings, `float64 (words, dim)`.
        vectors: these embeddings, `float64 (words, dim)`.
        norms: of the gradient, L2, over all pieces of a word, `float64 (words,)`.
        embed: looks the embeddings of rows up, `(n,)` to `(n, dim)`.
    """

    gradient: NDArray[np.float64]
    vectors: NDArray[np.float64]
    norms: NDArray[np.float64]
    embed: Callable[[NDArray[np.int32]], NDArray[np.float64]]


@dataclass(frozen=True, eq=False)
class SpelledSlope(Slope):
    """The same, and the gradient towards characters.

    Args:
        character_gradient: `float64 (words, characters, dim)`, 0 beyond a word's last character.
        character_vectors: the embeddings of the characters, of the same shape.
        spell: looks those of rows up, `(n,)` to `(n, characters, dim)`; zeros beyond a word's last
            character and for an unknown character.
    """

    character_gradient: NDArray[np.float64]
    character_vectors: NDArray[np.float64]
    spell: Callable[[NDArray[np.int32]], NDArray[np.float64]]


Request = Propose | Score | Expand | Gradient


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
        places: which of the states or positions of the request each row answers, `(n,)`, rising.
        slope: the answer to a request for a gradient, None to any other.
    """

    problem: Problem
    states: NDArray[np.int16]
    scores: NDArray[np.float64]
    success: NDArray[np.bool_]
    left: int | None
    places: NDArray[np.int64] = field(default_factory=lambda: np.zeros(1, dtype=np.int64))
    slope: Slope | None = None

    @property
    def over(self) -> bool:
        """Whether the budget is spent."""
        return self.left == 0

    def given_slope(self) -> Slope:
        """The slope, where one was asked for."""
        if self.slope is None:
            raise RuntimeError("a request for a gradient was answered without one")
        return self.slope

    def best(self) -> int:
        """The row with the highest score among those that succeed, or among all if none does.

        The first one on ties.
        """
        among = self.success if self.success.any() else np.ones(len(self.scores), dtype=np.bool_)
        return int(np.where(among, self.scores, -np.inf).argmax())

    def best_of_each(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The places answered, rising, and the row with the highest score of each.

        The first one on ties.
        """
        order = np.lexsort((-self.scores, self.places))
        places, first = np.unique(self.places[order], return_index=True)
        return places, order[first]


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
