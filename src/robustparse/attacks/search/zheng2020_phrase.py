"""Phrase-level attacks of Zheng et al. 2020, section 3.3, black box and white box.

Both change up to kappa words of one phrase, the source, until the victim errs in another one, the
target; the goal `PhraseDrop` says which phrases there are and what an error is. The first success
ends the sentence; without one it stays as it is. Where constraints on sentences do not admit some
of the changes of a trial, it is asked about without them.
"""

from copy import deepcopy
from typing import Any, Literal, get_args

import numpy as np

from robustparse.attacks.goals.phrases import PhraseParse
from robustparse.attacks.problem import Problem, State
from robustparse.attacks.search.requests import Answer, Gradient, Propose, Score, Search, Searching
from robustparse.attacks.search.white_box.substitutions import NearestWord, Substitution
from robustparse.attacks.search.white_box.zheng2020_whitebox import by_norm, replaced, within_budget
from robustparse.attacks.victim import Loss
from robustparse.errors import InputError, check_choice, check_least
from robustparse.types import Indices, Mask, States


class PhraseBlackBox(Search):
    """Puts random words at random places of each source, from left to right.

    The candidates of a word are drawn from uniformly: with `VocabularyWords` they are words of the
    vocabulary.

    Args:
        trials: random states of each source (256).
        kappa: words changed (3).
        edits: `up_to` kappa, a number drawn uniformly (paper), or `exactly` kappa, as far as the
            source has as many words that may be changed (released code).
        at_once: trials asked about together, charged even if an earlier one of them succeeds.

    Raises:
        InputError: or, from `run`, the goal names no phrases.
    """

    def __init__(
        self,
        *,
        trials: int = 256,
        kappa: int = 3,
        edits: Literal["up_to", "exactly"] = "up_to",
        at_once: int = 16,
    ) -> None:
        check_least("search", trials=trials, kappa=kappa, at_once=at_once)
        check_choice("search: edits", edits, ("up_to", "exactly"))
        self.trials, self.kappa, self.edits, self.at_once = trials, kappa, edits, at_once

    def run(self, problem: Problem, clean: Answer, rng: np.random.Generator) -> Searching[Any]:
        """See `Search.run`."""
        start, gold = problem.start(), _phrases_of(problem)
        for source in dict.fromkeys(source for source, _ in gold.pairs):
            positions = np.flatnonzero(_within(problem, source))
            problem = (yield Propose(positions)).problem
            states = self._trials(problem, positions, rng)
            for begin in range(0, len(states), self.at_once):
                answer = yield Score(states[begin : begin + self.at_once], base=start)
                if answer.success.any():
                    return answer.states[answer.success.argmax()]
                if answer.over:
                    return start
        return start

    def _trials(self, problem: Problem, positions: Indices, rng: np.random.Generator) -> States:
        """Random states, `(trials, words)`; none where no word has candidates."""
        counts = problem.ptr[positions + 1] - problem.ptr[positions]
        positions, counts = positions[counts > 0], counts[counts > 0]
        if not len(positions):
            return np.zeros((0, len(problem)), dtype=np.int16)
        shape = (self.trials, len(positions))
        edits = np.full(self.trials, self.kappa)
        if self.edits == "up_to":
            edits = rng.integers(1, self.kappa, self.trials, endpoint=True)
        # The first N places of a random order, and a candidate for each.
        order = rng.random(shape).argsort(axis=1).argsort(axis=1)
        choices = rng.integers(1, counts, shape, endpoint=True)
        states = np.zeros((self.trials, len(problem)), dtype=np.int16)
        states[:, positions] = np.where(order < edits[:, None], choices, 0)
        return states


class PhraseWhiteBox(Search):
    """Follows the gradient of the target's loss, pair by pair.

    Pairs come by falling sum, over the words of the source, of the gradient's norm (equation 6),
    where F is restricted to the target without its root; the earliest one on ties. Each starts
    afresh from the original sentence. A trial replaces the kappa words of the source with the
    largest gradients; once kappa are changed, the same ones again (with the constraint `Repeat`
    none, and the pair is left).

    Args:
        trials: of each pair (30).
        kappa: words changed (3).
        pairs: how many pairs are tried (100 in the released code).
        loss: `margin` (equation 4) or `cross_entropy`.
        substitution: what a word is replaced by; by default `NearestWord` with alpha 15.

    Raises:
        InputError: or, from `run`, the goal names no phrases.
    """

    def __init__(
        self,
        *,
        trials: int = 30,
        kappa: int = 3,
        pairs: int = 100,
        loss: Loss = "margin",
        substitution: Substitution | None = None,
    ) -> None:
        check_least("search", trials=trials, kappa=kappa, pairs=pairs)
        check_choice("search: loss", loss, get_args(Loss))
        self.trials, self.kappa, self.pairs = trials, kappa, pairs
        self.loss: Loss = loss
        self.substitution = substitution or NearestWord()

    def run(self, problem: Problem, clean: Answer, rng: np.random.Generator) -> Searching[Any]:
        """See `Search.run`."""
        gold = _phrases_of(problem)
        norms = {}
        for target in dict.fromkeys(target for _, target in gold.pairs):
            answer = yield self._gradient(problem, problem.start(), target)
            norms[target] = answer.gradients.norms
        # Equation 6.
        scores = [norms[target][gold.spans[source].words()].sum() for source, target in gold.pairs]
        order = np.argsort(-np.array(scores), kind="stable")[: self.pairs]
        for source, target in (gold.pairs[index] for index in order.tolist()):
            last = yield from self._attack(problem, source, target)
            if last is not None and last.success[0]:
                return last.states[0]
            if last is not None and last.over:
                break
        return problem.start()

    def _attack(self, problem: Problem, source: int, target: int) -> Searching[Answer | None]:
        """Attack one pair; the last answer, None if nothing was asked."""
        state = problem.start()
        answer: Answer | None = None
        substitutes = deepcopy(self.substitution)
        kappa = min(self.kappa, problem.most_edits)
        for _ in range(self.trials):
            gradients = (yield self._gradient(problem, state, target)).gradients
            ranked = by_norm(gradients, _within(problem, source))
            chosen = within_budget(ranked, state, kappa, once=problem.once)[:kappa]
            verdict = yield from replaced(problem, state, chosen, gradients, substitutes)
            if verdict is None:
                break
            answer, state = verdict, verdict.states[0]
            if answer.success[0] or answer.over:
                break
        return answer

    def _gradient(self, problem: Problem, state: State, target: int) -> Gradient:
        span = _phrases_of(problem).spans[target]
        among = np.zeros(len(problem), dtype=np.bool_)
        among[span.words()] = True
        among[span.root] = False
        return Gradient(state, self.loss, among, self.substitution.characters)


def _phrases_of(problem: Problem) -> PhraseParse:
    if not isinstance(problem.gold, PhraseParse):
        raise InputError(
            "its goal does not say what the phrases of a sentence are",
            key="search",
            remedy="use the goal `robustparse.attacks.PhraseDrop`",
        )
    return problem.gold


def _within(problem: Problem, source: int) -> Mask:
    """Return the words of a phrase that may be changed, `(words,)`."""
    inside = np.zeros(len(problem), dtype=np.bool_)
    inside[_phrases_of(problem).spans[source].words()] = True
    return inside & problem.eligible
