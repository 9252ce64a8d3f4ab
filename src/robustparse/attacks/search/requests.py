"""The requests that a search may make, the answers it receives, and the base class of searches.

A search is a generator: it yields `Propose`, `Score`, `Expand`, `Predict`, `Check`, `Compare` or
`Gradient`, receives an `Answer`, and returns its final state. It does not call a model and sees
only one sentence, so that the scheduler can answer hundreds of searches with one forward pass.
"""

from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np

from robustparse.attacks.constraints.sentence_constraint import Edit
from robustparse.attacks.problem import Problem, State
from robustparse.attacks.search.gradients import WordGradients
from robustparse.attacks.victim import Loss
from robustparse.types import Floats, Indices, Mask, Predictions, States


@dataclass(eq=False, slots=True)
class Score:
    """Asks the victim to score states.

    Args:
        states: `int16 (n, words)`.
        base: the state from which they were made, `int16 (words,)`. Sentence constraints judge the
            changes from left to right, and the states are scored without rejected changes. None:
            the states are not judged.
    """

    states: States
    base: State | None = None

    def asked(self, problem: Problem) -> tuple[States, Indices]:
        """Return the states to score, `(n, words)`, and the row of each in `states`, `(n,)`."""
        return self.states, np.arange(len(self.states))


@dataclass(eq=False, slots=True)
class Expand:
    """Asks the victim to score all candidates at some positions, each as one change to a state.

    The states are ordered by position, then by candidate, without the current choice.

    Args:
        state: the state to change, `int16 (words,)`, or several states, `(states, words)`.
        positions: the positions to change, `(positions,)`.
        limits: score only the first N admitted candidates of each position, `(positions,)`.
        bases: the row in `state` that belongs to each position, `(positions,)`.
        distinct: score a state only once if it follows from several bases.
        judged: score only changes that pass the sentence constraints; otherwise all changes are
            scored, and the search must `Check` those that it takes.
    """

    state: States
    positions: Indices
    limits: Indices | None = None
    bases: Indices | None = None
    distinct: bool = False
    judged: bool = True

    def asked(self, problem: Problem) -> tuple[States, Indices]:
        """Return the states to score, `(n, words)`, and the rising index in `positions` of each."""
        return self.first(*self.changes(problem)[1:])

    def first(self, states: States, origins: Indices) -> tuple[States, Indices]:
        """Apply `limits` and `distinct` to changed states and their indices in `positions`."""
        if self.limits is not None:
            rank = np.arange(len(origins)) - np.searchsorted(origins, origins)
            kept = rank < self.limits[origins]
            states, origins = states[kept], origins[kept]
        if self.distinct:
            fresh = np.sort(np.unique(states, axis=0, return_index=True)[1])
            states, origins = states[fresh], origins[fresh]
        return states, origins

    def changes(self, problem: Problem) -> tuple[Indices, States, Indices]:
        """Make all changes, without regard to `limits` and `distinct`.

        Returns:
            The row in `state` that is changed, `(n,)`, the changed states, `(n, words)`, and the
            index in `positions` of the change, `(n,)`, rising.
        """
        if self.bases is None and len(self.positions) == 1:
            return self._changes_at(problem, int(self.positions[0]))
        counts = problem.ptr[self.positions + 1] - problem.ptr[self.positions]
        origin = np.repeat(np.arange(len(counts)), counts)
        choice = np.arange(1, len(origin) + 1) - (np.cumsum(counts) - counts)[origin]
        several = np.atleast_2d(self.state)
        base = np.zeros(len(origin), np.int64) if self.bases is None else self.bases[origin]
        position = self.positions[origin]
        new = choice != several[base, position]
        if not new.all():
            origin, choice, base, position = origin[new], choice[new], base[new], position[new]
        states = several[base]
        states[np.arange(len(origin)), position] = choice
        return base, states, origin

    def _changes_at(self, problem: Problem, position: int) -> tuple[Indices, States, Indices]:
        """Make the changes of a single position of a single state, the most frequent case."""
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
class Predict:
    """Asks the victim for its predictions of states, which the goal does not judge.

    Each state is charged; the caller must not repeat one. The answer has `Answer.predictions`.

    Args:
        states: `int16 (n, words)`.
    """

    states: States


@dataclass(eq=False, slots=True)
class Propose:
    """Asks for the candidates at some positions; before that, a position has none.

    Candidate models cost as much as the victim, so a search should ask only for words that it may
    change. Positions that are not eligible get no candidates. Nothing is charged.

    Args:
        positions: `(positions,)`.
        soon: positions that the search will need later unless it ends before. If no model makes
            the candidates, they are made for these positions, too.
        state: the current state, `(words,)`, to ask for the further candidates of words that have
            been visited (`CandidateGenerator.follows`). They come after the earlier candidates.
    """

    positions: Indices
    soon: Indices | None = None
    state: State | None = None


@dataclass(eq=False, slots=True)
class Gradient:
    """Asks for the gradient of the victim's loss at the word embeddings of a state.

    Only for white-box attacks. Nothing is charged.

    Args:
        state: `int16 (words,)`, without deleted words.
        loss: which loss.
        among: the words whose answers enter the loss, `bool (words,)`; None takes all.
        characters: whether to compute the gradient at the characters' embeddings, too.
        measured: whether to return the loss itself, too.
    """

    state: State
    loss: Loss = "margin"
    among: Mask | None = None
    characters: bool = False
    measured: bool = False


@dataclass(eq=False, slots=True)
class Check:
    """Asks which one-word changes the sentence constraints admit.

    `Answer.origins` are the rows of the admitted states. Nothing is charged.

    Args:
        state: the state before the change, `int16 (words,)`, without deleted words.
        states: states with one more changed word each, `int16 (n, words)`.
    """

    state: State
    states: States


@dataclass(eq=False, slots=True)
class Compare:
    """Asks for the similarity of one-word changes, by the first constraint that measures it.

    Among the candidates of a word that change the answer, Jin et al. 2020 (TextFooler, algorithm 1)
    take the most similar one. Nothing is charged.

    Args:
        state: the state before the change, `int16 (words,)`, without deleted words.
        states: states that differ from it in one word each, `int16 (n, words)`.
    """

    state: State
    states: States

    def edits(self, problem: Problem) -> list[Edit]:
        """Return the changes as edits of the text."""
        current = problem.text(self.state)
        positions = (self.states != self.state).argmax(axis=1).tolist()
        return [
            Edit(
                problem.sentence,
                current,
                problem.text_position(position),
                problem.word(state, position),
            )
            for state, position in zip(self.states, positions, strict=True)
        ]


Request = Propose | Score | Expand | Predict | Check | Compare | Gradient


@dataclass(eq=False)
class Judged:
    """States with the goal's verdict.

    Args:
        states: `int16 (n, words)`.
        scores: higher is nearer the goal, `float64 (n,)`.
        success: whether the goal is reached, `bool (n,)`.
    """

    states: States
    scores: Floats
    success: Mask

    def best(self) -> int:
        """Return the row with the highest score, among the successes if there are any.

        The first row wins ties.
        """
        if not self.success[self.success.argmax()]:
            return int(self.scores.argmax())
        return int(np.where(self.success, self.scores, -np.inf).argmax())

    def better(self, other: "Judged") -> "Judged":
        """Return the best state of both, as one row.

        A success is better than any other state. Ties go to `self`, which must not be empty.
        """
        bests = []
        for judged in (self, other):
            if len(judged.scores):
                row = slice(judged.best(), judged.best() + 1)
                bests.append(Judged(judged.states[row], judged.scores[row], judged.success[row]))
        return max(bests, key=lambda best: (best.success[0], best.scores[0]))


@dataclass(eq=False)
class Answer(Judged):
    """The scored states, as far as the constraints admit them and the budget allows.

    Args:
        problem: the sentence with all candidates proposed so far.
        left: queries left in the budget, or None without a budget. At 0 the search must return its
            outcome; a further request that charges is an error.
        origins: the index of each row in the states or positions of the request, `(n,)`, rising.
        similarities: the answer to `Compare`, higher is more similar, `float64 (n,)`; None if no
            constraint measures similarity, and for other requests.
        rises: see `Verdict`.

    Attributes:
        gradients: the answer to `Gradient`; unset for other requests.
        predictions: the answer to `Predict`, arrays of n rows; unset for other requests.
    """

    problem: Problem
    left: int | None
    origins: Indices = field(default_factory=lambda: np.zeros(1, dtype=np.int64))
    gradients: WordGradients = field(init=False)
    predictions: Predictions = field(init=False)
    similarities: Floats | None = None
    rises: Floats | None = None

    def rows(self, rows: Indices) -> "Answer":
        """Select rows with their states, verdicts and origins."""
        judged = (self.states[rows], self.scores[rows], self.success[rows])
        rises = None if self.rises is None else self.rises[rows]
        return Answer(*judged, self.problem, self.left, self.origins[rows], rises=rises)

    @property
    def over(self) -> bool:
        """Whether the budget is spent."""
        return self.left == 0

    def best_of_each(self) -> tuple[Indices, Indices]:
        """Return the distinct origins, rising, and the row with the highest score for each.

        The first row wins ties.
        """
        begins = np.flatnonzero(_changes(self.origins))
        if not len(begins):
            return begins, begins
        counts = np.diff(begins, append=len(self.origins))
        highest = np.repeat(np.maximum.reduceat(self.scores, begins), counts)
        rows = np.flatnonzero(self.scores == highest)
        first = rows[_changes(self.origins[rows])]
        return self.origins[first], first


def _changes(values: Indices) -> Mask:
    """Tell which values differ from the previous one, `(n,)`; the first one does."""
    changes = np.ones(len(values), dtype=np.bool_)
    np.not_equal(values[1:], values[:-1], out=changes[1:])
    return changes


Outcome = Literal["best", "last"]
"""Which state a search returns without success: the best scored state, or the last one."""

T = TypeVar("T")

Searching = Generator[Request, Answer, T]
"""A generator that yields requests, receives their answers and returns a T."""


class Search(ABC):
    """The strategy of an attack. It keeps nothing between sentences.

    Settings are constructor arguments; one that is out of range raises an InputError.

    Attributes:
        asks: whether it may query the victim or read `clean`. A search that does neither
            makes adversarial examples for training without any prediction.
        needs: what it needs of the victim: `gradients`; `scores`, which say how near a text is to
            the goal, and are 0 or 1 for labels without probabilities; `probabilities`, if its
            choices mean nothing on such scores; or nothing but its answers.
        follows: whether it asks for the candidates that follow a change (`Propose.state`).
    """

    asks: bool = True
    follows: ClassVar[bool] = False
    needs: ClassVar[tuple[str, ...]] = ("scores",)

    def warnings(self) -> Iterator[str]:
        """Yield warnings about settings that make the scores of an attack unreliable."""
        yield from ()

    @abstractmethod
    def run(self, problem: Problem, clean: Answer, rng: np.random.Generator) -> Searching[Any]:
        """Search one sentence and return the final state, which is predicted again.

        Args:
            problem: the search space, still without candidates.
            clean: the verdict on the original sentence, which was query 1.
            rng: the random stream of the sentence.
        """
