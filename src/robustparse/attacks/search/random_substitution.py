"""Random substitution: a few random adversaries of a sentence, of which the worst is taken.

With one trial it is plain augmentation with the candidates of the attack. Where an adversary has to
be cheap, as in training, changing many words at random and asking about the whole sentence once or
twice teaches more for its queries than choosing each word with care.
"""

from typing import Any

import numpy as np

from robustparse.attacks.edit_budget import check_gamma, edit_budget
from robustparse.attacks.problem import Problem
from robustparse.attacks.search.requests import Answer, Propose, Score, Search, Searching
from robustparse.errors import check_least
from robustparse.types import Indices, States


class RandomSubstitution(Search):
    """Changes random words, all at once, as far as constraints on sentences admit each change.

    Args:
        gamma: fraction of the words that are changed; kappa = max(1, floor(gamma * words)).
        trials: random states, no more than the word with most candidates has, so that they differ;
            the one with the highest score is taken, the first on ties. With 1 nothing is asked.
    """

    def __init__(self, *, gamma: float = 0.15, trials: int = 2) -> None:
        check_gamma(gamma)
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
        """Random candidates at all positions, `(trials, words)`; the trials differ if they can."""
        counts = problem.ptr[positions + 1] - problem.ptr[positions]
        trials = min(self.trials, max(1, int(counts.max(initial=1))))
        states = np.zeros((trials, len(problem)), dtype=np.int16)
        for position, count in zip(positions.tolist(), counts.tolist(), strict=True):
            if count:
                # From the front again where a word has fewer candidates than there are trials.
                states[:, position] = 1 + np.resize(rng.permutation(count), trials)
        return states
