"""The base class of goals: what an attack wants of the victim's answers, judged many at a time."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robustparse.attacks.problem import Problem
from robustparse.attacks.victim import Predictions, Victim
from robustparse.metrics import PunctuationPolicy
from robustparse.types import Example


@dataclass(eq=False, slots=True)
class Verdict:
    """Scores `float64 (n,)`, higher is nearer the goal, and success `bool (n,)`."""

    scores: NDArray[np.float64]
    success: NDArray[np.bool_]


class Goal(ABC):
    """Judges a victim's predictions.

    A sentence whose clean prediction reaches the goal already is skipped.

    Attributes:
        punctuation: which words count (`metrics.counted_words`).
        per_word: whether the predictions have one column a word.
    """

    punctuation: PunctuationPolicy = "none"
    per_word: bool = False

    @abstractmethod
    def gold(self, examples: Sequence[Example], victim: Victim) -> list[Any]:
        """Return what the predictions of each example are compared with, as `Problem.gold` keeps
        it.
        """

    def applies(self, problem: Problem) -> bool:
        """Whether there is anything in the sentence for the goal to be reached at; if not, the
        search does not begin.
        """
        return True

    @abstractmethod
    def judge(
        self,
        problem: Problem,
        clean: Predictions,
        states: NDArray[np.int16],
        predictions: Predictions,
    ) -> Verdict:
        """Judge n predictions for one sentence.

        Args:
            problem: the sentence.
            clean: the victim's prediction for the original sentence, arrays of one row.
            states: what was asked about, `(n, words)`.
            predictions: the victim's, arrays of n rows; of a text with deleted words, the columns
                are those of the words left.
        """
