"""The goal of attacks on classifiers: another label than the gold one, or one chosen label."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from robustparse.attacks.goals.goal import Goal, Verdict
from robustparse.attacks.problem import Problem
from robustparse.attacks.victim import Predictions, Victim
from robustparse.errors import InputError
from robustparse.types import Example, States


class LabelFlip(Goal):
    """Make the victim's most probable label another one.

    With F the victim's probabilities and y the gold label, the score is 1 - F_y and an attack
    succeeds when the most probable label is not y, so that a text which the victim gets wrong as it
    is counts as skipped. With a target t the score is F_t, and success is that t is the most
    probable. On ties the label with the lower id counts as the most probable.

    Args:
        target: the label wanted; None wants any but the gold one.
    """

    def __init__(self, *, target: str | None = None) -> None:
        self.target = target

    def gold(self, examples: Sequence[Example], victim: Victim) -> list[Any]:
        """Return the victim's ids of the gold labels, or of the target.

        Raises:
            InputError: a gold answer is no label, or the victim does not know it.
        """
        self.check_gold(examples, str)
        names = [example.gold if self.target is None else self.target for example in examples]
        ids: list[int] = victim.name_ids(names).tolist()
        for example, name, number in zip(examples, names, ids, strict=True):
            if number < 0:
                raise InputError(
                    f"sentence {example.id}: label {name!r}",
                    key="goal: LabelFlip",
                    expected="a label that the classifier was trained with",
                )
        return ids

    def judge(
        self, problem: Problem, clean: Predictions, states: States, predictions: Predictions
    ) -> Verdict:
        """See `Goal.judge`."""
        (probabilities,) = predictions
        wanted = probabilities.argmax(axis=1) == problem.gold
        scores = probabilities[:, problem.gold].astype(np.float64, copy=False)
        if self.target is None:
            return Verdict(1.0 - scores, ~wanted)
        return Verdict(scores, wanted)
