"""Agreement of annotators: published examples, hand-computed values, NLTK."""

import numpy as np
import pytest

from robustparse.annotation.score import agreement, majority


def test_cohen_by_hand():
    # 20 times both yes, 15 times both no, 5 and 10 times one of each: (.7 - .5) / (1 - .5).
    one = ["yes"] * 25 + ["no"] * 25
    other = ["yes"] * 20 + ["no"] * 5 + ["yes"] * 10 + ["no"] * 15
    found = agreement([one, other])
    assert found.kind == "cohen"
    assert found.observed == pytest.approx(0.7)
    assert found.kappa == pytest.approx(0.4)


def test_cohen_takes_each_annotators_own_shares():
    # Expected is 1 * 3/4 by own shares, and would be 25/32 + 1/64 by common ones.
    found = agreement([["A"] * 4, ["A", "A", "A", "B"]])
    assert (found.observed, found.kappa) == (0.75, 0.0)


# Fleiss 1971's kind of table: how many of 14 annotators gave each of five answers to ten items.
COUNTS = [
    [0, 0, 0, 0, 14],
    [0, 2, 6, 4, 2],
    [0, 0, 3, 5, 6],
    [0, 3, 9, 2, 0],
    [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0],
    [3, 2, 6, 3, 0],
    [2, 5, 3, 2, 2],
    [6, 5, 2, 1, 0],
    [0, 2, 2, 3, 7],
]


def test_fleiss_by_its_formulas():
    by_item = [[str(a) for a, n in enumerate(row) for _ in range(n)] for row in COUNTS]
    found = agreement(list(zip(*by_item, strict=True)))
    counts = np.array(COUNTS)
    agreed = ((counts**2).sum(axis=1) - 14) / (14 * 13)
    expected = ((counts.sum(axis=0) / 140) ** 2).sum()
    assert found.kind == "fleiss"
    assert found.observed == pytest.approx(agreed.mean())
    assert found.kappa == pytest.approx((agreed.mean() - expected) / (1 - expected))
    assert round(found.observed, 3) == 0.378
    assert round(found.kappa, 3) == 0.210


@pytest.mark.parametrize("annotators", [2, 3, 5])
def test_kappas_are_those_of_nltk(annotators):
    task = pytest.importorskip("nltk.metrics.agreement").AnnotationTask
    for seed in range(5):
        rng = np.random.default_rng(seed)
        truth = rng.integers(3, size=30)
        answers = [
            ["ABC"[i] for i in np.where(rng.random(30) < 0.6, truth, rng.integers(3, size=30))]
            for _ in range(annotators)
        ]
        data = [(w, i, answer) for w, own in enumerate(answers) for i, answer in enumerate(own)]
        oracle = task(data)
        found = agreement(answers)
        assert found.observed == pytest.approx(oracle.avg_Ao())
        assert found.kappa == pytest.approx(oracle.kappa() if annotators == 2 else oracle.pi())


def test_where_there_is_no_kappa():
    alone = agreement([["A", "B"]])
    assert (alone.observed, alone.kappa, alone.kind) == (None, None, None)
    for annotators in (2, 3):
        same = agreement([["A", "A"]] * annotators)
        assert (same.observed, same.kappa) == (1.0, None)


@pytest.mark.parametrize("answers", [[], [[]], [["A"], ["A", "B"]]])
def test_answers_that_do_not_fit(answers):
    with pytest.raises(ValueError, match="every annotator"):
        agreement(answers)


def test_a_majority_is_more_than_half():
    assert majority(["A", "B", "A"]) == "A"
    assert majority(["A", "B"]) is None
    assert majority(["A", "A", "B", "same"]) is None
    assert majority(["same"]) == "same"
