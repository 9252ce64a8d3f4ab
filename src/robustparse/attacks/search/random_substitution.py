"""Random substitution: makes a few random variants of a sentence and takes the most harmful one.

With one trial this is data augmentation with the attack's candidates. It suits training, where an
adversary must be cheap: it changes many words but needs only one or two queries per sentence.
"""

from typing import Any

import numpy as np

from robustparse.attacks.edit_budget import edit_budget
from robustparse.attacks.problem import Problem
from robustparse.attacks.search.requests import Answer, Propose, Score, Search, Searching
from robustparse.data.fractions import check_fraction
from robustparse.errors import check_least
from robustparse.types import Indices, States


class RandomSubstitution(Search):
    """Changes random words simultaneously, as far as the sentence constraints admit the changes.

    Args:
        gamma: fraction of the words that are changed; kappa = max(1, floor(gamma * words)).
        trials: number of random states, at most the largest number of candidates of a word, so that
            the states differ. The one with the highest score is taken; ties go to the first. One
            trial needs no query.
    """

    def __init__(self, *, gamma: float = 0.15, trials: int = 2) -> None:
        check_fraction("search: gamma", gamma)
        check_least("search", trials=trials)
        self.gamma, self.trials = gamma, trials
        self.asks = trials > 1

    def run(self, problem: Problem, clean: Answer, rng: np.random.Generator) -> Searching[Any]:
        """See `Search.run`."""
        kappa = edit_budget(self.gamma, len(problem))
        shuffled = rng.permutation(np.flatnonzero(problem.eligible))
        positions: Indices = np.sort(shuffled[:kappa])
        problem = (yield Propose(positions)).problem
        states = self._states(problem, positions, rng)
        if len(states) < 2:
            return states[0]
        answer = yield Score(states, base=problem.start())
        if not len(answer.scores):
            return problem.start()
        return answer.states[answer.scores.argmax()]

    def _states(self, problem: Problem, positions: Indices, rng: np.random.Generator) -> States:
        """Draw candidates at all positions, `(trials, words)`, different ones if possible."""
        counts = problem.ptr[positions + 1] - problem.ptr[positions]
        trials = min(self.trials, max(1, int(counts.max(initial=1))))
        states = np.zeros((trials, len(problem)), dtype=np.int16)
        for position, count in zip(positions.tolist(), counts.tolist(), strict=True):
            if count:
                # `resize` repeats candidates if there are fewer than trials.
                states[:, position] = 1 + np.resize(rng.permutation(count), trials)
        return states
