"""A fraction of some sentences, counted in sentences or in tokens, drawn so that fractions nest.

Zheng et al. (2020, section 3.4) perturb a random half of the training sentences; Wang et al. (2021)
train on 10 to 100 % of the perturbed ones, their released code counting tokens.
"""

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np

from robustparse.errors import InputError, check_choice

FractionOf = Literal["sentences", "tokens"]
"""What a fraction counts."""


def check_fraction(key: str, fraction: float) -> None:
    """Refuse a number that is no fraction.

    Raises:
        InputError: it is not in (0, 1].
    """
    if not 0 < fraction <= 1:
        raise InputError(f"must be above 0 and at most 1, got {fraction}", key=key)


def draw_fraction(lengths: Sequence[int], fraction: float, of: FractionOf, seed: int) -> list[int]:
    """Return the indices of a fraction of some sentences, rising.

    They are the front of one order that follows from (seed, number of sentences) only: the 10 %
    are among the 20 %.

    Args:
        lengths: of all sentences, in words.
        fraction: in (0, 1].
        of: the ``sentences``, rounded and one at least; or the ``tokens``: sentences are taken
            until they hold this fraction of all words.
        seed: of the order.

    Raises:
        InputError: there is nothing else to count.
    """
    check_choice("what a fraction counts", of, get_args(FractionOf))
    order = np.random.Generator(np.random.Philox(key=seed)).permutation(len(lengths))
    if of == "sentences":
        count = max(1, round(fraction * len(lengths)))
    else:
        words = np.cumsum(np.asarray(lengths, dtype=np.int64)[order])
        # Without this rounding error's worth, 0.1 * 30 words would ask for one more than 3 words.
        wanted = fraction * int(words[-1]) - 1e-6 if len(words) else 0.0
        count = int(np.searchsorted(words, wanted)) + 1
    return sorted(order[:count].tolist())
