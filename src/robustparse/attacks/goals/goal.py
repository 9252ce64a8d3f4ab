"""The base class of goals, which judge a victim's predictions in batches."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

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

    Scores are probabilities or fractions, so that sentences of different lengths are comparable.
    `rises`, `float64 (n,)`, is 0 for predictions without success and otherwise the increase of the
    predicted answer's own score over the original sentence; None if the goal does not measure it.
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
        """Select rows; a row may be selected more than once."""
        rises = None if self.rises is None else self.rises[rows]
        return Verdict(self.scores[rows], self.success[rows], rises)


class Goal(ABC):
    """Judges a victim's predictions.

    A sentence whose clean prediction already reaches the goal is skipped.

    Attributes:
        punctuation: which words enter the scores (`metrics.counted_words`).
        per_word: whether the predictions have one column per word.
        wants_gold: whether `gold` is the answer that the attack wants; white-box searches then
            lower its loss instead of raising it.
        tasks: the tasks (`Task.name`) whose answers it judges.
    """

    punctuation: PunctuationPolicy = "none"
    per_word: bool = False
    wants_gold: bool = False
    tasks: ClassVar[tuple[str, ...]] = ()

    def against(self, gold: Any) -> "Goal":
        """Return the goal for gold answers of this type; by default itself."""
        return self

    @abstractmethod
    def gold(self, examples: Sequence[Example], victim: Victim) -> list[Any]:
        """Return for each example what predictions are compared with; kept in `Problem.gold`.

        Raises:
            InputError: a gold answer has a type that the goal does not accept.
        """

    def applies(self, problem: Problem) -> bool:
        """Tell whether the goal can be reached in the sentence; if not, there is no search."""
        return True

    def editable(self, example: Example) -> Mask:
        """Tell which words of the text an attack may change, `(words,)`; by default all."""
        return np.ones(len(example.sentence), dtype=np.bool_)

    @abstractmethod
    def judge(
        self, problem: Problem, clean: Predictions, states: States, predictions: Predictions
    ) -> Verdict:
        """Judge n predictions for one sentence.

        Args:
            problem: the sentence.
            clean: the victim's prediction for the original sentence, arrays of one row.
            states: the predicted states, `(n, words)`.
            predictions: the victim's predictions, arrays of n rows; in a text with deleted words,
                the columns are those of the remaining words.
        """

    def check_gold(self, examples: Sequence[Example], kind: type) -> None:
        """Reject gold answers of another type."""
        for example in examples:
            form = isinstance(example.gold, LogicalForm)  # a subclass of str, but not a label
            if not isinstance(example.gold, kind) or (form and kind is str):
                raise InputError(
                    f"sentence {example.id + 1}: its gold answer is a "
                    f"{type(example.gold).__name__}",
                    key=f"goal: {type(self).__name__}",
                    expected=f"a {kind.__name__}",
                    remedy="choose another goal",
                )
