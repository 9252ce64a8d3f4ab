"""The goal of input reduction (Feng et al. 2018): fewer words, and still the same label."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from robustparse.attacks.goals.goal import Goal, Verdict
from robustparse.attacks.problem import DELETED, Problem
from robustparse.attacks.victim import Victim, labels_of
from robustparse.types import Example, Indices, Predictions, States


class InputReduction(Goal):
    """Leave out words so that the victim keeps the label that it gives to the whole text.

    The score is (removed words + probability of the label) / words of the text, at most 1, and 0 if
    the label changes. An attack succeeds if a word is left out and the label stays, even a wrong
    one. Candidates come from `Omission`.
    """

    tasks = ("classification",)

    def gold(self, examples: Sequence[Example], victim: Victim) -> list[Any]:
        """Return the victim's ids of the gold labels, which the verdict does not depend on.

        Raises:
            InputError: a gold answer is not a label.
        """
        self.check_gold(examples, str)
        ids: list[int] = victim.name_ids([example.gold for example in examples]).tolist()
        return ids

    def judge(
        self, problem: Problem, clean: Predictions, states: States, predictions: Predictions
    ) -> Verdict:
        """See `Goal.judge`."""
        label = int(labels_of(clean)[0])
        kept = labels_of(predictions) == label
        removed = _removed(problem, states)
        scores = (removed + predictions[0][:, label].astype(np.float64)) / len(problem)
        return Verdict(np.where(kept, np.minimum(scores, 1.0), 0.0), kept & (removed > 0))


def _removed(problem: Problem, states: States) -> Indices:
    """Count the words that are left out in each state, `(n,)`."""
    chosen = states > 0
    empty = np.array([word == "" for word in problem.words], dtype=np.bool_)
    gone = states == DELETED
    gone[chosen] = empty[(problem.ptr[:-1] + states - 1)[chosen]]
    removed: Indices = gone.sum(axis=1)
    return removed
