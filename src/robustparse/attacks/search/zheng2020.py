"""Black-box word substitution of Zheng et al. 2020, section 3.2 (sentence level).

Words are ranked once by the errors that the unknown word causes in their position. For each of the
first kappa attackable words, the candidate with most errors in the *original* sentence is chosen.
All choices are then applied together, regardless of their interaction.

Differences between the paper and its released code are options. For character models, the code
takes L over all words, as the paper does.
"""

from typing import Any, Literal

import numpy as np

from robustparse.attacks.edit_budget import edit_budget
from robustparse.attacks.problem import UNKNOWN, Problem, one_changed
from robustparse.attacks.search.requests import Answer, Expand, Propose, Score, Search, Searching
from robustparse.data.fractions import check_fraction
from robustparse.errors import check_choice, check_least
from robustparse.types import Floats, Indices, Mask


class Zheng2020(Search):
    """Ranks once, then chooses substitutes independently.

    Sentence constraints judge each candidate in the original sentence. When the choices are
    combined, changes that they reject in combination are left out.

    Args:
        gamma: fraction of the words that may be changed; kappa = max(1, floor(gamma * L)). The
            paper uses 0.05, 0.10 and 0.15.
        psi: maximum number of scored candidates per word, after the constraints (released code:
            51). The paper takes 50 before comparing tags: `top_k` of the recipe's `MaskedLM`.
        length: the definition of L: `words`, all words (paper), or `counted`, words that enter the
            scores (released code).
        ranking: `unknown` as in the paper; `random` takes attackable words at random without
            queries, as the released code does to make training data.
        harmless: what to do if no candidate of a word raises the score above that of the original
            sentence: `first` takes the first candidate anyway (released code), `skip` keeps the
            word.
    """

    def __init__(
        self,
        *,
        gamma: float = 0.15,
        psi: int = 50,
        length: Literal["words", "counted"] = "words",
        ranking: Literal["unknown", "random"] = "unknown",
        harmless: Literal["first", "skip"] = "first",
    ) -> None:
        check_fraction("search: gamma", gamma)
        check_least("search", psi=psi)
        check_choice("search: length", length, ("words", "counted"))
        check_choice("search: ranking", ranking, ("unknown", "random"))
        check_choice("search: harmless", harmless, ("first", "skip"))
        self.gamma = gamma
        self.psi = psi
        self.length = length
        self.ranking = ranking
        self.harmless = harmless

    def run(self, problem: Problem, clean: Answer, rng: np.random.Generator) -> Searching[Any]:
        """See `Search.run`."""
        start = problem.start()
        if not problem.eligible.any():
            return start
        counted = problem.counted
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
            ranked = _by_errors(asked, answer.scores, problem.eligible, rng)[:kappa]
        yield Propose(ranked)
        answer = yield Expand(start, ranked, limits=np.full(len(ranked), self.psi))
        index, best = answer.best_of_each()
        harmful = answer.scores[best] > clean.scores[0]
        chosen = np.where(harmful, best, np.searchsorted(answer.origins, index))
        applied = harmful | (self.harmless == "first")
        positions = ranked[index[applied]]
        state = start.copy()
        state[positions] = answer.states[chosen[applied], positions]
        return state


def _by_errors(asked: Indices, scores: Floats, eligible: Mask, rng: np.random.Generator) -> Indices:
    """Return attackable positions by falling score, ties in uniformly random order."""
    order = asked[np.lexsort((rng.random(len(asked)), -scores))]
    return order[eligible[order]]
