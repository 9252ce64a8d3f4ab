"""DeepWordBug (Gao et al. 2018, algorithm 1): misspell the most important words, without asking."""

from typing import Any

import numpy as np

from robustparse.attacks.problem import Problem
from robustparse.attacks.search.rankings import Ranking
from robustparse.attacks.search.requests import Answer, Check, Propose, Search, Searching


class DeepWordBug(Search):
    """Puts the first candidate of each word into the text, in order of importance.

    Only the ranking queries the victim. The words end when the constraints, such as
    `LevenshteinDistance`, admit no further change; a victim that errs earlier does not stop the
    search. To ask after each change and to stop at a success, as TextAttack does, take
    `GreedyByImportance`.

    Args:
        ranking: the order of the words. The scores of the paper are `UnknownWord` (replace-1) and
            `TemporalScore` (temporal head, temporal tail, combined).
    """

    needs = ()  # the ranking may need scores

    def __init__(self, ranking: Ranking) -> None:
        self.ranking = ranking

    def run(self, problem: Problem, clean: Answer, rng: np.random.Generator) -> Searching[Any]:
        """See `Search.run`."""
        state = problem.start()
        ranked = yield from self.ranking.rank(problem, clean, rng)
        for rank, position in enumerate(ranked.positions.tolist()):
            proposed = Propose(np.array([position]), soon=ranked.positions[rank:])
            problem = (yield proposed).problem
            if problem.ptr[position] == problem.ptr[position + 1]:
                continue
            changed = state.copy()
            changed[position] = 1
            if len((yield Check(state, changed[None])).origins):
                state = changed
        return state
