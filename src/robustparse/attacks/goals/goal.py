"""The base class of goals: what an attack wants of the victim's answers, judged many at a time."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from robustparse.attacks.problem import Problem
from robustparse.attacks.victim import Victim
from robustparse.errors import InputError
from robustparse.metrics import PunctuationPolicy
from robustparse.types import (
    Example,
    Floats,
    Indices,
    LogicalForm,
    Mask,
    Predictions,
    States,
)


@dataclass(eq=False, slots=True)
class Verdict:
    """Scores `float64 (n,)`, higher is nearer the goal, and success `bool (n,)`.

    Scores are probabilities or fractions of a sentence, so that sentences of all lengths compare.
    `rises` says for each answer that succeeds how far its own score has risen since the original
    sentence, 0 for the others, `float64 (n,)`; None from goals that do not measure it.
    """

    scores: Floats
    success: Mask
    rises: Floats | None = None

    @classmethod
    def joined(cls, verdicts: Sequence["Verdict"]) -> "Verdict":
        """Join verdicts of one goal, in their order."""
        scores = np.concatenate([verdict.scores for verdict in verdicts])
        success = np.concatenate([verdict.success for verdict in verdicts])
        rises = [verdict.rises for verdict in verdicts if verdict.rises is not None]
        return cls(scores, success, np.concatenate(rises) if rises else None)

    def rows(self, rows: Indices) -> "Verdict":
        """Return only these rows, which may repeat."""
        rises = None if self.rises is None else self.rises[rows]
        return Verdict(self.scores[rows], self.success[rows], rises)


class Goal(ABC):
    """Judges a victim's predictions.

    A sentence whose clean prediction reaches the goal already is skipped.

    Attributes:
        punctuation: which words count (`metrics.counted_words`).
        per_word: whether the predictions have one column a word.
        wants_gold: whether `gold` is the answer wanted, so that searches with gradients follow its
            loss downwards, not upwards.
    """

    punctuation: PunctuationPolicy = "none"
    per_word: bool = False
    wants_gold: bool = False

    @abstractmethod
    def gold(self, examples: Sequence[Example], victim: Victim) -> list[Any]:
        """Return what predictions for each example are compared with, kept in `Problem.gold`.

        Raises:
            InputError: a gold answer is of a kind that the goal does not judge.
        """

    def applies(self, problem: Problem) -> bool:
        """Tell whether the goal can be reached in the sentence; if not, the search does not begin.

        Nothing is judged then.
        """
        return True

    @abstractmethod
    def judge(
        self, problem: Problem, clean: Predictions, states: States, predictions: Predictions
    ) -> Verdict:
        """Judge n predictions for one sentence.

        Args:
            problem: the sentence.
            clean: the victim's prediction for the original sentence, arrays of one row.
            states: what was asked about, `(n, words)`.
            predictions: the victim's, arrays of n rows; of a text with deleted words, the columns
                are those of the words left.
        """

    def check_gold(self, examples: Sequence[Example], kind: type) -> None:
        """Refuse gold answers of another kind."""
        for example in examples:
            form = isinstance(example.gold, LogicalForm)  # which is a str, and no label
            if not isinstance(example.gold, kind) or (form and kind is str):
                given = type(example.gold).__name__
                raise InputError(
                    f"sentence {example.id + 1}: its gold answer is a {given}",
                    key=f"goal: {type(self).__name__}",
                    expected=f"a {kind.__name__}",
                    remedy="choose another goal",
                )
