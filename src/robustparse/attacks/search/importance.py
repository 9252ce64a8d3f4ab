"""Greedy search in the order of importance: words are ranked once, then visited one by one.

Algorithm 1 of Jin et al. 2020 (TextFooler) in the form of Yoo et al. 2020, section 3: at each word
the candidates are asked about in the sentence as it stands by then, and the best is taken if the
score rises. Among candidates that succeed Jin et al. take the most similar sentence, Yoo et al. the
highest score. PWWS as its authors describe it (Ren et al. 2019, algorithm 1) takes the candidates
that were the best in the original sentence, and puts them in one after the other.
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
Accept = Literal["current", "original"]


class GreedyByImportance(Search):
    """Takes the best strictly improving candidate of each word, until the goal is reached.

    A word is changed once at most and passed over if it has no candidates. Ties break by candidate
    index.

    Args:
        ranking: in which order words are visited.
        winner: which of several candidates of a word that succeed is taken: that of the highest
            `score` (Yoo et al. 2020), or the most `similar` one (Jin et al. 2020, algorithm 1), by
            the first constraint that measures a similarity, and by the score where no constraint
            does.
        judged: whether constraints on changed sentences judge candidates `before` these are asked
            about, or `after`, from the best one downwards until one passes. The outcome is the same
            unless a query budget ends the search; later, more queries are charged, and fewer
            sentences are judged, which is faster where a constraint costs more than the victim.
        accept: a candidate that does not succeed is taken if its score beats that of the `current`
            sentence (Jin et al. 2020, algorithm 1), or of the `original` one (their released code),
            so that the score may fall again.

    Attributes:
        to_success: whether a success ends the search and is taken before a higher score.
    """

    to_success = True

    def __init__(
        self,
        ranking: Ranking,
        winner: Literal["score", "similar"] = "score",
        judged: When = "before",
        accept: Accept = "current",
    ) -> None:
        check_choice("search: winner", winner, ("score", "similar"))
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
        for place, position in enumerate(ranked.positions[:, None]):
            if np.count_nonzero(state) == most:
                break
            yield Propose(position, soon=ranked.positions[place:])
            answer = yield Expand(state, position, judged=self.judged == "before")
            if not self.to_success:
                # No success ends this search or comes before a higher score.
                answer.success = np.zeros_like(answer.success)
            if self.judged == "after":
                answer = yield from self._admitted(state, answer, score)
            if not len(answer.scores):
                if answer.over:
                    break
                continue
            best = answer.best()
            reached = answer.success[best]
            if reached and self.winner == "similar":
                best = yield from _most_similar(state, answer)
            if reached or answer.scores[best] > score:
                state = answer.states[best]
                if self.accept == "current":
                    score = float(answer.scores[best])
            if reached or answer.over:
                break
        return state

    def _admitted(self, state: State, answer: Answer, score: float) -> Searching[Answer]:
        """Yield the candidates that would be taken if constraints admit them, the best ones first.

        Returns:
            Those that pass, one or several of which the most similar is wanted; none otherwise.
        """
        rows = np.flatnonzero((answer.scores > score) | answer.success)
        while len(rows):
            some = answer.rows(rows)
            first = np.array([some.best()])
            if self.winner == "similar" and some.success.any():
                first = np.flatnonzero(some.success)
            passed = (yield Check(state, some.states[first])).places
            if len(passed):
                return some.rows(first[passed])
            rows = np.delete(rows, first)
        return answer.rows(rows)

    def most_edits(self, problem: Problem) -> int:
        """Return how many words the search itself may change; constraints may let fewer differ."""
        return len(problem)


def _most_similar(state: State, answer: Answer) -> Searching[int]:
    """Yield the row of the most similar success, the first one on ties."""
    rows = np.flatnonzero(answer.success)
    if len(rows) > 1:
        similarities = (yield Compare(state, answer.states[rows])).similarities
        if similarities is not None:
            return int(rows[similarities.argmax()])
    return answer.best()


class PWWS(Search):
    """PWWS (Ren et al. 2019): each word's best candidate, cumulatively, until the goal is reached.

    Candidates are chosen once, in the original sentence; every step asks about one state, and there
    is no test that the score rises. TextAttack's version of PWWS is `GreedyByImportance` with
    `WeightedSaliency(gain="score")`.

    Args:
        outcome: without success, the `best` state asked about, which may be the sentence as it is
            or one of a single change, or the `last` one, with all words changed (the paper).
    """

    def __init__(self, *, outcome: Outcome = "best") -> None:
        check_choice("search: outcome", outcome, get_args(Outcome))
        self.outcome = outcome

    def run(self, problem: Problem, clean: Answer, rng: np.random.Generator) -> Searching[Any]:
        """See `Search.run`."""
        state = problem.start()
        ranked = yield from WeightedSaliency().rank(problem, clean, rng)
        if ranked.choices is None or ranked.tried is None:
            return state
        best = clean.better(ranked.tried)
        if ranked.over:
            return self._settled(best, state)
        for position, choice in zip(ranked.positions, ranked.choices, strict=True):
            if not choice:
                continue
            changed = state.copy()
            changed[position] = choice
            answer = yield Score(changed[None], base=state)
            if not len(answer.states):
                continue  # constraints admit it in the original sentence, not here
            state, best = changed, best.better(answer)
            if answer.success[0]:
                return state
            if answer.over:
                break
        return self._settled(best, state)

    def _settled(self, best: Judged, last: State) -> Any:
        return best.states[0] if self.outcome == "best" else last
