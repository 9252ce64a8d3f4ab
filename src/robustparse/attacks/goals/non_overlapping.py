"""The goal of Seq2Sick (Cheng et al. 2018): an output that keeps no token of the right one."""

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from robustparse.attacks.goals.goal import Goal, Verdict
from robustparse.attacks.problem import Problem
from robustparse.attacks.victim import Victim
from robustparse.types import Example, LogicalForm, Predictions, States

# Brackets, variables and types stand in every form, and so does "lambda".
_CONTENT = re.compile(r"[^\W\d_].*[^\W\d_]")
_FRAME = "lambda"


class FormToAvoid(NamedTuple):
    """A gold form, its tokens that must not stay, and how to read the victim's predictions."""

    form: LogicalForm
    tokens: tuple[str, ...]
    answers: Callable[[Predictions, Sequence[int]], list[Any]]


class NonOverlappingOutput(Goal):
    """Make a semantic parser predict a form without any token of the gold form in its place.

    Compared are the tokens with two letters at least, but not `lambda`: predicates, constants and
    operators, the first with the first, and so on. The score is the fraction of the gold form's
    tokens that the predicted form has not in the same place; an attack succeeds at 1. A gold form
    without such tokens cannot be attacked.
    """

    tasks = ("semantic",)

    def gold(self, examples: Sequence[Example], victim: Victim) -> list[Any]:
        """Return a `FormToAvoid` for each example.

        Raises:
            InputError: a gold answer is not a logical form.
        """
        self.check_gold(examples, LogicalForm)
        return [FormToAvoid(each.gold, content(each.gold), victim.answers) for each in examples]

    def applies(self, problem: Problem) -> bool:
        """See `Goal.applies`."""
        return bool(problem.gold.tokens)

    def judge(
        self, problem: Problem, clean: Predictions, states: States, predictions: Predictions
    ) -> Verdict:
        """See `Goal.judge`."""
        gold = problem.gold
        forms = gold.answers(predictions, [len(problem)] * len(predictions[0]))
        kept = np.array([sum(map(str.__eq__, gold.tokens, content(form))) for form in forms])
        scores = 1.0 - kept / len(gold.tokens)
        return Verdict(scores, kept == 0)


def content(form: str) -> tuple[str, ...]:
    """Return the tokens of a form that the goal compares."""
    return tuple(each for each in form.split() if _CONTENT.match(each) and each != _FRAME)
