"""Goals that name what is to go wrong in a parse: one arc, or the arcs of one subtree.

The second is the phrase-level goal of Zheng et al. 2020, section 3.3: words elsewhere in the
sentence are changed so that the parser errs inside a phrase which itself stands as it was.
Sentences for which nothing is named are left as they are, without success.
"""

import numpy as np

from robustparse.attacks.goals.attachment import TreeGoal, restored
from robustparse.attacks.goals.goal import Verdict
from robustparse.attacks.problem import Problem
from robustparse.errors import InputError
from robustparse.metrics import PunctuationPolicy
from robustparse.types import Predictions, States


class _Named(TreeGoal):
    """Applies where something is named for the sentence: two words of it.

    Args:
        what: the name of a pair, for errors.
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

    The score is 1 where the arc is there, else 0.

    Args:
        arcs: sentence id -> dependent and head, counted from 1 as in the data file; head 0 is ROOT.

    Raises:
        InputError: a dependent is no word.
    """

    def __init__(self, arcs: dict[int, tuple[int, int]]) -> None:
        super().__init__("arcs", arcs)
        self.arcs = arcs
        for number, (dependent, head) in arcs.items():
            if dependent < 1 or head < 0 or dependent == head:
                raise InputError(
                    f"{dependent} <- {head} of sentence {number}",
                    key="goal: arcs",
                    expected="a word from 1 on and another word, or 0 for ROOT, as its head",
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

    The score is the fraction of wrong heads among the phrase's counted words without its gold root,
    the word whose gold head lies outside; an attack succeeds when it exceeds that of the clean
    parse and no word of the phrase was changed. A state that changes one is worth no more than the
    clean parse, whatever it does: no search is led into the phrase, where it could never succeed.

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
                    f"{first} to {last} of sentence {number}",
                    key="goal: spans",
                    expected="a first word from 1 on and a last word not before it",
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
