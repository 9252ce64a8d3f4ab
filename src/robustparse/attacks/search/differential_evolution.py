"""Differential evolution (Storn and Price 1997), with which Boucher et al. 2021 choose edits.

A member is a vector of real numbers, one for each edit, which name candidates by their number in
the sentence. The strategy is `best1bin` of SciPy, which the paper uses, with the members of a
generation scored together.
"""

from typing import Any

import numpy as np

from robustparse.attacks.problem import Problem
from robustparse.attacks.search.requests import (
    Answer,
    Judged,
    Propose,
    Score,
    Search,
    Searching,
)
from robustparse.errors import check_least
from robustparse.types import Floats, States

# As in SciPy: the range from which each generation's mutation factor is drawn, and the probability
# that a child takes a number from the mutant.
_MUTATION, _RECOMBINATION = (0.5, 1.0), 0.7


class DifferentialEvolution(Search):
    """Evolves vectors of edits until the goal is reached.

    A number is rounded; -1 is no edit. If two edits of a member name one word, the later one
    counts. Without success, the best scored state is returned.

    Args:
        edits: edits of a sentence at most (1 to 5 in the paper).
        population: members for each edit (32).
        generations: generations after the first one (10; their code for entailment: 3).
    """

    needs = ("probabilities",)

    def __init__(self, *, edits: int = 1, population: int = 32, generations: int = 10) -> None:
        check_least("search", edits=edits, generations=generations)
        check_least("search", 3, population=population)  # a mutant has two other parents
        self.edits, self.population, self.generations = edits, population, generations

    def run(self, problem: Problem, clean: Answer, rng: np.random.Generator) -> Searching[Any]:
        """See `Search.run`."""
        problem = (yield Propose(np.flatnonzero(problem.eligible))).problem
        if not len(problem.rows):
            return problem.start()
        members = self._first(rng)
        fitness = np.full(len(members), -np.inf)
        best: Judged = clean
        trials = members
        for generation in range(1 + self.generations):
            if generation:
                trials = self._mutated(members, fitness, rng)
            answer = yield Score(self._states(problem, trials), base=problem.start())
            best = best.better(answer)
            if answer.success.any() or answer.over:
                break
            # A trial that the constraints reject as a whole is not scored.
            scores = np.full(len(trials), -np.inf)
            scores[answer.origins] = answer.scores
            better = scores >= fitness
            members, fitness = members.copy(), np.where(better, scores, fitness)
            members[better] = trials[better]
        return best.states[0]

    def _first(self, rng: np.random.Generator) -> Floats:
        """Draw a Latin hypercube in [0, 1): each number once from each of as many slices."""
        count = self.population * self.edits
        slices = np.stack([rng.permutation(count) for _ in range(self.edits)], axis=1)
        members: Floats = (slices + rng.random((count, self.edits))) / count
        return members

    def _mutated(self, members: Floats, fitness: Floats, rng: np.random.Generator) -> Floats:
        """Return one trial for each member, in [0, 1)."""
        count, edits = members.shape
        factor = rng.uniform(*_MUTATION)
        # Two different other members for each member, chosen by their offsets in the population.
        away = rng.permuted(np.tile(np.arange(1, count), (count, 1)), axis=1)[:, :2]
        first, second = (members[(np.arange(count) + each) % count] for each in away.T)
        mutants = members[fitness.argmax()] + factor * (first - second)
        outside = (mutants < 0) | (mutants >= 1)
        mutants = np.where(outside, rng.random(mutants.shape), mutants)
        taken = rng.random((count, edits)) < _RECOMBINATION
        taken[np.arange(count), rng.integers(0, edits, count)] = True
        trials: Floats = np.where(taken, mutants, members)
        return trials

    def _states(self, problem: Problem, members: Floats) -> States:
        """Convert members in [0, 1) to states, `(members, words)`."""
        states = np.repeat(problem.start()[None], len(members), axis=0)
        numbers = np.rint(members * len(problem.rows) - 1).astype(np.int64)
        for edit in numbers.T:
            rows = np.flatnonzero(edit >= 0)
            positions = np.searchsorted(problem.ptr, edit[rows], side="right") - 1
            states[rows, positions] = 1 + edit[rows] - problem.ptr[positions]
        return states
