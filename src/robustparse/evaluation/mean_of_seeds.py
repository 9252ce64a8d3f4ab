"""The mean of a score over runs with different seeds, and how far it may be from the true mean."""

from collections.abc import Sequence
from statistics import mean, stdev

import numpy as np

from robustparse.evaluation.significance import LEVEL, Interval

_ANGLES = 1_000_000  # of a numeric integral; Student's quantile is then right to five digits


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
