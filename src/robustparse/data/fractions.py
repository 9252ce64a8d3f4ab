"""Draws a fraction of sentences or tokens; smaller fractions are contained in larger ones.

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
    """Reject a number that is not a fraction.

    Raises:
        InputError: it is not in (0, 1].
    """
    if not 0 < fraction <= 1:
        raise InputError(f"must be in (0, 1], got {fraction}", key=key)


def draw_fraction(lengths: Sequence[int], fraction: float, of: FractionOf, seed: int) -> list[int]:
    """Return the indices of a fraction of the sentences, in rising order.

    They are the first sentences of a random order that depends only on the seed and the number of
    sentences, so that the first 10 % are among the first 20 %.

    Args:
        lengths: the words of each sentence.
        fraction: in (0, 1].
        of: a fraction of the ``sentences``, rounded, at least one; or of the ``tokens``: sentences
            are taken until they have this fraction of all words.
        seed: the seed of the order.

    Raises:
        InputError: ``of`` is unknown.
    """
    check_choice("what a fraction counts", of, get_args(FractionOf))
    order = np.random.Generator(np.random.Philox(key=seed)).permutation(len(lengths))
    if of == "sentences":
        count = max(1, round(fraction * len(lengths)))
    else:
        words = np.cumsum(np.asarray(lengths, dtype=np.int64)[order])
        # The correction is for rounding errors: 0.1 * 30 words are 3 words, not more.
        wanted = fraction * int(words[-1]) - 1e-6 if len(words) else 0.0
        count = int(np.searchsorted(words, wanted)) + 1
    return sorted(order[:count].tolist())
