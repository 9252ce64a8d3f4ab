"""Which numbers are dropped together, how often, and what the rest is scaled by."""

import pytest
import torch

from robustparse.models.encoders.dropout import shared_dropout, word_dropout


@pytest.fixture(autouse=True)
def _seed():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        yield


def near(count: int, trials: int, probability: float) -> bool:
    """Within five standard deviations of a binomial's mean."""
    spread = (trials * probability * (1 - probability)) ** 0.5
    return abs(count - trials * probability) <= 5 * spread


def test_evaluation_and_probability_zero_change_nothing():
    inputs = torch.randn(2, 3, 4)
    state = torch.get_rng_state()
    assert shared_dropout(inputs, 0.5, training=False) is inputs
    assert shared_dropout(inputs, 0.0, training=True) is inputs
    assert word_dropout([inputs], 0.5, training=False)[0] is inputs
    assert word_dropout([inputs], 0.0, training=True)[0] is inputs
    assert torch.equal(torch.get_rng_state(), state)


def test_shared_dropout_drops_a_dimension_of_a_whole_sentence():
    dropped = shared_dropout(torch.ones(300, 7, 50), 0.33, training=True)
    assert torch.equal(dropped, dropped[:, :1].expand_as(dropped))
    values = dropped[:, 0]
    assert values.unique().tolist() == pytest.approx([0.0, 1 / 0.67])
    assert near(int((values == 0).sum()), values.numel(), 0.33)
    # Sentences and dimensions draw on their own.
    assert values.std(0).min() > 0
    assert values.std(1).min() > 0


def test_shared_dropout_keeps_the_dtype():
    assert shared_dropout(torch.ones(1, 2, 3).double(), 0.5, True).dtype == torch.float64


def test_two_kinds_are_dropped_on_their_own_and_the_rest_scaled_up():
    words, characters = word_dropout([torch.ones(200, 50, 2), torch.ones(200, 50, 3)], 0.33, True)
    for part in (words, characters):
        assert torch.equal(part, part[..., :1].expand_as(part))  # whole embeddings
    first, second = words[..., 0], characters[..., 0]
    pairs = torch.stack([first, second], -1).flatten(0, 1)
    kinds, counts = pairs.unique(dim=0, return_counts=True)
    expected = {(0.0, 0.0): 0.33**2, (0.0, 2.0): 0.33 * 0.67, (2.0, 0.0): 0.33 * 0.67}
    expected[1.0, 1.0] = 0.67**2
    assert {tuple(kind) for kind in kinds.tolist()} == set(expected)
    for kind, count in zip(kinds.tolist(), counts.tolist(), strict=True):
        assert near(count, len(pairs), expected[tuple(kind)])
    # Words of one sentence draw on their own.
    assert first.std(1).min() > 0


def test_a_lone_kind_is_dropped_and_never_scaled():
    (words,) = word_dropout([torch.full((200, 50, 2), 3.0)], 0.33, True)
    assert set(words.unique().tolist()) == {0.0, 3.0}
    assert near(int((words[..., 0] == 0).sum()), 10_000, 0.33)
