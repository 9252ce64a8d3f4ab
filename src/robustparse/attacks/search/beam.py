"""Beam search and greedy search over all single changes (Yoo et al. 2020, section 3).

From the sentence as it is, all ways to change one more word of each member of the beam are asked
about, and the best ones are the next beam, until the goal is reached or no word is left. A word is
changed once at most. The score of the best member may fall from round to round: there is no test
that it rises, and the best state of all rounds is kept.
"""

from typing import Any, Literal, get_args

import numpy as np

from robustparse.attacks.problem import Problem
from robustparse.attacks.search.requests import (
    Answer,
    Expand,
    Judged,
    Outcome,
    Propose,
    Search,
    Searching,
)
from robustparse.errors import check_choice, check_least


class Beam(Search):
    """Keeps the best few states of every round.

    Ties break by the order of the members, then of the positions, then of the candidates; sorts are
    stable.

    Args:
        width: members of the beam (TextAttack: 8; Yoo et al. 2020: 4 and 8).
        members: two members may lead to the same state by different ways. `unite` asks about it
            once, as the candidates of a round are a set in the paper; `concatenate` asks, charges
            and keeps it as often as it comes, as TextAttack does.
        outcome: without success, the `best` state asked about, which may be the sentence as it is,
            or the best one of the `last` round (TextAttack).
    """

    def __init__(
        self,
        *,
        width: int = 8,
        members: Literal["unite", "concatenate"] = "unite",
        outcome: Outcome = "best",
    ) -> None:
        check_least("search", width=width)
        check_choice("search: members", members, ("unite", "concatenate"))
        check_choice("search: outcome", outcome, get_args(Outcome))
        self.width, self.members, self.outcome = width, members, outcome

    def run(self, problem: Problem, clean: Answer, rng: np.random.Generator) -> Searching[Any]:
        """See `Search.run`."""
        best: Judged = clean
        beam = clean.states
        problem = (yield Propose(np.flatnonzero(problem.eligible))).problem
        while (changeable := problem.changeable(beam)).any():
            bases, positions = np.nonzero(changeable)
            # One member alone leads to no state twice.
            unite = self.members == "unite" and len(beam) > 1
            answer = yield Expand(beam, positions, bases=bases, distinct=unite)
            if not len(answer.scores):  # constraints admit none
                break
            best = best.better(answer) if self.outcome == "best" else answer
            if answer.success.any() or answer.over:
                break
            beam = answer.states[np.argsort(-answer.scores, kind="stable")[: self.width]]
        return best.states[best.best()]


class Greedy(Beam):
    """Beam search of width 1: always the best single change, as long as there is one.

    Args:
        outcome: see `Beam`.
    """

    def __init__(self, *, outcome: Outcome = "best") -> None:
        super().__init__(width=1, outcome=outcome)
