"""How many words a search may change, against exact arithmetic."""

import pytest

from robustparse.attacks.edit_budget import check_gamma, edit_budget
from robustparse.errors import InputError


def test_hundredths_are_exact() -> None:
    for length in range(1, 300):
        for hundredths in range(1, 101):
            expected = max(1, hundredths * length // 100)
            assert edit_budget(hundredths / 100, length) == expected


@pytest.mark.parametrize("gamma", [0.0, -0.1, 1.01, 15, float("nan")])
def test_a_share_of_the_words_is_above_0_and_at_most_1(gamma: float) -> None:
    with pytest.raises(InputError, match=r"gamma must be in \(0, 1\], got"):
        check_gamma(gamma)
