"""The gradient adversaries, for tests of what all of them share."""

from typing import Any

import pytest

from robustparse.defenses.fgm import FGM
from robustparse.defenses.freelb import FreeLB
from robustparse.defenses.pgd import PGD

METHODS: dict[str, Any] = {
    "FGM": FGM,
    "PGD": PGD,
    "PGD from a random start": lambda **s: PGD(random_start=True, **s),
    "PGD alone": lambda **s: PGD(random_start=True, mix="adv", **s),
    "FreeLB": FreeLB,
}
PASSES = {"FGM": 2, "PGD": 4, "PGD from a random start": 5, "PGD alone": 4, "FreeLB": 3}

every_method = pytest.mark.parametrize("name", METHODS)
