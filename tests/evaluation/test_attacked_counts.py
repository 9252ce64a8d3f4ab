"""What an attack takes and a defense prevents, against every resample of a few sentences."""

import itertools
from collections.abc import Callable

import numpy as np
import pytest

from robustparse.evaluation.significance import AttackedCounts, Interval

WORDS = np.array([3, 5, 4])
CLEAN = AttackedCounts(WORDS, np.array([3, 4, 3]), np.array([1, 3, 2]))
DEFENDED = AttackedCounts(WORDS, np.array([2, 4, 3]), np.array([2, 4, 1]))

# Per resample: points of clean and attacked score of a system.
Points = Callable[[AttackedCounts, str], float]


@pytest.mark.parametrize(
    ("found", "of", "estimate"),
    [
        (DEFENDED.lost(), lambda p: p(DEFENDED, "clean") - p(DEFENDED, "attacked"), 2 / 12),
        (
            DEFENDED.lost_beyond(CLEAN),
            lambda p: (
                p(DEFENDED, "clean")
                - p(DEFENDED, "attacked")
                - p(CLEAN, "clean")
                + p(CLEAN, "attacked")
            ),
            (2 - 4) / 12,
        ),
        (
            DEFENDED.gained(CLEAN),
            lambda p: p(DEFENDED, "attacked") - p(CLEAN, "attacked"),
            (7 - 6) / 12,
        ),
    ],
    ids=["lost", "lost beyond", "gained"],
)
def test_intervals_are_those_of_all_resamples(
    found: Interval, of: Callable[[Points], float], estimate: float
) -> None:
    values = []
    for drawn in map(list, itertools.product(range(3), repeat=3)):

        def points(counts: AttackedCounts, when: str, drawn: list[int] = drawn) -> float:
            return float(100 * getattr(counts, when)[drawn].sum() / WORDS[drawn].sum())

        values.append(of(points))
    values.sort()
    assert found.estimate == pytest.approx(100 * estimate)
    # The extreme resample is one of 27, more than the 2.5 % outside each bound.
    assert (found.lower, found.upper) == pytest.approx((values[0], values[-1]))


@pytest.mark.parametrize("how", ["lost_beyond", "gained"])
def test_systems_scored_on_other_sentences_are_not_compared(how: str) -> None:
    other = AttackedCounts([5, 5, 3], np.array([3, 5, 3]), np.array([1, 4, 2]))
    with pytest.raises(ValueError, match="not scored on the same sentences"):
        getattr(DEFENDED, how)(other)
