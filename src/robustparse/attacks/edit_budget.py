"""The number of words of a sentence that may be changed: kappa of Zheng et al. 2020, section 3.2.

kappa = max(1, floor(gamma * L)), so that short sentences are attacked too. Papers define the length
L differently, so each search chooses it; Wang et al. 2021 take the ceiling.
"""

import math

from robustparse.data.fractions import check_fraction

# Exactly, 0.29 * 100 is 29 and 0.07 * 100 is 7; in floating point the products are off.
_ROUNDING = 1e-9


def edit_budget(gamma: float, length: int, *, up: bool = False) -> int:
    """Return how many of `length` words may be changed, at least one.

    With `up`, round up to ceil(gamma * length).

    Raises:
        InputError: gamma is out of range.
    """
    # A search's attribute may have changed since it was made.
    check_fraction("attack: gamma", gamma)
    if up:
        return max(1, math.ceil(gamma * length - _ROUNDING))
    return max(1, floor_of(gamma, length))


def floor_of(fraction: float, length: int) -> int:
    """Compute floor(fraction * length), as exact arithmetic would."""
    return math.floor(fraction * length + _ROUNDING)
