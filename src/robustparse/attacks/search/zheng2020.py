"""Black-box word substitution of Zheng et al. 2020, section 3.2 (sentence level).

Words are ranked once by the errors that the unknown word causes in their place; for the first
kappa attackable ones the candidate with the most errors is chosen, each on the
*original* sentence; all choices are then applied together, without a look at their interaction.

Where the paper and its released code differ, the difference is an option here. For character models
the code takes L over all words, as the paper does.
"""

from typing import Any, Literal

import numpy as np

from robustparse.attacks.edit_budget import check_gamma, edit_budget
from robustparse.attacks.problem import UNKNOWN, Problem, one_changed
from robustparse.attacks.search.requests import Answer, Expand, Propose, Score, Search, Searching
from robustparse.errors import check_choice, check_least
from robustparse.types import Floats, Indices, Mask


class Zheng2020(Search):
    """Rank once, then substitute independently.

    Constraints on sentences judge each candidate in the original sentence only; the words put
    together lose those that they do not admit together with the others.

    Args:
        gamma: fraction of the words that may be changed; kappa = max(1, floor(gamma * L)). The
            paper uses 0.05, 0.10 and 0.15.
        psi: candidates evaluated a word, of those that pass the constraints (released code: 51).
            The paper's 50 are taken before tags are compared: `top_k` of the recipe's `MaskedLM`.
        length: what L is: `words`, all words (paper), or `counted`, those that enter the scores
            (released code).
        ranking: `unknown` as in the paper; `random` takes attackable words at random, as the
            released code does when it makes training data, and asks nothing for it.
        harmless: when no candidate of a word raises the score above that of the original sentence:
            `first` applies the first candidate all the same (released code), `skip` leaves
            the word as it is.
        share_budget: with a query budget, evaluate no more candidates of a word than an even share
            of the queries left for the words left; otherwise the last words go without.
    """

    def __init__(
        self,
        *,
        gamma: float = 0.15,
        psi: int = 50,
        length: Literal["words", "counted"] = "words",
        ranking: Literal["unknown", "random"] = "unknown",
        harmless: Literal["first", "skip"] = "first",
        share_budget: bool = False,
    ) -> None:
        check_gamma(gamma)
        check_least("search", psi=psi)
        check_choice("search: length", length, ("words", "counted"))
        check_choice("search: ranking", ranking, ("unknown", "random"))
        check_choice("search: harmless", harmless, ("first", "skip"))
        self.gamma = gamma
        self.psi = psi
        self.length = length
        self.ranking = ranking
        self.harmless = harmless
        self.share_budget = share_budget

    def run(self, problem: Problem, clean: Answer, rng: np.random.Generator) -> Searching[Any]:
        """See `Search.run`."""
        start = problem.start()
        if not problem.eligible.any():
            return start
        left, counted = clean.left, problem.counted
        length = int(counted.sum()) if self.length == "counted" else len(counted)
        kappa = edit_budget(self.gamma, length)
        if self.ranking == "random":
            shuffled = rng.permutation(np.flatnonzero(problem.eligible))
            ranked: Indices = shuffled[:kappa]
        else:
            asked = np.flatnonzero(counted)
            answer = yield Score(one_changed(start, asked, UNKNOWN))
            if answer.over:
                return start
            left = answer.left
            ranked = _by_errors(asked, answer.scores, problem.eligible, rng)[:kappa]
        problem = (yield Propose(ranked)).problem
        limits = self._limits(problem, ranked, left)
        answer = yield Expand(start, ranked, limits)
        places, best = answer.best_of_each()
        harmful = answer.scores[best] > clean.scores[0]
        chosen = np.where(harmful, best, np.searchsorted(answer.places, places))
        put = harmful | (self.harmless == "first")
        where = ranked[places[put]]
        state = start.copy()
        state[where] = answer.states[chosen[put], where]
        return state

    def _limits(self, problem: Problem, ranked: Indices, left: int | None) -> Indices:
        """How many candidates of each position to evaluate, `(positions,)`."""
        counts = problem.ptr[ranked + 1] - problem.ptr[ranked]
        limits: Indices = np.minimum(counts, self.psi)
        if left is None or not self.share_budget:
            return limits
        for index in range(len(ranked)):
            # What a word with few candidates does not need goes to those after it.
            share = max(1, left // (len(ranked) - index)) if left > 0 else 0
            limits[index] = min(int(limits[index]), share)
            left -= int(limits[index])
        return limits


def _by_errors(asked: Indices, scores: Floats, eligible: Mask, rng: np.random.Generator) -> Indices:
    """Attackable positions by falling score, ties in uniformly random order."""
    order = asked[np.lexsort((rng.random(len(asked)), -scores))]
    return order[eligible[order]]
