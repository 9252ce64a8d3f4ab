"""In which order a greedy search visits the words: five rankings by importance.

Each asks what it needs and ranks the eligible positions once, on the sentence as it is: by the
score with the unknown word in a word's place (Gao et al. 2018), without the word (Li et al. 2016;
Jin et al. 2020), by probability weighted word saliency (Ren et al. 2019), by the norm of the loss
gradient (Yoo and Qi 2021), or at random. The position with the highest importance comes first, the
leftmost one on ties.

By equation 2 of Jin et al. 2020 a word without which the victim sees another class counts for more,
by how far the probability of that class rises. With two classes this leaves the order as it is.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from robustparse.attacks.edit_budget import floor_of
from robustparse.attacks.problem import DELETED, UNKNOWN, Problem, one_changed
from robustparse.attacks.search.requests import (
    Answer,
    Expand,
    Gradient,
    Judged,
    Propose,
    Score,
    Searching,
)
from robustparse.errors import InputError, check_choice
from robustparse.types import Indices

AskedWords = Literal["eligible", "all"]


@dataclass(frozen=True, eq=False)
class Ranked:
    """Positions by falling importance, `(positions,)`.

    Args:
        positions: the positions.
        over: whether the budget is spent, so that nothing more may be asked.
        choices: the best candidate found at each position, 0 where there is none; None from
            rankings that ask about no candidates.
        tried: all candidates that were asked about, one change each; None from such rankings.
    """

    positions: Indices
    over: bool
    choices: Indices | None = None
    tried: Judged | None = None


class Ranking(ABC):
    """Ranks the eligible positions of one sentence."""

    @abstractmethod
    def rank(self, problem: Problem, clean: Answer, rng: np.random.Generator) -> Searching[Ranked]:
        """Rank; arguments as in `Search.run`."""


class UnknownWord(Ranking):
    """By the score with the unknown word in the word's place (UNK).

    Args:
        words: which words are asked about: `eligible` ones only (Yoo et al. 2020), or `all`, stop
            words too (Jin et al. 2020, algorithm 1), which cost a query each and are never visited.
        flip: where another class becomes the most probable, adds how far its probability rises
            (Jin et al. 2020, equation 2). No effect if the goal is one class, or not classes.
    """

    def __init__(self, *, words: AskedWords = "eligible", flip: bool = False) -> None:
        check_choice("ranking: words", words, get_args(AskedWords))
        self.words, self.flip = words, flip

    def rank(self, problem: Problem, clean: Answer, rng: np.random.Generator) -> Searching[Ranked]:
        """See `Ranking.rank`."""
        return (yield from _by_score(problem, UNKNOWN, self.words, self.flip))


class DeletedWord(Ranking):
    """By the score without the word (DEL).

    Args:
        words: see `UnknownWord`.
        flip: see `UnknownWord`.
    """

    def __init__(self, *, words: AskedWords = "eligible", flip: bool = False) -> None:
        check_choice("ranking: words", words, get_args(AskedWords))
        self.words, self.flip = words, flip

    def rank(self, problem: Problem, clean: Answer, rng: np.random.Generator) -> Searching[Ranked]:
        """See `Ranking.rank`."""
        return (yield from _by_score(problem, DELETED, self.words, self.flip))


class WeightedSaliency(Ranking):
    """By probability weighted word saliency (PWWS; Ren et al. 2019, equations 5 to 9).

    Saliency, a softmax over the scores (in [0, 1]) with the unknown word, times the best that a
    candidate does in the word's place, which is 0 for a word without candidates.

    Args:
        gain: what the best candidate is measured by: `increase`, how far it raises the score of
            the sentence as it is (the paper), or `score`, its score itself (TextAttack).
    """

    def __init__(self, *, gain: Literal["increase", "score"] = "increase") -> None:
        check_choice("ranking: gain", gain, ("increase", "score"))
        self.gain = gain

    def rank(self, problem: Problem, clean: Answer, rng: np.random.Generator) -> Searching[Ranked]:
        """See `Ranking.rank`."""
        start, positions = problem.start(), np.flatnonzero(problem.eligible)
        if not len(positions):
            return Ranked(positions, clean.over)
        answer = yield Score(one_changed(start, positions, UNKNOWN))
        if answer.over:
            return Ranked(positions, over=True)
        exponentials = np.exp(answer.scores - answer.scores.max())
        saliency = exponentials / exponentials.sum()
        problem = (yield Propose(positions)).problem
        answer = yield Expand(start, positions)
        places, best = answer.best_of_each()
        gains = np.zeros(len(positions))
        gains[places] = answer.scores[best]
        if self.gain == "increase":
            gains[places] -= clean.scores[0]
        choices = np.zeros(len(positions), dtype=np.int64)
        choices[places] = answer.states[best, positions[places]]
        order = np.argsort(-saliency * gains, kind="stable")
        return Ranked(positions[order], answer.over, choices[order], answer)


class GradientNorm(Ranking):
    """By the norm of the training loss's gradient at the word's embedding; nothing is charged.

    The loss is that of the gold answer, or of the answer that the goal wants.

    Args:
        norm: `l1`, or `l2`, over all pieces of a word (Zheng et al. 2020, section 3.2, white box).
            `l1` is TextAttack's for words in one piece; of a word in several it takes the sum of
            the pieces' gradients, TextAttack their mean, so that long words come earlier here.
    """

    def __init__(self, *, norm: Literal["l1", "l2"] = "l1") -> None:
        check_choice("ranking: norm", norm, ("l1", "l2"))
        self.norm = norm

    def rank(self, problem: Problem, clean: Answer, rng: np.random.Generator) -> Searching[Ranked]:
        """See `Ranking.rank`."""
        gradients = (yield Gradient(problem.start(), loss="cross_entropy")).gradients
        norms = np.abs(gradients.at_words).sum(axis=1) if self.norm == "l1" else gradients.norms
        positions = np.flatnonzero(problem.eligible)
        order = np.argsort(-norms[positions], kind="stable")
        return Ranked(positions[order], clean.over)


class RandomOrder(Ranking):
    """In random order; nothing is asked (RAND).

    Args:
        fraction: of a text's W words, floor(fraction W) are visited at most, for an ablation at the
            fraction that another attack changes (Jin et al. 2020, Table 8: 0.167 on MR, 0.22 on AG,
            0.185 on SNLI, stop words among them). 1 visits every eligible word.

    Raises:
        InputError: the fraction is not in (0, 1].
    """

    def __init__(self, *, fraction: float = 1.0) -> None:
        if not 0.0 < fraction <= 1.0:
            raise InputError(f"must be in (0, 1], got {fraction}", key="ranking: fraction")
        self.fraction = fraction

    def rank(self, problem: Problem, clean: Answer, rng: np.random.Generator) -> Searching[Ranked]:
        """See `Ranking.rank`."""
        yield from ()
        most = floor_of(self.fraction, len(problem))
        return Ranked(rng.permutation(np.flatnonzero(problem.eligible))[:most], clean.over)


def _by_score(problem: Problem, choice: int, words: AskedWords, flip: bool) -> Searching[Ranked]:
    """Rank by the score with one choice at the position."""
    every = np.arange(len(problem))
    positions = every if words == "all" else every[problem.eligible]
    answer = yield Score(one_changed(problem.start(), positions, choice))
    weights = answer.scores
    if flip and answer.rises is not None:
        weights = weights + answer.rises
    # What the budget cut off is not ranked; nothing more may be asked then in any case.
    ranked = positions[np.argsort(-weights, kind="stable")]
    return Ranked(ranked[problem.eligible[ranked]], answer.over)
