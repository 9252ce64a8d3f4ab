"""Black-box word substitution of Wang et al. 2021, algorithm 1.

Words are ranked once, by what the unknown word does in their place; then each is replaced by the
candidate that does the most harm to the current sentence, if it does any, until as many
words as the budget allows are changed. The paper's harm is the mean of the drops of two scores
(equation 3 with lambda 0.5), as the goal of the recipe says.

The released code counts errors where the paper speaks of scores, which ranks alike; its weight of
fluency is 0 as published and left out here.
"""

from typing import Literal

from robustparse.attacks.edit_budget import check_gamma, edit_budget
from robustparse.attacks.problem import Problem
from robustparse.attacks.search.importance import GreedyByImportance, When
from robustparse.attacks.search.rankings import Ranking, UnknownWord
from robustparse.errors import check_choice


class Wang2021(GreedyByImportance):
    """Rank once, then substitute one after the other, as long as it does harm.

    The search does not stop at the first success. Ties break by position, then by candidate index.

    Args:
        gamma: fraction of the words that may be changed (0.15).
        length: how many of n words that are: `words`, ceil(gamma * n), as the paper continues until
            gamma * n are changed; or `rooted`, max(1, floor(gamma * (n + 1))), as the released code
            counts ROOT too.
        ranking: in which order words are visited; by default by the unknown word.
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
        check_gamma(gamma)
        check_choice("search: length", length, ("words", "rooted"))
        super().__init__(ranking or UnknownWord(), judged=judged)
        self.gamma, self.length = gamma, length

    def most_edits(self, problem: Problem) -> int:
        """Return the budget."""
        if self.length == "words":
            return edit_budget(self.gamma, len(problem), up=True)
        return edit_budget(self.gamma, len(problem) + 1)
