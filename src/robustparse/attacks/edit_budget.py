"""How many words of a sentence may be changed: kappa of Zheng et al. 2020, section 3.2.

kappa = max(1, floor(gamma * L)), so that short sentences are attacked too. What L counts differs
from paper to paper and is each search's own choice; Wang et al. 2021 take the ceiling.
"""

import math

from robustparse.errors import InputError

# In exact arithmetic 0.29 * 100 is 29 and 0.07 * 100 is 7; in floating point they miss it.
_ROUNDING = 1e-9


def check_gamma(gamma: float, owner: str = "search") -> None:
    """Refuse a share of the words that is none.

    Args:
        gamma: as given.
        owner: whose setting it is, for the message.

    Raises:
        InputError: gamma is not in (0, 1].
    """
    if not 0.0 < gamma <= 1.0:
        raise InputError(f"{owner}: gamma must be in (0, 1], got {gamma}")


def edit_budget(gamma: float, length: int, *, up: bool = False) -> int:
    """Return the words that may be changed, at least one.

    Args:
        gamma: their share, in (0, 1].
        length: L, how many words there are.
        up: whether a part of a word counts as one, ceil(gamma * L), not as none.
    """
    if up:
        return max(1, math.ceil(gamma * length - _ROUNDING))
    return max(1, math.floor(gamma * length + _ROUNDING))
