"""The mean over seeds and its interval, against scipy's Student distribution."""

from statistics import mean

import pytest

from robustparse.evaluation.mean_of_seeds import mean_of_seeds

VALUES = [82.0, 81.9, 82.4, 80.1, 83.3, 82.2, 81.0]


@pytest.mark.parametrize("count", range(2, len(VALUES) + 1))
def test_the_interval_is_that_of_scipy(count: int) -> None:
    stats = pytest.importorskip("scipy.stats")
    values = VALUES[:count]
    found = mean_of_seeds(values)
    expected = stats.ttest_1samp(values, 0.0).confidence_interval(0.95)
    assert found.estimate == pytest.approx(mean(values))
    assert (found.lower, found.upper) == pytest.approx((expected.low, expected.high), abs=1e-6)


def test_equal_scores_have_no_width_and_one_score_has_no_interval() -> None:
    found = mean_of_seeds([82.5, 82.5, 82.5])
    assert found.lower == found.estimate == found.upper == 82.5
    assert mean_of_seeds([1.0, 99.0]).lower == 0.0
    assert mean_of_seeds([1.0, 99.0]).upper == 100.0
    with pytest.raises(ValueError, match="2"):
        mean_of_seeds([82.5])
