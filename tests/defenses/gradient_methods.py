"""The gradient adversaries, for tests of what all of them share."""

from typing import Any

import pytest

from robustparse.defenses import FGM, PGD, FreeLB

METHODS: dict[str, Any] = {
    "FGM": FGM,
    "PGD": PGD,
    "PGD from a random start": lambda **s: PGD(random_start=True, **s),
    "PGD without clean passes": lambda **s: PGD(random_start=True, mix="adv", **s),
    "FreeLB": FreeLB,
}
PASSES = dict(zip(METHODS, (2, 4, 5, 4, 3), strict=True))

every_method = pytest.mark.parametrize("name", METHODS)
