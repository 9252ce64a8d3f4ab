"""Targeted goals: one arc to produce, or one subtree in which the parser must make errors.

The second is the phrase-level goal of Zheng et al. 2020, section 3.3: words elsewhere in the
sentence are changed so that the parser makes errors inside an unchanged phrase. A sentence without
a target stays unchanged and counts as unsuccessful.
"""

import numpy as np

from robustparse.attacks.goals.attachment import TreeGoal, restored
from robustparse.attacks.goals.goal import Verdict
from robustparse.attacks.problem import Problem
from robustparse.errors import InputError
from robustparse.metrics import PunctuationPolicy
from robustparse.types import Predictions, States


class _Named(TreeGoal):
    """A goal that applies to the sentences for which a pair of words is given.

    Args:
        what: the name of the option, for errors.
        pairs: sentence id -> two words, counted from 1.
    """

    def __init__(self, what: str, pairs: dict[int, tuple[int, int]]) -> None:
        self._what, self._pairs = what, pairs

    def applies(self, problem: Problem) -> bool:
        """See `Goal.applies`."""
        pair = self._pairs.get(problem.id)
        if pair is not None and max(pair) > len(problem):
            raise InputError(
                f"{pair} of sentence {problem.id} lies outside its {len(problem)} words",
                key=f"goal: {self._what}",
            )
        return pair is not None


class TargetedArc(_Named):
    """Attach one word of a sentence to one head.

    The score is 1 if the parse has the arc, otherwise 0.

    Args:
        arcs: sentence id -> dependent and head, counted from 1 as in the data file; head 0 is ROOT.

    Raises:
        InputError: a dependent is below 1, a head below 0, or both are equal.
    """

    def __init__(self, arcs: dict[int, tuple[int, int]]) -> None:
        super().__init__("arcs", arcs)
        self.arcs = arcs
        for number, (dependent, head) in arcs.items():
            if dependent < 1 or head < 0 or dependent == head:
                raise InputError(
                    f"got word {dependent} with head {head} for sentence {number}",
                    key="goal: arcs",
                    expected="a word from 1 on; as its head another word, or 0 for ROOT",
                )

    def judge(
        self, problem: Problem, clean: Predictions, states: States, predictions: Predictions
    ) -> Verdict:
        """See `Goal.judge`."""
        dependent, head = self._pairs[problem.id]
        heads, _ = restored(clean, states, predictions)
        success = heads[:, dependent - 1] == head
        return Verdict(success.astype(np.float64), success)


class TargetedSubtree(_Named):
    """Make the parser err inside one phrase.

    The score is the fraction of wrong heads among the phrase's counted words, without its gold root
    (the word whose gold head lies outside). An attack succeeds if the score exceeds that of the
    clean parse and no word of the phrase was changed. States that change a word of the phrase get
    the score of the clean parse, so that no search is led into the phrase.

    Args:
        spans: sentence id -> first and last word of the phrase, counted from 1.
        punctuation: which words count.

    Raises:
        InputError: a span ends before it begins.
    """

    def __init__(
        self, spans: dict[int, tuple[int, int]], *, punctuation: PunctuationPolicy = "none"
    ) -> None:
        super().__init__("spans", spans)
        self.spans = spans
        for number, (first, last) in spans.items():
            if not 1 <= first <= last:
                raise InputError(
                    f"got {first} to {last} for sentence {number}",
                    key="goal: spans",
                    expected="1 <= first word <= last word",
                )
        self.punctuation = punctuation

    def judge(
        self, problem: Problem, clean: Predictions, states: States, predictions: Predictions
    ) -> Verdict:
        """See `Goal.judge`."""
        first, last = self._pairs[problem.id]
        heads, _ = restored(clean, states, predictions)
        phrase = slice(first - 1, last)
        gold = problem.gold.heads[phrase]
        compared = problem.counted[phrase] & (gold >= first) & (gold <= last)
        wrong = ((heads[:, phrase] != gold) & compared).sum(axis=1)
        wrong_before = ((clean[0][0][phrase] != gold) & compared).sum()
        untouched = ~(states[:, phrase] != 0).any(axis=1)
        wrong = np.where(untouched, wrong, wrong_before)
        return Verdict(wrong / max(1, compared.sum()), wrong > wrong_before)
