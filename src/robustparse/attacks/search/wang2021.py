"""Black-box word substitution of Wang et al. 2021, algorithm 1.

Words are ranked once, by the effect of the unknown word in their position. Each is then replaced by
the candidate that lowers the parser's scores most in the current sentence, if any lowers them,
until the budget of changed words is used up. The paper takes the mean drop of two scores (equation
3 with lambda 0.5), which is set in the recipe's goal.

The released code counts errors instead of scores, which gives the same ranking. Its fluency term
has weight 0 as published and is left out here.
"""

from typing import Literal

from robustparse.attacks.edit_budget import edit_budget
from robustparse.attacks.problem import Problem
from robustparse.attacks.search.importance import GreedyByImportance, When
from robustparse.attacks.search.rankings import Ranking, UnknownWord
from robustparse.data.fractions import check_fraction
from robustparse.errors import check_choice


class Wang2021(GreedyByImportance):
    """Ranks once, then substitutes word by word as long as the score rises.

    The search does not stop at the first success. Ties go to the first position, then to the first
    candidate.

    Args:
        gamma: fraction of the words that may be changed (0.15).
        length: the budget for n words: `words`, ceil(gamma * n), since the paper continues until
            gamma * n words are changed; or `rooted`, max(1, floor(gamma * (n + 1))), since the
            released code counts ROOT.
        ranking: the order in which words are visited; by default `UnknownWord`.
        judged: see `GreedyByImportance`.
    """

    to_success = False

    def __init__(
        self,
        *,
        gamma: float = 0.15,
        length: Literal["words", "rooted"] = "words",
        ranking: Ranking | None = None,
        judged: When = "before",
    ) -> None:
        check_fraction("search: gamma", gamma)
        check_choice("search: length", length, ("words", "rooted"))
        super().__init__(ranking or UnknownWord(), judged=judged)
        self.gamma, self.length = gamma, length

    def most_edits(self, problem: Problem) -> int:
        """Return the budget of changed words."""
        if self.length == "words":
            return edit_budget(self.gamma, len(problem), up=True)
        return edit_budget(self.gamma, len(problem) + 1)
