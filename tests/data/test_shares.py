"""Shares of sentences: counts by hand, and smaller shares inside larger ones."""

from itertools import pairwise

import numpy as np
import pytest

from robustparse.data.shares import draw_share
from robustparse.errors import InputError

LENGTHS = np.random.Generator(np.random.Philox(7)).integers(1, 40, 200).tolist()
SHARES = [0.1 * tenth for tenth in range(1, 11)]


@pytest.mark.parametrize("unit", ["sentences", "tokens"])
def test_smaller_shares_are_inside_larger_ones(unit):
    drawn = [draw_share(LENGTHS, share, unit, 3) for share in SHARES]
    for smaller, larger in pairwise(drawn):
        assert set(smaller) < set(larger)
    assert drawn[-1] == list(range(200))
    assert all(indices == sorted(indices) for indices in drawn)


@pytest.mark.parametrize("share", SHARES)
def test_a_share_of_the_sentences(share):
    assert len(draw_share(LENGTHS, share, "sentences", 3)) == round(200 * share)


@pytest.mark.parametrize(("share", "count"), [(0.14, 1), (0.16, 2), (0.25, 2), (0.36, 4)])
def test_a_share_of_the_sentences_is_rounded(share, count):
    assert len(draw_share([5] * 10, share, "sentences", 3)) == count


@pytest.mark.parametrize("share", SHARES)
def test_a_share_of_the_tokens_is_reached_by_the_last_sentence_drawn(share):
    """Taken one by one in the order that growing shares of sentences tell."""
    order: list[int] = []
    for count in range(1, 201):
        order += set(draw_share(LENGTHS, count / 200, "sentences", 3)) - set(order)
    taken, words = [], 0
    for index in order:
        if words >= share * sum(LENGTHS) - 1e-6:
            break
        taken.append(index)
        words += LENGTHS[index]
    assert draw_share(LENGTHS, share, "tokens", 3) == sorted(taken)


def test_equal_lengths_make_both_units_alike():
    for share in SHARES:
        by_tokens = draw_share([3] * 10, share, "tokens", 0)
        assert by_tokens == draw_share([3] * 10, share, "sentences", 0)


def test_seeds_draw_differently_and_one_sentence_is_the_least():
    assert draw_share(LENGTHS, 0.5, "tokens", 0) != draw_share(LENGTHS, 0.5, "tokens", 1)
    for unit in ("sentences", "tokens"):
        assert len(draw_share(LENGTHS, 1e-9, unit, 0)) == 1
        assert draw_share([], 0.5, unit, 0) == []


@pytest.mark.parametrize("share", [0.0, -0.5, 1.01, float("nan")])
def test_a_share_out_of_range(share):
    with pytest.raises(InputError, match="above 0 and at most 1"):
        draw_share(LENGTHS, share, "tokens", 0)


def test_another_unit():
    with pytest.raises(InputError, match="one of sentences, tokens, got 'words'"):
        draw_share(LENGTHS, 0.5, "words", 0)
