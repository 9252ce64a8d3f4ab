"""Phrase-level attacks of Zheng et al. 2020, section 3.3, black box and white box.

Both change up to kappa words of one phrase, the source, until the victim makes more errors in
another phrase, the target; the goal `PhraseDrop` defines phrases and errors. The first success ends
the search; without success the sentence stays unchanged. If the sentence constraints reject some
changes of a trial, it is scored without them.
"""

from copy import deepcopy
from typing import Any, Literal, get_args

import numpy as np

from robustparse.attacks.goals.phrases import PhraseParse
from robustparse.attacks.problem import Problem, State
from robustparse.attacks.search.gradient_substitution import NearestWord, Substitution
from robustparse.attacks.search.requests import Answer, Gradient, Propose, Score, Search, Searching
from robustparse.attacks.search.zheng2020_whitebox import by_norm, replaced, within_budget
from robustparse.attacks.victim import Loss
from robustparse.errors import InputError, check_choice, check_least
from robustparse.types import Indices, Mask, States


class PhraseBlackBox(Search):
    """Puts random words at random positions of each source; sources come from left to right.

    Substitutes are drawn uniformly from a word's candidates; with `VocabularyWords` these are words
    of the vocabulary.

    Args:
        trials: number of random states per source (256).
        kappa: maximum number of changed words (3).
        edits: `up_to` kappa words, a number drawn uniformly (paper), or `exactly` kappa words,
            fewer only if the source has fewer words that may be changed (released code).
        at_once: trials scored together; all are charged even if an earlier one succeeds.

    Raises:
        InputError: a setting is out of range; from `run`: the goal defines no phrases.
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
        """Draw states, `(trials, words)`; empty if no word has candidates."""
        counts = problem.ptr[positions + 1] - problem.ptr[positions]
        positions, counts = positions[counts > 0], counts[counts > 0]
        if not len(positions):
            return np.zeros((0, len(problem)), dtype=np.int16)
        shape = (self.trials, len(positions))
        edits = np.full(self.trials, self.kappa)
        if self.edits == "up_to":
            edits = rng.integers(1, self.kappa, self.trials, endpoint=True)
        # The first N positions in a random order, with a candidate for each.
        order = rng.random(shape).argsort(axis=1).argsort(axis=1)
        choices = rng.integers(1, counts, shape, endpoint=True)
        states = np.zeros((self.trials, len(problem)), dtype=np.int16)
        states[:, positions] = np.where(order < edits[:, None], choices, 0)
        return states


class PhraseWhiteBox(Search):
    """Follows the gradient of the target's loss, pair by pair.

    Pairs are sorted by the sum of the gradient's norms over the words of the source (equation 6),
    largest first, where F is restricted to the target without its root; ties keep their order. Each
    pair starts from the original sentence. A trial replaces the kappa words of the source with the
    largest gradients. Once kappa words are changed, the same words are replaced again; with the
    constraint `Repeat`, the search then goes on to the next pair.

    Args:
        trials: trials per pair (30).
        kappa: maximum number of changed words (3).
        pairs: maximum number of pairs (100 in the released code).
        loss: `margin` (equation 4) or `cross_entropy`.
        substitution: chooses substitutes; by default `NearestWord` with alpha 15.

    Raises:
        InputError: a setting is out of range; from `run`: the goal defines no phrases.
    """

    needs = ("gradients", "probabilities")

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
        """Attack one pair; return the last answer, or None if no state was scored."""
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
            "its goal does not define the phrases of a sentence",
            key="search",
            remedy="use the goal `robustparse.attacks.PhraseDrop`",
        )
    return problem.gold


def _within(problem: Problem, source: int) -> Mask:
    """Tell which words belong to a phrase and may be changed, `(words,)`."""
    inside = np.zeros(len(problem), dtype=np.bool_)
    inside[_phrases_of(problem).spans[source].words()] = True
    return inside & problem.eligible
