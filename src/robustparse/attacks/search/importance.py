"""Greedy search in order of importance: words are ranked once, then visited one by one.

Algorithm 1 of Jin et al. 2020 (TextFooler) in the form of Yoo et al. 2020, section 3: at each word,
all candidates are scored in the current sentence, and the best one is taken if the score rises.
Among several successful candidates, Jin et al. take the most similar sentence, Yoo et al. the
highest score. PWWS as described by its authors (Ren et al. 2019, algorithm 1) determines the best
candidates in the original sentence and substitutes them one after the other.
"""

from typing import Any, Literal, get_args

import numpy as np

from robustparse.attacks.problem import Problem, State
from robustparse.attacks.search.rankings import Ranking, WeightedSaliency
from robustparse.attacks.search.requests import (
    Answer,
    Check,
    Compare,
    Expand,
    Judged,
    Outcome,
    Propose,
    Score,
    Search,
    Searching,
)
from robustparse.errors import check_choice

When = Literal["before", "after"]
Accept = Literal["current", "original", "any"]
Winner = Literal["score", "similar", "first"]

_Taken = tuple[State, float, bool]


class GreedyByImportance(Search):
    """Takes the best strictly improving candidate of each word, until the goal is reached.

    A word is changed at most once, and skipped if it has no candidates. Ties go to the first
    candidate. If there are candidates that follow a change (`CandidateGenerator.follows`), each
    word is then visited once more, in the current sentence, whether it was changed or not; both
    changes count as one changed word (BAE-R+I; Garg and Ramakrishnan 2020, section 3).

    Args:
        ranking: the order in which words are visited.
        winner: which one of a word's successful candidates is taken: the one with the highest
            `score` (Yoo et al. 2020), the most `similar` one (Jin et al. 2020, algorithm 1) by the
            first constraint that measures similarity (without such a constraint, the score
            decides), or the `first` one (Li et al. 2020, algorithm 1). All are charged.
        judged: whether sentence constraints judge candidates `before` the victim scores them, or
            `after`, from the best one downwards until one passes. The outcome is the same unless a
            query budget ends the search. `after` charges more queries but judges fewer sentences,
            which is faster if a constraint is slower than the victim.
        accept: a candidate that does not succeed is taken if its score exceeds that of the
            `current` sentence (Jin et al. 2020, algorithm 1), or of the `original` sentence (their
            released code), so that the score may fall again. `any` takes a word's best candidate
            whatever its score (Li et al. 2018, algorithm 2).

    Attributes:
        to_success: whether a success ends the search and is preferred to a higher score.
    """

    to_success = True
    follows = True

    def __init__(
        self,
        ranking: Ranking,
        winner: Winner = "score",
        judged: When = "before",
        accept: Accept = "current",
    ) -> None:
        check_choice("search: winner", winner, get_args(Winner))
        check_choice("search: judged", judged, get_args(When))
        check_choice("search: accept", accept, get_args(Accept))
        self.ranking, self.winner = ranking, winner
        self.judged, self.accept = judged, accept

    def run(self, problem: Problem, clean: Answer, rng: np.random.Generator) -> Searching[Any]:
        """See `Search.run`."""
        state, score = problem.start(), float(clean.scores[0])
        ranked = yield from self.ranking.rank(problem, clean, rng)
        if ranked.over:
            return state
        most = min(self.most_edits(problem), problem.most_edits)
        for rank, position in enumerate(ranked.positions[:, None]):
            if np.count_nonzero(state) == most:
                break
            problem = (yield Propose(position, soon=ranked.positions[rank:])).problem
            answer = yield Expand(state, position, judged=self.judged == "before")
            state, score, over = yield from self._taken(state, score, answer)
            if problem.follows and not over:
                known = problem.ptr[position + 1] - problem.ptr[position]
                problem = (yield Propose(position, state=state)).problem
                end = problem.ptr[position + 1] - problem.ptr[position]
                states = np.repeat(state[None], int(end[0] - known[0]), axis=0)
                states[:, position[0]] = np.arange(known[0], end[0]) + 1
                answer = yield Score(states, base=state if self.judged == "before" else None)
                state, score, over = yield from self._taken(state, score, answer)
            if over:
                break
        return state

    def _taken(self, state: State, score: float, answer: Answer) -> Searching[_Taken]:
        """Change a word by its best candidate if that helps.

        Args:
            state: the current state.
            score: what the score of a candidate must exceed.
            answer: the scored candidates.

        Returns:
            The new state, the score to exceed next, and whether the search is over.
        """
        if not self.to_success:
            # This search ignores success: only the score counts.
            answer.success = np.zeros_like(answer.success)
        if self.judged == "after":
            answer = yield from self._admitted(state, answer, score)
        if not len(answer.scores):
            return state, score, answer.over
        best = answer.best()
        reached = bool(answer.success[best])
        if reached and self.winner == "similar":
            best = yield from _most_similar(state, answer)
        elif reached and self.winner == "first":
            best = int(answer.success.argmax())
        if reached or self.accept == "any" or answer.scores[best] > score:
            state = answer.states[best]
            if self.accept == "current":
                score = float(answer.scores[best])
        return state, score, reached or answer.over

    def _admitted(self, state: State, answer: Answer, score: float) -> Searching[Answer]:
        """Check candidates against the constraints, the best ones first, until some pass.

        Returns:
            The best admitted candidate, or all admitted successes if another one than the best is
            wanted; empty if none passes.
        """
        better = (answer.scores > score) | (self.accept == "any")
        rows = np.flatnonzero(better | answer.success)
        while len(rows):
            left = answer.rows(rows)
            first = np.array([left.best()])
            if self.winner != "score" and left.success.any():
                first = np.flatnonzero(left.success)
            passed = (yield Check(state, left.states[first])).origins
            if len(passed):
                return left.rows(first[passed])
            rows = np.delete(rows, first)
        return answer.rows(rows)

    def most_edits(self, problem: Problem) -> int:
        """Return how many words the search may change; constraints may impose a lower limit."""
        return len(problem)


def _most_similar(state: State, answer: Answer) -> Searching[int]:
    """Return the row of the most similar success; ties go to the first one."""
    rows = np.flatnonzero(answer.success)
    if len(rows) > 1:
        similarities = (yield Compare(state, answer.states[rows])).similarities
        if similarities is not None:
            return int(rows[similarities.argmax()])
    return answer.best()


class PWWS(Search):
    """Changes each word by its best candidate until the goal is reached: PWWS (Ren et al. 2019).

    Candidates are chosen once, in the original sentence. Each step scores one state and keeps it
    even if the score does not rise. TextAttack's version of PWWS is `GreedyByImportance` with
    `WeightedSaliency(gain="score")`.

    Args:
        outcome: without success, return the `best` scored state, which may be the original sentence
            or a single change, or the `last` state, with all words changed (the paper).
        saliency: see `WeightedSaliency`; false is the search of CLARE (Li et al. 2021).
    """

    needs = ("probabilities",)

    def __init__(self, *, outcome: Outcome = "best", saliency: bool = True) -> None:
        check_choice("search: outcome", outcome, get_args(Outcome))
        self.outcome, self.saliency = outcome, saliency

    def run(self, problem: Problem, clean: Answer, rng: np.random.Generator) -> Searching[Any]:
        """See `Search.run`."""
        state = problem.start()
        ranked = yield from WeightedSaliency(saliency=self.saliency).rank(problem, clean, rng)
        if ranked.choices is None or ranked.tried is None:
            return state
        best = clean.better(ranked.tried)
        if ranked.over:
            return self._result(best, state)
        for position, choice in zip(ranked.positions, ranked.choices, strict=True):
            if not choice:
                continue
            changed = state.copy()
            changed[position] = choice
            answer = yield Score(changed[None], base=state)
            if not len(answer.states):
                continue  # the constraints admit it in the original sentence, but not in this one
            state, best = changed, best.better(answer)
            if answer.success[0]:
                return state
            if answer.over:
                break
        return self._result(best, state)

    def _result(self, best: Judged, last: State) -> Any:
        return best.states[0] if self.outcome == "best" else last
