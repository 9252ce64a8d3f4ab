"""A share of some sentences, counted in sentences or in tokens, drawn so that shares nest.

Zheng et al. (2020, section 3.4) perturb a random half of the training sentences; Wang et al. (2021)
train on 10 to 100 % of the perturbed ones, their released code counting tokens.
"""

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np

from robustparse.errors import InputError, check_choice

Unit = Literal["sentences", "tokens"]


def check_share(share: float, name: str = "a share") -> None:
    """Refuse a number that is no share.

    Args:
        share: as given.
        name: of the option or setting, for the message.

    Raises:
        InputError: it is not in (0, 1].
    """
    if not 0 < share <= 1:
        raise InputError(f"{name} must be above 0 and at most 1, got {share}")


def draw_share(lengths: Sequence[int], share: float, unit: Unit, seed: int) -> list[int]:
    """Return the indices of a share of some sentences, rising.

    They are the front of one order that follows from (seed, number of sentences) alone: the 10 %
    are among the 20 %.

    Args:
        lengths: of all sentences, in words.
        share: in (0, 1].
        unit: of ``sentences``, rounded and one at least; or of ``tokens``: sentences are taken
            until they hold this share of all words.
        seed: of the order.

    Raises:
        InputError: the share is out of range, or there is no such unit.
    """
    check_share(share)
    check_choice("the unit of a share", unit, get_args(Unit))
    order = np.random.Generator(np.random.Philox(key=seed)).permutation(len(lengths))
    if unit == "sentences":
        count = max(1, round(share * len(lengths)))
    else:
        words = np.cumsum(np.asarray(lengths, dtype=np.int64)[order])
        # Less a rounding error's worth, lest 0.1 * 30 words ask for a sentence more than 3 words.
        wanted = share * int(words[-1]) - 1e-6 if len(words) else 0.0
        count = int(np.searchsorted(words, wanted)) + 1
    return sorted(order[:count].tolist())
