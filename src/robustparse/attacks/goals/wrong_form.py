"""The goal of attacks on semantic parsers: a logical form that does not match the gold one."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from robustparse.attacks.goals.goal import Goal, Verdict
from robustparse.attacks.problem import Problem
from robustparse.attacks.victim import Victim
from robustparse.types import Example, LogicalForm, Predictions, States


class GoldForm(NamedTuple):
    """A gold form, and the victim's id of its meaning.

    Answers are compared by meaning; a gradient raises the loss of the form itself.
    """

    form: LogicalForm
    meaning: int


class WrongForm(Goal):
    """Make the victim answer with a form that does not match the gold one (`exact_match`).

    Until then the victim's form means the same as the gold one, and the score is 1 minus the
    probability of the victim's form. Where that is the gold form token for token, this is
    1 - exp(-loss): it rises with the gold form's loss. A success has a score of 1.
    """

    def gold(self, examples: Sequence[Example], victim: Victim) -> list[Any]:
        """Return a `GoldForm` of each example.

        Raises:
            InputError: a gold answer is no logical form.
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
