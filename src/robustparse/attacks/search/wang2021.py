"""Black-box word substitution of Wang et al. 2021, algorithm 1.

Words are ranked once, by what the unknown word does in their place; then each is replaced by the
candidate that does the most harm to the sentence as it stands by then, if it does any, until so
many words as the budget allows are changed. The paper's harm is the mean of the drops of two scores
(equation 3 with lambda 0.5), as the goal of the recipe says.

The released code counts errors where the paper speaks of scores, which ranks alike; its weight of
fluency is 0 as published and left out here.
"""

from typing import Any, Literal

import numpy as np

from robustparse.attacks.edit_budget import check_gamma, edit_budget
from robustparse.attacks.problem import Problem
from robustparse.attacks.search.rankings import Ranking, UnknownWord
from robustparse.attacks.search.requests import Answer, Expand, Propose, Search, Searching
from robustparse.errors import check_choice


class Wang2021(Search):
    """Rank once, then substitute one after the other, as long as it does harm.

    The search does not stop at the first success. Ties break by position, then by candidate index.

    Args:
        gamma: share of the words that may be changed (0.15).
        length: how many of n words that are: `words`, ceil(gamma * n), as the paper continues until
            gamma * n are changed; or `rooted`, max(1, floor(gamma * (n + 1))), as the released code
            counts ROOT too.
        ranking: in which order words are visited; by default by the unknown word.
    """

    def __init__(
        self,
        *,
        gamma: float = 0.15,
        length: Literal["words", "rooted"] = "words",
        ranking: Ranking | None = None,
    ) -> None:
        check_gamma(gamma)
        check_choice("search: length", length, ("words", "rooted"))
        self.gamma, self.length = gamma, length
        self.ranking = ranking or UnknownWord()

    def run(self, problem: Problem, clean: Answer, rng: np.random.Generator) -> Searching[Any]:
        """See `Search.run`."""
        state, score = problem.start(), float(clean.scores[0])
        ranked = yield from self.ranking.rank(problem, clean, rng)
        if ranked.over:
            return state
        budget = self._budget(len(problem))
        for place, position in enumerate(ranked.positions[:, None]):
            if np.count_nonzero(state) == budget:
                break
            yield Propose(position, soon=ranked.positions[place:])
            answer = yield Expand(state, position)
            if len(answer.scores) and answer.scores.max() > score:
                best = answer.scores.argmax()
                state, score = answer.states[best], float(answer.scores[best])
            if answer.over:
                break
        return state

    def _budget(self, words: int) -> int:
        if self.length == "words":
            return edit_budget(self.gamma, words, up=True)
        return edit_budget(self.gamma, words + 1)
