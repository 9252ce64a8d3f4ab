"""Comparisons by counts against every exchange of two systems, and Holm's correction by hand."""

import itertools

import numpy as np
import pytest

from robustparse.evaluation.comparison import MEASURES, Difference, differences, measured
from robustparse.evaluation.significance import AttackedCounts

WORDS = (6, 5, 4, 7, 6, 5, 8)
FIRST = AttackedCounts(WORDS, (5, 5, 3, 7, 4, 5, 6), (4, 5, 4, 3, 2, 1, 6))
OTHER = AttackedCounts(WORDS, (6, 4, 3, 7, 5, 5, 7), (6, 4, 3, 6, 5, 4, 7))
CONTROL = AttackedCounts(WORDS, (5, 4, 3, 6, 4, 4, 6), (4, 3, 2, 3, 2, 1, 5))


def of_sentences(one: AttackedCounts) -> dict[str, np.ndarray]:
    """What each measure adds up over sentences."""
    clean, attacked = np.array(one.clean), np.array(one.attacked)
    values = (clean, attacked, clean - attacked, (attacked < clean).astype(int))
    return dict(zip(MEASURES, values, strict=True))


def compared(*others: AttackedCounts) -> list[Difference]:
    return differences(
        {
            (system, name, "uas"): each
            for system, other in enumerate(others)
            for name, each in measured(FIRST, other).items()
        }
    )


def test_every_exchange_of_two_systems() -> None:
    found = {each.measure: each for each in compared(OTHER)}
    first, other = of_sentences(FIRST), of_sentences(OTHER)
    assert tuple(found) == MEASURES
    for name in MEASURES:
        difference = other[name] - first[name]
        observed = difference.sum()
        whole = len(WORDS) if name == "fooled" else sum(WORDS)
        exchanges = itertools.product((1, -1), repeat=len(WORDS))
        as_far = [abs((difference * signs).sum()) >= abs(observed) for signs in exchanges]
        assert found[name].p == pytest.approx(np.mean(as_far), abs=0.02)
        assert found[name].first == pytest.approx(100 * first[name].sum() / whole)
        assert found[name].points.estimate == pytest.approx(100 * observed / whole)
        assert found[name].points.lower <= found[name].points.estimate <= found[name].points.upper
    assert found["fooled"].points.estimate == pytest.approx(100 * (2 - 4) / 7)


def test_the_correction_is_for_all_pairs_and_measures() -> None:
    tested = compared(OTHER, CONTROL, FIRST)
    ordered = sorted(tested, key=lambda one: one.p)
    largest = 0.0
    for rank, one in enumerate(ordered):
        largest = max(largest, min(1.0, one.p * (12 - rank)))
        assert one.adjusted == pytest.approx(largest)
    assert [one.adjusted for one in tested[-4:]] == [1.0] * 4
    assert compared() == []


def test_other_sentences_are_refused() -> None:
    longer = AttackedCounts((9, *WORDS[1:]), FIRST.clean, FIRST.attacked)
    with pytest.raises(ValueError, match="same sentences"):
        compared(longer)
