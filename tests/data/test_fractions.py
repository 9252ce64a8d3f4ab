"""Fractions of sentences: counts by hand, and smaller fractions inside larger ones."""

from itertools import pairwise

import numpy as np
import pytest

from robustparse.data.fractions import check_fraction, draw_fraction
from robustparse.errors import InputError

LENGTHS = np.random.Generator(np.random.Philox(7)).integers(1, 40, 200).tolist()
FRACTIONS = [0.1 * tenth for tenth in range(1, 11)]


@pytest.mark.parametrize("unit", ["sentences", "tokens"])
def test_smaller_fractions_are_inside_larger_ones(unit):
    drawn = [draw_fraction(LENGTHS, fraction, unit, 3) for fraction in FRACTIONS]
    for smaller, larger in pairwise(drawn):
        assert set(smaller) < set(larger)
    assert drawn[-1] == list(range(200))
    assert all(indices == sorted(indices) for indices in drawn)


@pytest.mark.parametrize("fraction", FRACTIONS)
def test_a_fraction_of_the_sentences(fraction):
    assert len(draw_fraction(LENGTHS, fraction, "sentences", 3)) == round(200 * fraction)


@pytest.mark.parametrize(("fraction", "count"), [(0.14, 1), (0.16, 2), (0.25, 2), (0.36, 4)])
def test_a_fraction_of_the_sentences_is_rounded(fraction, count):
    assert len(draw_fraction([5] * 10, fraction, "sentences", 3)) == count


@pytest.mark.parametrize("fraction", FRACTIONS)
def test_a_fraction_of_the_tokens_is_reached_by_the_last_sentence_drawn(fraction):
    """Taken one by one in the order that growing fractions of sentences tell."""
    order: list[int] = []
    for count in range(1, 201):
        order += set(draw_fraction(LENGTHS, count / 200, "sentences", 3)) - set(order)
    taken, words = [], 0
    for index in order:
        if words >= fraction * sum(LENGTHS) - 1e-6:
            break
        taken.append(index)
        words += LENGTHS[index]
    assert draw_fraction(LENGTHS, fraction, "tokens", 3) == sorted(taken)


def test_equal_lengths_make_both_units_alike():
    for fraction in FRACTIONS:
        by_tokens = draw_fraction([3] * 10, fraction, "tokens", 0)
        assert by_tokens == draw_fraction([3] * 10, fraction, "sentences", 0)


def test_seeds_draw_differently_and_one_sentence_is_the_least():
    assert draw_fraction(LENGTHS, 0.5, "tokens", 0) != draw_fraction(LENGTHS, 0.5, "tokens", 1)
    for unit in ("sentences", "tokens"):
        assert len(draw_fraction(LENGTHS, 1e-9, unit, 0)) == 1
        assert draw_fraction([], 0.5, unit, 0) == []


@pytest.mark.parametrize("fraction", [0.0, -0.5, 1.01, float("nan")])
def test_a_fraction_out_of_range(fraction):
    with pytest.raises(InputError) as caught:
        check_fraction("--fraction", fraction)
    assert caught.value.key == "--fraction"


def test_another_unit():
    with pytest.raises(InputError, match="one of sentences, tokens, got 'words'"):
        draw_fraction(LENGTHS, 0.5, "words", 0)
