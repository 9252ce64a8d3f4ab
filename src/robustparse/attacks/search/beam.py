"""Beam search and greedy search over all single changes (Yoo et al. 2020, section 3).

Starting with the original sentence, each round scores all ways to change one more word of each
member of the beam; the best states form the next beam, until the goal is reached or no word is
left. A word is changed at most once. The best score of a round may be lower than that of the round
before; the best state of all rounds is remembered.
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

    Ties go to the first member, then to the first position, then to the first candidate; sorts are
    stable.

    Args:
        width: members of the beam (TextAttack: 8; Yoo et al. 2020: 4 and 8).
        members: different members may lead to the same state. `unite` scores it once, since the
            candidates of a round are a set in the paper; `concatenate` scores, charges and keeps
            every copy, as TextAttack does.
        outcome: without success, return the `best` scored state, which may be the original
            sentence, or the best state of the `last` round (TextAttack).
        until: what ends the search: the first `success`, or a round without any (`failure`; Feng et
            al. 2018, who remove words as long as the label stays). Then only successes stay in the
            beam, and the one with the highest score is returned.
    """

    def __init__(
        self,
        *,
        width: int = 8,
        members: Literal["unite", "concatenate"] = "unite",
        outcome: Outcome = "best",
        until: Literal["success", "failure"] = "success",
    ) -> None:
        check_least("search", width=width)
        check_choice("search: members", members, ("unite", "concatenate"))
        check_choice("search: outcome", outcome, get_args(Outcome))
        check_choice("search: until", until, ("success", "failure"))
        self.width, self.members, self.outcome = width, members, outcome
        self.until = until

    def run(self, problem: Problem, clean: Answer, rng: np.random.Generator) -> Searching[Any]:
        """See `Search.run`."""
        best: Judged = clean
        beam = clean.states
        problem = (yield Propose(np.flatnonzero(problem.eligible))).problem
        while (changeable := problem.changeable(beam)).any():
            bases, positions = np.nonzero(changeable)
            # A single member never leads to the same state twice.
            unite = self.members == "unite" and len(beam) > 1
            answer = yield Expand(beam, positions, bases=bases, distinct=unite)
            if not len(answer.scores):  # the constraints reject all changes
                break
            best = best.better(answer) if self.outcome == "best" else answer
            if answer.over or answer.success.any() == (self.until == "success"):
                break
            if self.until == "failure":
                answer = answer.rows(np.flatnonzero(answer.success))
            beam = answer.states[np.argsort(-answer.scores, kind="stable")[: self.width]]
        return best.states[best.best()]


class Greedy(Beam):
    """Beam search of width 1: takes the best single change in every round.

    Args:
        outcome: see `Beam`.
    """

    def __init__(self, *, outcome: Outcome = "best") -> None:
        super().__init__(width=1, outcome=outcome)
