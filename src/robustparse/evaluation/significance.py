"""Significance of score differences: paired bootstrap and permutation test over sentences.

Sentences are drawn with replacement, the same for every system (Efron and Tibshirani 1993, chapter
13; Koehn 2004). The statistic is computed from the corpus-level scores of each draw (correct units
divided by counted units, or by a divisor of each answer, as for F1); percentiles of its values are
the bounds of the interval. Sentences with equal counts are drawn together in a fixed order, so that
the order of sentences and the grouping of draws change no digit.

An interval describes the trained system; training again with another seed varies more, which
`mean_of_seeds` measures.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import mean, stdev
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robustparse.tasks.task import Scores as TaskScores

Scores: TypeAlias = NDArray[np.float64]
Statistic: TypeAlias = Callable[[Scores], Scores]
SentenceSums: TypeAlias = Mapping[str, Sequence[int]]

LEVEL = 0.95  # probability inside an interval
CHUNK = 1_000  # draws held in memory at once
_ANGLES = 1_000_000  # of a numeric integral; Student's quantile is then right to five digits


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate between its bounds, in percentage points (scores) or percent (shares).

    Args:
        estimate: the statistic of the original sample.
        lower: the lower bound; -inf if the statistic is undefined in too many draws.
        upper: the upper bound; +inf in that case.
    """

    estimate: float
    lower: float
    upper: float


def paired_bootstrap(
    statistic: Statistic,
    correct: Sequence[ArrayLike],
    counted: ArrayLike,
    *,
    seed: int,
    draws: int = 10_000,
) -> Interval:
    """Estimate a statistic of several systems' scores, and a 95 % percentile interval around it.

    Args:
        statistic: from scores in percent, shape `(systems, draws)`, to one value a draw, shape
            `(draws,)`, NaN where undefined. Such draws count as below the lower and above the upper
            bound, so that an interval is never narrower for them.
        correct: for each system its correct parts, shape `(sentences,)`, or these and what they are
            divided by, shape `(sentences, 2)`.
        counted: shape `(sentences,)`, counted parts, the same for all systems.
        seed: of the draws.
        draws: resampled corpora; 10,000 leaves a bound uncertain by about 2 % of the interval.

    Returns:
        The estimate on the sentences as they are, and its bounds.

    Raises:
        ValueError: counts are not integers in 0..counted of one shape, nothing is counted, or the
            statistic of the sentences as they are is undefined.
    """
    if draws < 1:
        raise ValueError(f"draws must be >= 1, got {draws}")
    counts = _checked(correct, counted)
    kinds, multiplicity = np.unique(counts, axis=1, return_counts=True)
    systems = len(correct)
    estimate = float(statistic(_scores(kinds @ multiplicity[:, None], systems))[0])
    if not np.isfinite(estimate):
        raise ValueError(
            "the statistic is undefined on these sentences: nothing was lost to recover"
        )
    values = _draw(lambda sums: statistic(_scores(sums, systems)), kinds, multiplicity, seed, draws)
    undefined = np.isnan(values)
    rank = int((1 - LEVEL) / 2 * draws)
    lower = np.sort(np.where(undefined, -np.inf, values))[rank]
    upper = np.sort(np.where(undefined, np.inf, values))[draws - 1 - rank]
    return Interval(estimate, float(lower), float(upper))


def paired_permutation(
    first: Sequence[int], second: Sequence[int], *, seed: int, draws: int = 10_000
) -> float:
    """Return the p-value of two systems' scores, by the paired permutation test, two-sided.

    In each draw the two systems' answers to every sentence change places with probability 1/2
    (Fisher 1935; Yeh 2000). Of equally many counted parts, scores differ as the sums of right ones;
    with other divisors, the sums of right parts are tested.

    Args:
        first: correct parts of one system's answers, `(sentences,)`.
        second: correct parts of the other's, for the same sentences.
        seed: of the draws.
        draws: permutations; the value is at least 1 / (draws + 1).

    Raises:
        ValueError: there are not as many of both, or no draws.
    """
    if len(first) != len(second) or draws < 1:
        raise ValueError(f"got {len(first)} and {len(second)} sentences, {draws} draws")
    differences = np.asarray(second, dtype=np.int64) - np.asarray(first, dtype=np.int64)
    kinds, multiplicity = np.unique(np.abs(differences), return_counts=True)
    rng = np.random.default_rng(seed)
    swapped = rng.binomial(multiplicity, 0.5, size=(draws, len(kinds)))
    sums = (multiplicity - 2 * swapped) @ kinds
    as_far = int((np.abs(sums) >= abs(int(differences.sum()))).sum())
    return (1 + as_far) / (1 + draws)


def holm(values: Sequence[float]) -> list[float]:
    """Adjust p-values for their number, so that a level holds for all of them together (Holm 1979).

    Returns:
        For each value the largest, over values no larger than it, of the value times the number of
        values that are not smaller; 1 at most.
    """
    order = sorted(range(len(values)), key=values.__getitem__)
    adjusted, largest = [0.0] * len(values), 0.0
    for rank, index in enumerate(order):
        largest = max(largest, min(1.0, values[index] * (len(values) - rank)))
        adjusted[index] = largest
    return adjusted


@dataclass(frozen=True, slots=True)
class AttackedCounts:
    """Correct parts of a system's answers to each sentence, before and after an attack.

    Systems are compared on the same sentences in the same order.

    Args:
        counted: parts that enter the scores, `(sentences,)`.
        clean: correct parts of the answers to the originals, see `paired_bootstrap`.
        attacked: correct parts of the answers to the perturbed sentences.
    """

    counted: Sequence[int]
    clean: Sequence[Any]
    attacked: Sequence[Any]

    def fooled(self) -> list[int]:
        """Return 1 for each sentence of which fewer parts are right under attack, 0 for others."""
        pairs = zip(correct_parts(self.clean), correct_parts(self.attacked), strict=True)
        return [int(attacked < clean) for clean, attacked in pairs]

    def lost(self) -> Interval:
        """Estimate the points that the system loses to the attack."""
        return self.estimate(lambda scores: scores[0] - scores[1], self.clean, self.attacked)

    def lost_beyond(self, first: "AttackedCounts") -> Interval:
        """Estimate how many points more than another system this one loses to the attack."""

        def difference(scores: Scores) -> Any:
            clean_first, attacked_first, clean, attacked = scores
            return (clean - attacked) - (clean_first - attacked_first)

        both = (first.clean, first.attacked, self.clean, self.attacked)
        return self.estimate(difference, *both, others=(first,))

    def gained(self, first: "AttackedCounts") -> Interval:
        """Estimate how many points more than another system this one scores under attack."""
        both = (first.attacked, self.attacked)
        return self.estimate(lambda scores: scores[1] - scores[0], *both, others=(first,))

    def estimate(
        self,
        statistic: Statistic,
        *correct: Sequence[int],
        others: Sequence["AttackedCounts"] = (),
    ) -> Interval:
        """Estimate a statistic of this system's scores and others'; see `paired_bootstrap`.

        Raises:
            ValueError: the others were not scored on the same sentences.
        """
        if any([*other.counted] != [*self.counted] for other in others):
            raise ValueError("the systems were not scored on the same sentences")
        return paired_bootstrap(statistic, correct, self.counted, seed=0)


def mean_of_seeds(values: Sequence[float]) -> Interval:
    """Return the mean of scores, and its 95 % interval by Student's t distribution.

    The interval describes how scores vary between seeds: with three seeds it is 2.5 standard
    deviations wide on each side, but it ends at 0 and at 100 %. It says nothing about the choice of
    the test sentences.

    Args:
        values: a score of each run, in percent.

    Raises:
        ValueError: there are fewer than two values.
    """
    if len(values) < 2:
        raise ValueError(f"the number of values must be >= 2, got {len(values)}")
    estimate, error = mean(values), stdev(values) / len(values) ** 0.5
    width = _quantile(len(values) - 1) * error
    return Interval(estimate, max(0.0, estimate - width), min(100.0, estimate + width))


@cache
def _quantile(freedom: int) -> float:
    """Return the t with P(-t < T < t) = `LEVEL`, for T with this many degrees of freedom.

    With T = sqrt(freedom) * tan(angle), the density of the angle is proportional to
    cos(angle) ** (freedom - 1).
    """
    step = np.pi / 2 / _ANGLES
    middles = (np.arange(_ANGLES) + 0.5) * step
    below = np.cumsum(np.cos(middles) ** (freedom - 1))
    angle = float(np.interp(LEVEL, below / below[-1], middles + step / 2))
    return float(np.sqrt(freedom) * np.tan(angle))


def counts_of(scores: TaskScores, name: str, sums: SentenceSums) -> Sequence[Any]:
    """Return the correct parts of each answer, with the divisor unless it is ``counted``.

    Args:
        scores: of the task.
        name: the score.
        sums: lists with a number for each sentence, see `Scores.fraction`.
    """
    arrays = {key: np.asarray(values, dtype=np.int64) for key, values in sums.items()}
    part, whole = scores.fraction(name, arrays)
    counts = part if whole is arrays["counted"] else np.stack([part, whole], 1)
    listed: Sequence[Any] = counts.tolist()
    return listed


def correct_parts(counts: Sequence[Any]) -> list[int]:
    """Return the correct parts of each sentence, without divisors."""
    return [int(each[0] if isinstance(each, Sequence) else each) for each in counts]


def score_in_percent(counts: Sequence[Any], counted: Sequence[int]) -> float:
    """Return the score of all sentences; NaN if the divisor is 0."""
    return float(_scores(_checked([counts], counted).sum(axis=1, keepdims=True), 1)[0, 0])


def _draw(
    statistic: Callable[[NDArray[np.int64]], Scores],
    kinds: NDArray[np.int64],
    multiplicity: NDArray[np.int64],
    seed: int,
    draws: int,
) -> Scores:
    """Compute the statistic of sums of each draw, from distinct columns of counts."""
    n = int(multiplicity.sum())
    rng = np.random.default_rng(seed)
    values = []
    for start in range(0, draws, CHUNK):
        times = rng.multinomial(n, multiplicity / n, min(CHUNK, draws - start))
        values.append(statistic(kinds @ times.T))
    return np.concatenate(values)


def _scores(sums: NDArray[np.int64], systems: int) -> Scores:
    """Compute scores in percent, shape `(systems, draws)`, from sums: divisors, then correct."""
    with np.errstate(divide="ignore", invalid="ignore"):
        scores: Scores = 100 * sums[-systems:] / sums[:-systems]
    return scores


def _checked(correct: Sequence[ArrayLike], counted: ArrayLike) -> NDArray[np.int64]:
    """Stack divisors and correct parts as rows, shape `(divisors + systems, sentences)`.

    There is one divisor, counted, or one for each system.
    """
    sides, sizes = [np.asarray(each) for each in correct], np.asarray(counted)
    if any(side.ndim == 2 for side in sides):
        pairs = [side if side.ndim == 2 else np.stack([side, sizes], 1) for side in sides]
        sides, sizes = [pair[:, 0] for pair in pairs], np.stack([pair[:, 1] for pair in pairs])
    right = np.asarray(sides)
    if right.ndim != 2 or sizes.shape[-1:] != right.shape[1:] or not sizes.size:
        raise ValueError(
            "correct must have shape (systems, sentences) and counted (sentences,), with at least "
            f"one sentence, got {right.shape} and {sizes.shape}"
        )
    if right.dtype.kind not in "iu" or sizes.dtype.kind not in "iu":
        raise ValueError(f"counts must be integers, got {right.dtype} and {sizes.dtype}")
    if (right < 0).any() or (right > sizes).any() or not sizes.any():
        raise ValueError("correct must be in 0..counted, and something must be counted")
    return np.vstack([sizes, right]).astype(np.int64)
