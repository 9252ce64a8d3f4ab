"""What a search may ask, what it is told, and what it returns.

A search is a generator: it yields `Propose`, `Score`, `Expand`, `Check`, `Compare` or `Gradient`,
is sent an `Answer`, and returns the state it settles on. It calls no model and knows no other
sentence, so that the scheduler can answer hundreds of searches with one forward pass.
"""

from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

import numpy as np

from robustparse.attacks.constraints.sentence_constraint import Edit
from robustparse.attacks.problem import Problem, State
from robustparse.attacks.search.white_box.gradients import WordGradients
from robustparse.attacks.victim import Loss
from robustparse.types import Floats, Indices, Mask, States


@dataclass(eq=False, slots=True)
class Score:
    """Ask about states.

    Args:
        states: `int16 (n, words)`.
        base: what they come from by candidates in place of words, `int16 (words,)`: constraints
            judge these from left to right, and what passes is asked about. None: they are not
            judged.
    """

    states: States
    base: State | None = None

    def asked(self, problem: Problem) -> tuple[States, Indices]:
        """Return the states asked about, `(n, words)`, and the row of each in `states`, `(n,)`."""
        return self.states, np.arange(len(self.states))


@dataclass(eq=False, slots=True)
class Expand:
    """Ask about the candidates of some positions, one change to a state each.

    They come in the order of positions, then of candidates, without the choice that stands there.

    Args:
        state: the state to change, `int16 (words,)`, or several, `(states, words)`.
        positions: where, `(positions,)`.
        limits: of each position, the first N candidates that constraints admit,
            `(positions,)`.
        bases: which of several states each position belongs to, `(positions,)`.
        distinct: leave out states that come a second time, from another base.
        judged: constraints on changed sentences judge the changes first, and those that pass are
            asked about; otherwise all are, and the search must `Check` what it takes.
    """

    state: States
    positions: Indices
    limits: Indices | None = None
    bases: Indices | None = None
    distinct: bool = False
    judged: bool = True

    def asked(self, problem: Problem) -> tuple[States, Indices]:
        """Return the states asked about, `(n, words)`, and which of `positions` each changes,
        rising.
        """
        return self.first(*self.changes(problem)[1:])

    def first(self, states: States, places: Indices) -> tuple[States, Indices]:
        """Return what is asked about of the changes that are left, and their places."""
        if self.limits is not None:
            rank = np.arange(len(places)) - np.searchsorted(places, places)
            kept = rank < self.limits[places]
            states, places = states[kept], places[kept]
        if self.distinct:
            fresh = np.sort(np.unique(states, axis=0, return_index=True)[1])
            states, places = states[fresh], places[fresh]
        return states, places

    def changes(self, problem: Problem) -> tuple[Indices, States, Indices]:
        """All changes, without regard to limits and repeats.

        Returns:
            Which of the states is changed, `(n,)`, the changed ones, `(n, words)`, and which of
            `positions` each changes, `(n,)`, rising.
        """
        if self.bases is None and len(self.positions) == 1:
            return self._changes_of_one(problem, int(self.positions[0]))
        counts = problem.ptr[self.positions + 1] - problem.ptr[self.positions]
        place = np.repeat(np.arange(len(counts)), counts)
        choice = np.arange(1, len(place) + 1) - (np.cumsum(counts) - counts)[place]
        several = np.atleast_2d(self.state)
        base = np.zeros(len(place), np.int64) if self.bases is None else self.bases[place]
        position = self.positions[place]
        new = choice != several[base, position]
        if not new.all():
            place, choice, base, position = place[new], choice[new], base[new], position[new]
        states = several[base]
        states[np.arange(len(place)), position] = choice
        return base, states, place

    def _changes_of_one(self, problem: Problem, position: int) -> tuple[Indices, States, Indices]:
        """Return what `changes` gives for one position of one state, none of them a repeat."""
        state = self.state.reshape(-1)
        first, end = problem.ptr[position : position + 2].tolist()
        choices = np.arange(1, end - first + 1, dtype=np.int16)
        if state[position]:
            choices = choices[choices != state[position]]
        states = state[None].repeat(len(choices), axis=0)
        states[:, position] = choices
        zeros = np.zeros(len(choices), dtype=np.int64)
        return zeros, states, zeros


@dataclass(eq=False, slots=True)
class Propose:
    """Ask for the candidates of some positions, which have none before.

    Candidate models cost as much as the victim: ask only for words that may really be changed.
    Positions that are not eligible stay without. Nothing is charged.

    Args:
        positions: where, `(positions,)`.
        soon: where the search will ask next unless it ends before. Candidates that no model makes
            are made there too, all at once.
    """

    positions: Indices
    soon: Indices | None = None


@dataclass(eq=False, slots=True)
class Gradient:
    """Ask for the gradient of the victim's loss towards the word embeddings of a state.

    White-box attacks only. Nothing is charged.

    Args:
        state: `int16 (words,)`, without a deleted word.
        loss: which loss.
        among: the words whose answers enter the loss, `bool (words,)`; None takes all.
        characters: ask for the gradient towards the characters' embeddings too.
        measured: ask for the loss itself, too.
    """

    state: State
    loss: Loss = "margin"
    among: Mask | None = None
    characters: bool = False
    measured: bool = False


@dataclass(eq=False, slots=True)
class Check:
    """Ask which changes of one word each constraints on changed sentences admit.

    `Answer.places` are the rows of those that pass. Nothing is charged.

    Args:
        state: before the change, `int16 (words,)`, without a deleted word.
        states: each with one more word changed, `int16 (n, words)`.
    """

    state: State
    states: States


@dataclass(eq=False, slots=True)
class Compare:
    """Ask for the similarity of changes of one word each, by the constraint that measures one.

    Nothing is charged. Jin et al. 2020 (TextFooler, algorithm 1) take the most similar one of the
    candidates of a word that change the answer.

    Args:
        state: before the change, `int16 (words,)`, without a deleted word.
        states: each with one more word changed, or changed otherwise, `int16 (n, words)`.
    """

    state: State
    states: States

    def edits(self, problem: Problem) -> list[Edit]:
        """Return the changes, as constraints see them."""
        current = problem.text(self.state)
        positions = (self.states != self.state).argmax(axis=1).tolist()
        return [
            Edit(problem.sentence, current, problem.place(position), problem.word(state, position))
            for state, position in zip(self.states, positions, strict=True)
        ]


Request = Propose | Score | Expand | Check | Compare | Gradient


@dataclass(eq=False)
class Judged:
    """States with the goal's verdict on them.

    Args:
        states: `int16 (n, words)`.
        scores: higher is nearer the goal, `float64 (n,)`.
        success: whether the goal is reached, `bool (n,)`.
    """

    states: States
    scores: Floats
    success: Mask

    def best(self) -> int:
        """Return the row with the highest score, of those that succeed if any does.

        The first one on ties.
        """
        if not self.success[self.success.argmax()]:
            return int(self.scores.argmax())
        return int(np.where(self.success, self.scores, -np.inf).argmax())

    def better(self, asked: "Judged") -> "Judged":
        """Return only the best state of these and those, as one row.

        A success is better than any other state; these win ties, and there is at least one of them.
        """
        rows = [
            (one, slice(one.best(), one.best() + 1)) for one in (self, asked) if len(one.scores)
        ]
        bests = [Judged(one.states[row], one.scores[row], one.success[row]) for one, row in rows]
        return max(bests, key=lambda best: (best.success[0], best.scores[0]))


@dataclass(eq=False)
class Answer(Judged):
    """The states that were asked about, as far as constraints admit and the budget allows.

    Args:
        problem: the sentence with all candidates proposed so far.
        left: queries left in the budget, or None where there is none. At 0 the search is over: it
            must return its outcome, a further request that charges is an error.
        places: which of the states or positions of the request each row answers, `(n,)`, rising.
        similarities: the answer to `Compare`, higher is more similar, `float64 (n,)`; None where
            no constraint measures one, and to any other request.
        rises: of the states that succeed, how far the new answer's score has risen
            (`goals.goal.Verdict`), `float64 (n,)`; None where the goal does not measure it.

    Attributes:
        gradients: the answer to a request for a gradient, unset in any other.
    """

    problem: Problem
    left: int | None
    places: Indices = field(default_factory=lambda: np.zeros(1, dtype=np.int64))
    gradients: WordGradients = field(init=False)
    similarities: Floats | None = None
    rises: Floats | None = None

    def rows(self, rows: Indices) -> "Answer":
        """Return only these rows, with their states, verdicts and places."""
        parts = (self.states[rows], self.scores[rows], self.success[rows])
        rises = None if self.rises is None else self.rises[rows]
        return Answer(*parts, self.problem, self.left, self.places[rows], rises=rises)

    @property
    def over(self) -> bool:
        """Whether the budget is spent."""
        return self.left == 0

    def best_of_each(self) -> tuple[Indices, Indices]:
        """Return the places answered, rising, and the row with the highest score of each.

        The first one on ties.
        """
        begins = np.flatnonzero(_changes(self.places))
        if not len(begins):
            return begins, begins
        counts = np.diff(begins, append=len(self.places))
        highest = np.repeat(np.maximum.reduceat(self.scores, begins), counts)
        rows = np.flatnonzero(self.scores == highest)
        first = rows[_changes(self.places[rows])]
        return self.places[first], first


def _changes(values: Indices) -> Mask:
    """Where a value differs from the one before it, `(n,)`."""
    changes = np.ones(len(values), dtype=np.bool_)
    np.not_equal(values[1:], values[:-1], out=changes[1:])
    return changes


Outcome = Literal["best", "last"]
"""What a search settles on: the best state that it has asked about, or the last one."""

T = TypeVar("T")

Searching = Generator[Request, Answer, T]
"""Yields requests, is sent their answers, and returns what was searched for."""


class Search(ABC):
    """An attack's strategy. Nothing is kept between runs.

    Settings are constructor arguments; one that is out of range raises an InputError.

    Attributes:
        asks: whether it may ask anything of the victim, or reads `clean`. One that does not can
            make adversaries for training without a victim's answer.
    """

    asks: bool = True

    def warnings(self) -> Iterator[str]:
        """Yield settings that make the scores of an attack say little."""
        yield from ()

    @abstractmethod
    def run(self, problem: Problem, clean: Answer, rng: np.random.Generator) -> Searching[Any]:
        """Search one sentence; return the state to settle on, which is predicted again.

        Args:
            problem: the search space, without candidates as yet.
            clean: the verdict on the original sentence, which was query 1.
            rng: the sentence's own random stream.
        """
