"""Goals that name what is to go wrong in a parse: one arc, or the arcs of one subtree.

The second is the phrase-level goal of Zheng et al. 2020, section 3.3: words elsewhere in the
sentence are changed so that the parser errs inside a phrase which itself stands as it was.
Sentences for which nothing is named are left as they are, without success.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from robustparse.attacks.goals.attachment import Parse, TreeGoal, restored
from robustparse.attacks.goals.goal import Verdict
from robustparse.attacks.problem import Problem
from robustparse.attacks.victim import Predictions
from robustparse.errors import InputError
from robustparse.metrics import PunctuationPolicy


class TargetedArc(TreeGoal):
    """Attach one word of a sentence to one head.

    The score is 1 where the arc is there, else 0.

    Args:
        arcs: sentence id -> dependent and head, counted from 1 as in the data file; head 0 is ROOT.

    Raises:
        InputError: a dependent is no word.
    """

    punctuation: PunctuationPolicy = "none"

    def __init__(self, arcs: dict[int, tuple[int, int]]) -> None:
        for number, (dependent, head) in arcs.items():
            if dependent < 1 or head < 0 or dependent == head:
                raise InputError(
                    f"goal: arc {dependent} <- {head} of sentence {number}: expected a word from 1 "
                    "on and another word, or 0 for ROOT, as its head"
                )
        self.arcs: Mapping[int, tuple[int, int]] = arcs

    def applies(self, problem: Problem) -> bool:
        """Whether something is named for the sentence."""
        return problem.id in self.arcs

    def judge(
        self,
        problem: Problem,
        clean: Predictions,
        states: NDArray[np.int16],
        predictions: Predictions,
    ) -> Verdict:
        """See `Goal.judge`.

        Raises:
            InputError: the arc does not lie in the sentence.
        """
        if problem.id not in self.arcs:
            return _never(states)
        dependent, head = self.arcs[problem.id]
        _check_inside(problem, "arc", dependent, head)
        heads, _ = restored(clean, states, predictions)
        success = heads[:, dependent - 1] == head
        return Verdict(success.astype(np.float64), success)


class TargetedSubtree(TreeGoal):
    """Make the parser err inside one phrase.

    The score is the number of wrong heads among the phrase's counted words without its gold root,
    the word whose gold head lies outside; an attack succeeds when it exceeds that of the clean
    parse and no word of the phrase was changed. A state that changes one is worth no more than the
    clean parse, whatever it does: no search is led into the phrase, where it could never succeed.

    Args:
        spans: sentence id -> first and last word of the phrase, counted from 1.
        punctuation: which words count.

    Raises:
        InputError: a span ends before it begins.
    """

    def __init__(
        self, spans: dict[int, tuple[int, int]], *, punctuation: PunctuationPolicy = "none"
    ) -> None:
        for number, (first, last) in spans.items():
            if not 1 <= first <= last:
                raise InputError(
                    f"goal: span {first} to {last} of sentence {number}: expected a first word "
                    "from 1 on and a last word not before it"
                )
        self.spans: Mapping[int, tuple[int, int]] = spans
        self.punctuation = punctuation

    def applies(self, problem: Problem) -> bool:
        """Whether something is named for the sentence."""
        return problem.id in self.spans

    def judge(
        self,
        problem: Problem,
        clean: Predictions,
        states: NDArray[np.int16],
        predictions: Predictions,
    ) -> Verdict:
        """See `Goal.judge`.

        Raises:
            InputError: the span does not lie in the sentence.
        """
        if problem.id not in self.spans:
            return _never(states)
        first, last = self.spans[problem.id]
        _check_inside(problem, "span", first, last)
        before = Parse(clean[0][0], clean[1][0])
        heads, _ = restored(clean, states, predictions)
        phrase = slice(first - 1, last)
        gold = problem.gold.heads[phrase]
        compared = problem.counted[phrase] & (gold >= first) & (gold <= last)
        wrong = ((heads[:, phrase] != gold) & compared).sum(axis=1)
        wrong_before = ((before.heads[phrase] != gold) & compared).sum()
        untouched = ~(states[:, phrase] != 0).any(axis=1)
        wrong = np.where(untouched, wrong, wrong_before)
        return Verdict(wrong.astype(np.float64), wrong > wrong_before)


def _never(states: NDArray[np.int16]) -> Verdict:
    return Verdict(np.zeros(len(states)), np.zeros(len(states), dtype=np.bool_))


def _check_inside(problem: Problem, what: str, *positions: int) -> None:
    if max(positions) > len(problem):
        raise InputError(
            f"goal: the {what} {positions} of sentence {problem.id} lies outside its "
            f"{len(problem)} words"
        )
