"""Rankings of words by importance: the order in which a greedy search visits them.

Each ranks the eligible positions once, in the original sentence: by the score with the word
replaced by the unknown word (Gao et al. 2018), by the score without the word (Li et al. 2016; Jin
et al. 2020), by what the word adds to the text before or after it (Gao et al. 2018), by probability
weighted word saliency (Ren et al. 2019), by the norm of the loss gradient (Yoo and Qi 2021), at
random, or as they stand in the text. The most important position comes first; ties go to the
leftmost.

In equation 2 of Jin et al. 2020, if deleting a word changes the predicted class, the increase in
the new class's probability is added to the word's importance. With two classes this does not change
the order.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

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
from robustparse.data.fractions import check_fraction
from robustparse.errors import InputError, check_choice
from robustparse.types import Indices

AskedWords = Literal["eligible", "all"]
TemporalKind = Literal["head", "tail", "combined"]


@dataclass(frozen=True, eq=False)
class Ranked:
    """Ranked positions.

    Args:
        positions: by falling importance, `(positions,)`.
        over: whether the query budget is spent.
        choices: the best candidate at each position, 0 if it has none; None from rankings that
            score no candidates.
        tried: all scored candidates, as single changes; None from rankings that score none.
    """

    positions: Indices
    over: bool
    choices: Indices | None = None
    tried: Judged | None = None


class Ranking(ABC):
    """Ranks the eligible positions of one sentence.

    Attributes:
        needs: see `Search.needs`.
    """

    needs: ClassVar[tuple[str, ...]] = ("scores",)

    @abstractmethod
    def rank(self, problem: Problem, clean: Answer, rng: np.random.Generator) -> Searching[Ranked]:
        """Rank the positions; the arguments are those of `Search.run`."""


class UnknownWord(Ranking):
    """By the score with the word replaced by the unknown word (UNK).

    Args:
        words: which words are scored: only `eligible` ones (Yoo et al. 2020), or `all` (Jin et al.
            2020, algorithm 1). With `all`, stop words cost a query each, too, but are not visited.
        flip: if another class becomes the most probable, add the increase in its probability (Jin
            et al. 2020, equation 2). No effect on goals with a target class or without classes.
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


class TemporalScore(Ranking):
    """By what a word adds to the text up to it, or from it on (Gao et al. 2018, section 3.1).

    With F the probability of the right answer, that is, 1 minus the goal's score, the temporal head
    score is THS(i) = F(x_1 .. x_i) - F(x_1 .. x_i-1), the temporal tail score is
    TTS(i) = F(x_i .. x_n) - F(x_i+1 .. x_n). The empty text is read as the unknown word. Each text
    costs a query; the whole text is already known. Their replace-1 score is `UnknownWord`.

    Args:
        score: `head`, `tail`, or `combined`, which is THS + weight * TTS.
        weight: lambda of the combined score.
    """

    def __init__(self, *, score: TemporalKind = "combined", weight: float = 1.0) -> None:
        check_choice("ranking: score", score, get_args(TemporalKind))
        if not np.isfinite(weight):
            raise InputError(f"must be a number, got {weight}", key="ranking: weight")
        self.score, self.weight = score, weight

    def rank(self, problem: Problem, clean: Answer, rng: np.random.Generator) -> Searching[Ranked]:
        """See `Ranking.rank`."""
        length, positions = len(problem), np.flatnonzero(problem.eligible)
        added, before = np.zeros(length), np.arange(length) < np.arange(length + 1)[:, None]
        # Row i of `before` marks the first i words: without them a tail is left, without the others
        # a head. The score falls by what a word adds to F.
        partial = {
            "head": (~before, 0, 1, 1.0),
            "tail": (before, 1, 0, self.weight if self.score == "combined" else 1.0),
        }
        for removed, without, with_word, weight in (
            partial.values() if self.score == "combined" else (partial[self.score],)
        ):
            rows = np.flatnonzero(removed.any(axis=1))
            states = np.where(removed[rows], np.int16(DELETED), problem.start())
            answer = yield Score(states)
            if answer.over:
                return Ranked(positions, over=True)
            scores = np.full(length + 1, clean.scores[0])
            scores[rows] = answer.scores
            ends = np.arange(length)
            added += weight * (scores[ends + without] - scores[ends + with_word])
        return Ranked(positions[np.argsort(-added[positions], kind="stable")], clean.over)


class WeightedSaliency(Ranking):
    """By probability weighted word saliency (PWWS; Ren et al. 2019, equations 5 to 9).

    The importance is the saliency, a softmax over the scores (in [0, 1]) with the unknown word,
    times the gain of the word's best candidate, which is 0 for a word without candidates.

    Args:
        gain: `increase`, the increase in score over the original sentence (the paper), or `score`,
            the score itself (TextAttack).
        saliency: false ranks by the gain alone (CLARE; Li et al. 2021, algorithm 1).
    """

    needs = ("probabilities",)

    def __init__(
        self, *, gain: Literal["increase", "score"] = "increase", saliency: bool = True
    ) -> None:
        check_choice("ranking: gain", gain, ("increase", "score"))
        self.gain, self.saliency = gain, saliency

    def rank(self, problem: Problem, clean: Answer, rng: np.random.Generator) -> Searching[Ranked]:
        """See `Ranking.rank`."""
        start, positions = problem.start(), np.flatnonzero(problem.eligible)
        if not len(positions):
            return Ranked(positions, clean.over)
        saliency = np.ones(len(positions))
        if self.saliency:
            answer = yield Score(one_changed(start, positions, UNKNOWN))
            if answer.over:
                return Ranked(positions, over=True)
            exponentials = np.exp(answer.scores - answer.scores.max())
            saliency = exponentials / exponentials.sum()
        problem = (yield Propose(positions)).problem
        answer = yield Expand(start, positions)
        index, best = answer.best_of_each()
        gains = np.zeros(len(positions))
        gains[index] = answer.scores[best]
        if self.gain == "increase":
            gains[index] -= clean.scores[0]
        choices = np.zeros(len(positions), dtype=np.int64)
        choices[index] = answer.states[best, positions[index]]
        order = np.argsort(-saliency * gains, kind="stable")
        return Ranked(positions[order], answer.over, choices[order], answer)


class GradientNorm(Ranking):
    """By the norm of the training loss's gradient at the word's embedding; nothing is charged.

    The loss is that of the gold answer, or of the goal's target.

    Args:
        norm: `l1`, or `l2` over all pieces of a word (Zheng et al. 2020, section 3.2, white box).
            For words of one piece, `l1` equals TextAttack's. For words of several pieces it sums
            their gradients, whereas TextAttack takes the mean, so that long words rank higher here.
    """

    needs = ("gradients",)

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
    """In random order, without queries (RAND).

    Args:
        fraction: at most floor(fraction * W) of a text's W words are visited; 1 visits every
            eligible word. Jin et al. 2020, Table 8, use the fraction of words that another attack
            changes (0.167 on MR, 0.22 on AG, 0.185 on SNLI, including stop words).

    Raises:
        InputError: the fraction is not in (0, 1].
    """

    needs = ()

    def __init__(self, *, fraction: float = 1.0) -> None:
        check_fraction("ranking: fraction", fraction)
        self.fraction = fraction

    def rank(self, problem: Problem, clean: Answer, rng: np.random.Generator) -> Searching[Ranked]:
        """See `Ranking.rank`."""
        yield from ()
        most = floor_of(self.fraction, len(problem))
        return Ranked(rng.permutation(np.flatnonzero(problem.eligible))[:most], clean.over)


class TextOrder(Ranking):
    """As the words stand in the text, without queries (Tan et al. 2020, algorithm 1)."""

    needs = ()

    def rank(self, problem: Problem, clean: Answer, rng: np.random.Generator) -> Searching[Ranked]:
        """See `Ranking.rank`."""
        yield from ()
        return Ranked(np.flatnonzero(problem.eligible), clean.over)


def _by_score(problem: Problem, choice: int, words: AskedWords, flip: bool) -> Searching[Ranked]:
    """Rank positions by the score with the given choice there."""
    every = np.arange(len(problem))
    positions = every if words == "all" else every[problem.eligible]
    answer = yield Score(one_changed(problem.start(), positions, choice))
    weights = answer.scores
    if flip and answer.rises is not None:
        weights = weights + answer.rises
    # Positions cut off by the budget are not ranked; no further queries are possible then anyway.
    ranked = positions[np.argsort(-weights, kind="stable")]
    return Ranked(ranked[problem.eligible[ranked]], answer.over)
