"""How many words of a sentence may be changed: kappa of Zheng et al. 2020, section 3.2.

kappa = max(1, floor(gamma * L)), so that short sentences are attacked too. What L counts differs
from paper to paper and is each search's own choice; Wang et al. 2021 take the ceiling.
"""

import math

from robustparse.errors import InputError

# Exactly, 0.29 * 100 is 29 and 0.07 * 100 is 7; in floating point the products are off.
_ROUNDING = 1e-9


def check_gamma(gamma: float, owner: str = "search") -> None:
    """Refuse a gamma that is no fraction of the words.

    Args:
        gamma: as given.
        owner: names the object with this setting in the error.

    Raises:
        InputError: gamma is not in (0, 1].
    """
    if not 0.0 < gamma <= 1.0:
        raise InputError(f"must be in (0, 1], got {gamma}", key=f"{owner}: gamma")


def edit_budget(gamma: float, length: int, *, up: bool = False) -> int:
    """Compute how many words may be changed, at least one.

    Args:
        gamma: the fraction of words, in (0, 1].
        length: L, the number of words.
        up: whether to round up, to ceil(gamma * L).
    """
    if up:
        return max(1, math.ceil(gamma * length - _ROUNDING))
    return max(1, math.floor(gamma * length + _ROUNDING))
