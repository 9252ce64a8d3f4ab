"""What a defense wins back of what an attack takes, against every resample of a few sentences."""

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from recovery import harm_left, recovered_share, won_back, won_back_beyond
from robustparse.evaluation.significance import AttackedCounts, Interval, paired_bootstrap

Counts = NDArray[np.int64]

# Four sentences of 3 to 7 words: A_clean, C_clean and two defended models.
WORDS = np.array([3, 5, 4, 7])
A_CLEAN = np.array([1, 3, 2, 4])
C_CLEAN = np.array([3, 4, 3, 7])
FIRST = np.array([2, 4, 1, 6])
SECOND = np.array([2, 3, 2, 5])

CLEAN = AttackedCounts(WORDS, C_CLEAN, A_CLEAN)
DEFENDED = AttackedCounts(WORDS, C_CLEAN, FIRST)
CONTROL = AttackedCounts(WORDS, C_CLEAN, SECOND)


def share(defended: Counts, s: list[int]) -> float:
    return float(100 * sum(defended[s] - A_CLEAN[s]) / sum(C_CLEAN[s] - A_CLEAN[s]))


@pytest.mark.parametrize(
    ("found", "of", "estimate"),
    [
        (won_back(DEFENDED, CLEAN), lambda s: share(FIRST, s), 3 / 7),
        (
            won_back_beyond(DEFENDED, CLEAN, CONTROL),
            lambda s: share(FIRST, s) - share(SECOND, s),
            (3 - 2) / 7,
        ),
        (harm_left(DEFENDED, CLEAN), lambda s: 100 - share(FIRST, s), 4 / 7),
    ],
    ids=["won back", "won back beyond", "harm left"],
)
def test_intervals_are_those_of_all_resamples(
    found: Interval, of: Callable[[list[int]], float], estimate: float
) -> None:
    values = sorted(of(list(drawn)) for drawn in itertools.product(range(4), repeat=4))
    assert found.estimate == pytest.approx(100 * estimate)
    outside = int(0.025 * len(values))
    # Of 256 resamples, a bound may lie at the next one for the 10,000 that were drawn.
    assert values[outside - 1] - 1e-9 <= found.lower <= values[outside + 1] + 1e-9
    assert values[-2 - outside] - 1e-9 <= found.upper <= values[-outside] + 1e-9


def test_a_defense_that_wins_all_or_nothing() -> None:
    full = won_back(AttackedCounts(WORDS, C_CLEAN, C_CLEAN), CLEAN)
    assert (full.lower, full.upper) == pytest.approx((100.0, 100.0))
    none = won_back(CLEAN, CLEAN)
    assert (none.lower, none.upper) == (0.0, 0.0)


def test_an_uncertain_loss_gives_no_bound() -> None:
    """Where a resample may have lost nothing, the share is not known to be within anything."""
    words, c_clean = np.full(20, 10), np.full(20, 5)
    a_clean = c_clean.copy()
    a_clean[0] -= 1  # 36 % of the resamples miss the one sentence that lost
    found = paired_bootstrap(recovered_share, [a_clean, c_clean, c_clean], words, seed=0)
    assert found == Interval(100.0, -math.inf, math.inf)
    with pytest.raises(ValueError, match="nothing was lost"):
        paired_bootstrap(recovered_share, [c_clean, c_clean, c_clean], words, seed=0)


@pytest.mark.parametrize("how", [won_back, harm_left])
def test_systems_scored_on_other_sentences_are_not_compared(
    how: Callable[[AttackedCounts, AttackedCounts], Interval],
) -> None:
    other = AttackedCounts([5, 5, 3, 7], C_CLEAN, A_CLEAN)
    with pytest.raises(ValueError, match="not scored on the same sentences"):
        how(DEFENDED, other)
    with pytest.raises(ValueError, match="not scored on the same sentences"):
        won_back_beyond(DEFENDED, CLEAN, other)
