"""The goal of attacks on classifiers: any label but the gold one, or a chosen label."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from robustparse.attacks.goals.goal import Goal, Verdict
from robustparse.attacks.problem import Problem
from robustparse.attacks.victim import Victim, labels_of
from robustparse.errors import InputError
from robustparse.types import Example, Predictions, States


class LabelFlip(Goal):
    """Change the victim's most probable label.

    Let F be the victim's probabilities and y the gold label. Without a target, the score is 1 - F_y
    and an attack succeeds if the most probable label is not y; a text that the victim already gets
    wrong counts as skipped, as does a text with a label that the victim does not know (F_y is
    0). With a target t, the score is F_t and an attack succeeds if t is the most probable label;
    texts with gold label t are not attacked. `labels_of` decides ties.

    Without a target, `Verdict.rises` is F_z of the new label z minus F_z of the original text.

    Args:
        target: the label to reach; None accepts any label but the gold one.
        least: the score that an attack must reach to succeed, whatever the most probable label is
            (Kuleshov et al. 2018: 0.7); None asks for the most probable label, as above.

    Raises:
        InputError: least is not in [0, 1].
    """

    tasks = ("classification",)

    def __init__(self, *, target: str | None = None, least: float | None = None) -> None:
        if least is not None and not 0.0 <= least <= 1.0:
            raise InputError(f"must be in [0, 1], got {least}", key="goal: least")
        self.target, self.least = target, least
        self.wants_gold = target is not None

    def gold(self, examples: Sequence[Example], victim: Victim) -> list[Any]:
        """Return the victim's ids of the gold labels, or of the target.

        A gold label that the victim does not know has the id -1.

        Raises:
            InputError: a gold answer is not a label, or the victim does not know the target.
        """
        self.check_gold(examples, str)
        names = [example.gold if self.target is None else self.target for example in examples]
        ids: list[int] = victim.name_ids(names).tolist()
        if self.target is not None and min(ids, default=0) < 0:
            raise InputError(
                f"target {self.target!r}",
                key="goal: LabelFlip",
                expected="one of the classifier's labels",
            )
        return ids

    def applies(self, problem: Problem) -> bool:
        """Tell whether the gold label differs from the target."""
        return self.target is None or problem.example.gold != self.target

    def judge(
        self, problem: Problem, clean: Predictions, states: States, predictions: Predictions
    ) -> Verdict:
        """See `Goal.judge`."""
        probabilities, labels = predictions[0], labels_of(predictions)
        wanted = labels == problem.gold
        scores = np.zeros(len(probabilities))
        if problem.gold >= 0:
            scores = probabilities[:, problem.gold].astype(np.float64, copy=False)
        if self.target is not None:
            return Verdict(scores, wanted if self.least is None else scores >= self.least)
        rises = np.zeros(len(scores))
        if not wanted.all():
            rows = np.flatnonzero(~wanted)
            before = clean[0][0, labels[rows]].astype(np.float64)
            rises[rows] = probabilities[rows, labels[rows]] - before
        success = ~wanted if self.least is None else 1.0 - scores >= self.least
        return Verdict(1.0 - scores, success, rises)
