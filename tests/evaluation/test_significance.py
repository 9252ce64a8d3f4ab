"""Bootstrap intervals against exhaustive resampling, known populations, and their invariances."""

import itertools
import math
from collections import Counter
from statistics import mean

import numpy as np
import pytest
from numpy.typing import NDArray

from robustparse.evaluation import significance
from robustparse.evaluation.significance import (
    Interval,
    holm,
    mean_of_seeds,
    paired_bootstrap,
    paired_permutation,
)

Counts = NDArray[np.int64]

# Four sentences of 3 to 7 words: a model under attack, and two defended ones.
WORDS = np.array([3, 5, 4, 7])
CLEAN = np.array([1, 3, 2, 4])
FIRST = np.array([2, 4, 1, 6])
SECOND = np.array([2, 3, 2, 5])


def score_difference(
    first: Counts, second: Counts, words: Counts, *, seed: int, draws: int = 10_000
) -> Interval:
    """The first system's score minus the second's."""
    return paired_bootstrap(
        lambda scores: scores[0] - scores[1], [first, second], words, seed=seed, draws=draws
    )


def every_resample() -> list[list[int]]:
    return [list(x) for x in itertools.product(range(4), repeat=4)]


def exact(values: list[float], level: float) -> tuple[float, float]:
    """Bounds that leave (1 - level) / 2 of all equally likely resamples outside on each side."""
    ordered, rank = sorted(values), int((1 - level) / 2 * len(values))
    return ordered[rank], ordered[len(values) - 1 - rank]


def test_score_difference_on_all_resamples() -> None:
    values = [
        100 * (sum(FIRST[s]) - sum(SECOND[s])) / sum(WORDS[s])
        for s in map(np.array, every_resample())
    ]
    found = score_difference(FIRST, SECOND, WORDS, seed=1, draws=100_000)
    assert found.estimate == pytest.approx(100 * (13 - 12) / 19)
    assert (found.lower, found.upper) == pytest.approx(exact(values, 0.95))


def test_every_resample_is_as_likely_as_it_should_be() -> None:
    seen: list[NDArray[np.float64]] = []

    def keep(las: NDArray[np.float64]) -> NDArray[np.float64]:
        seen.append(las)
        return np.zeros(las.shape[1])

    paired_bootstrap(keep, [FIRST, CLEAN], WORDS, seed=5, draws=50_000)
    drawn = Counter(tuple(np.round(column, 6)) for las in seen[1:] for column in las.T)
    expected = Counter(
        tuple(np.round([100 * sum(x[s]) / sum(WORDS[s]) for x in (FIRST, CLEAN)], 6))
        for s in map(np.array, every_resample())
    )
    assert drawn.keys() <= expected.keys()
    for outcome, times in expected.items():
        p = times / 256
        assert abs(drawn[outcome] - 50_000 * p) < 5 * math.sqrt(50_000 * p * (1 - p))


def synthetic(rng: np.random.Generator, n: int) -> tuple[Counts, Counts, Counts]:
    """Two systems right on 80 % and 75 % of words, correlated within and between sentences."""
    words = rng.integers(1, 30, n)
    ease = rng.normal(0, 0.08, n)
    first = rng.binomial(words, np.clip(0.80 + ease, 0, 1))
    second = rng.binomial(words, np.clip(0.75 + ease, 0, 1))
    return words, first, second


def test_intervals_cover_the_truth_as_often_as_they_say() -> None:
    rng = np.random.default_rng(0)
    words, first, second = synthetic(rng, 1_000_000)
    truth = 100 * (first.sum() - second.sum()) / words.sum()
    hits = 0
    for trial in range(400):
        words, first, second = synthetic(rng, 80)
        found = score_difference(first, second, words, seed=trial, draws=400)
        hits += found.lower <= truth <= found.upper
    # 95 % of 400 with a standard deviation of 4.4, and a percentile interval is a little narrow
    assert 360 <= hits <= 394


def test_order_and_chunks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    words, first, second = synthetic(rng, 300)
    found = score_difference(first, second, words, seed=3, draws=2_500)
    order = rng.permutation(300)
    assert score_difference(first[order], second[order], words[order], seed=3, draws=2_500) == found
    monkeypatch.setattr(significance, "CHUNK", 7)
    assert score_difference(first, second, words, seed=3, draws=2_500) == found
    assert score_difference(first, second, words, seed=4, draws=2_500) != found


def test_pairing_matters() -> None:
    """The systems share their hard sentences, so their difference is surer than either score."""
    words, first, _ = synthetic(np.random.default_rng(4), 300)
    worse = np.maximum(first - 1, 0)
    paired = score_difference(first, worse, words, seed=0)
    shuffled = np.lexsort((words,))  # breaks no sentence's own bound: same words, other sentence
    unpaired = worse.copy()
    for size in np.unique(words):
        at = shuffled[words[shuffled] == size]
        unpaired[at] = np.roll(worse[at], 1)
    apart = score_difference(first, unpaired, words, seed=0)
    assert apart.estimate == pytest.approx(paired.estimate)
    assert apart.upper - apart.lower > 2 * (paired.upper - paired.lower)


def test_as_many_draws_lie_outside_on_each_side(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = np.random.default_rng(0).permutation(1000).astype(np.float64)
    monkeypatch.setattr(significance, "_draw", lambda *_: drawn)
    found = score_difference(FIRST, SECOND, WORDS, seed=0, draws=1000)
    assert (found.lower, found.upper) == (25.0, 974.0)  # 25 below, 25 above


def test_equal_systems_differ_by_nothing() -> None:
    assert score_difference(FIRST, FIRST, WORDS, seed=0) == Interval(0.0, 0.0, 0.0)


def test_exchanging_the_systems_flips_the_interval() -> None:
    one = score_difference(FIRST, SECOND, WORDS, seed=9)
    two = score_difference(SECOND, FIRST, WORDS, seed=9, draws=10_000)
    assert two.estimate == -one.estimate
    assert two.lower == pytest.approx(-one.upper, abs=1.5)


@pytest.mark.parametrize(
    ("correct", "words", "complaint"),
    [
        ([[1, 2]], [1, 2, 3], "must have shape"),
        ([[]], [], "must have shape"),
        ([[3, 1]], [2, 2], r"0\.\.counted"),
        ([[-1, 1]], [2, 2], r"0\.\.counted"),
        ([[0, 0]], [0, 0], "counted"),
        ([[0.5, 1.0]], [2, 2], "integers"),
    ],
)
def test_unusable_counts_are_refused(
    correct: list[list[float]], words: list[int], complaint: str
) -> None:
    with pytest.raises(ValueError, match=complaint):
        paired_bootstrap(lambda las: las[0], correct, words, seed=0)


def test_permutations_are_all_exchanges_of_two_systems() -> None:
    first, second = np.array([3, 1, 2, 0, 5, 2]), np.array([1, 0, 2, 1, 3, 2])
    observed = abs(sum(second - first))
    exchanges = itertools.product((1, -1), repeat=6)
    as_far = [abs(sum((second - first) * signs)) >= observed for signs in exchanges]
    found = paired_permutation(first.tolist(), second.tolist(), seed=0, draws=100_000)
    assert found == pytest.approx(np.mean(as_far), abs=0.005)
    assert paired_permutation(second.tolist(), first.tolist(), seed=0, draws=999) == (
        paired_permutation(first.tolist(), second.tolist(), seed=0, draws=999)
    )
    assert paired_permutation([1, 2], [1, 2], seed=0) == 1.0
    assert paired_permutation([0] * 50, [1] * 50, seed=0, draws=99) == 0.01
    assert paired_permutation([0] * 50, [1] * 50, seed=0, draws=1) == 0.5
    for bad in (([1], [1, 2], 9), ([1], [1], 0)):
        with pytest.raises(ValueError, match="sentences"):
            paired_permutation(bad[0], bad[1], seed=0, draws=bad[2])


def test_holm_by_hand() -> None:
    # Sorted 0.01, 0.02, 0.03, 0.4 times 4, 3, 2, 1, never falling.
    assert holm([0.03, 0.01, 0.4, 0.02]) == pytest.approx([0.06, 0.04, 0.4, 0.06])
    assert holm([0.9, 0.8]) == pytest.approx([1.0, 1.0])
    assert holm([]) == []


def test_chance_differences_are_rejected_as_often_as_the_level_says() -> None:
    rng = np.random.default_rng(3)
    values = []
    for trial in range(300):
        first, second = rng.binomial(10, 0.8, size=(2, 60)).tolist()
        values.append(paired_permutation(first, second, seed=trial, draws=199))
    assert 0.02 < np.mean([value <= 0.05 for value in values]) < 0.08


# Seeds

OF_SEEDS = [82.0, 81.9, 82.4, 80.1, 83.3, 82.2, 81.0]


@pytest.mark.parametrize("count", range(2, len(OF_SEEDS) + 1))
def test_the_interval_of_seeds_is_that_of_scipy(count: int) -> None:
    stats = pytest.importorskip("scipy.stats")
    values = OF_SEEDS[:count]
    found = mean_of_seeds(values)
    expected = stats.ttest_1samp(values, 0.0).confidence_interval(0.95)
    assert found.estimate == pytest.approx(mean(values))
    assert (found.lower, found.upper) == pytest.approx((expected.low, expected.high), abs=1e-6)


def test_equal_seeds_have_no_width_and_one_seed_has_no_interval() -> None:
    found = mean_of_seeds([82.5, 82.5, 82.5])
    assert found.lower == found.estimate == found.upper == 82.5
    assert mean_of_seeds([1.0, 99.0]).lower == 0.0
    assert mean_of_seeds([1.0, 99.0]).upper == 100.0
    with pytest.raises(ValueError, match="2"):
        mean_of_seeds([82.5])
