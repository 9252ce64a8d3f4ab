"""The goal of attacks on semantic parsers: a logical form that does not match the gold form."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from robustparse.attacks.goals.goal import Goal, Verdict
from robustparse.attacks.problem import Problem
from robustparse.attacks.victim import Victim
from robustparse.types import Example, LogicalForm, Predictions, States


class GoldForm(NamedTuple):
    """A gold form and the victim's id of its meaning.

    Answers are compared by meaning; gradients use the loss of the form itself.
    """

    form: LogicalForm
    meaning: int


class WrongForm(Goal):
    """Make the victim predict a form that does not match the gold form (`exact_match`).

    As long as the predicted form matches, the score is 1 minus its probability. If it equals the
    gold form token for token, the score is 1 - exp(-loss) and rises with the gold form's loss. A
    success has a score of 1.
    """

    tasks = ("semantic",)

    def gold(self, examples: Sequence[Example], victim: Victim) -> list[Any]:
        """Return a `GoldForm` for each example.

        Raises:
            InputError: a gold answer is not a logical form.
        """
        self.check_gold(examples, LogicalForm)
        forms = [example.gold for example in examples]
        return [*map(GoldForm, forms, victim.name_ids(forms).tolist())]

    def judge(
        self, problem: Problem, clean: Predictions, states: States, predictions: Predictions
    ) -> Verdict:
        """See `Goal.judge`."""
        _, meanings, probabilities = predictions
        right = meanings == problem.gold.meaning
        return Verdict(np.where(right, 1.0 - probabilities, 1.0), ~right)
