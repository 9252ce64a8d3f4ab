"""Sentences of a batch are read in the cheapest groups, and it shows in nothing but the time."""

from itertools import combinations, pairwise

import numpy as np
import pytest
import torch

from robustparse.data.vocab import Vocabulary
from robustparse.models.encoders import piece_encoder as module
from robustparse.models.encoders.piece_encoder import cheapest_cuts, reading_groups
from robustparse.models.encoders.transformer import TransformerEncoder
from tiny_models import examples, save_bert


def cost(sizes: np.ndarray, cuts: tuple[int, ...], price: int) -> int:
    bounds = (0, *cuts, len(sizes))
    return sum(price + (end - start) * int(sizes[end - 1]) for start, end in pairwise(bounds))


@pytest.mark.parametrize("price", [0, 1, 4, 9, 100])
def test_no_other_cuts_cost_less(price: int) -> None:
    rng = np.random.default_rng(price)
    for _ in range(40):
        sizes = np.sort(rng.integers(2, 12, rng.integers(1, 8)))
        places = range(1, len(sizes))
        every = (cuts for k in range(len(sizes)) for cuts in combinations(places, k))
        least = min(cost(sizes, cuts, price) for cuts in every)
        assert cost(sizes, tuple(cheapest_cuts(sizes, price)), price) == least


def test_every_sentence_is_in_one_group_with_others_of_its_length() -> None:
    sizes = torch.tensor([60, 5, 6, 5, 62, 6] + 30 * [7])
    groups = reading_groups(sizes)
    assert [sizes[rows].unique().tolist() for rows in groups] == [[5, 6, 7], [60, 62]]
    assert torch.cat(groups).sort().values.tolist() == list(range(36))


def test_a_small_batch_is_read_in_one_pass() -> None:
    (rows,) = reading_groups(torch.tensor([16, 2, 2, 2]))
    assert rows.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("long_sentences", ["error", "split"])
def test_groups_change_neither_words_nor_gradients(long_sentences, tmp_path, monkeypatch):
    """Windows of a sentence over the limit, here of 9 pieces, are grouped too."""
    positions = 9 if long_sentences == "split" else 40
    folder = save_bert(tmp_path, positions=positions)
    encoder = TransformerEncoder(str(folder), mix=1, dropout=0.0, long_sentences=long_sentences)
    encoder.build(Vocabulary.from_examples(examples()))
    encoder.double().eval()
    words = [encoder.intern(one.sentence.words) for one in examples()]
    lengths = torch.tensor([len(one) for one in words])
    rows = torch.nn.utils.rnn.pad_sequence([torch.from_numpy(one).long() for one in words], True)
    passes: list[int] = []
    encoder.network.register_forward_hook(lambda *_: passes.append(price))
    read = {}
    for price in (0, 10**6):
        monkeypatch.setattr(module, "_PASS", {"cpu": price})
        encoder.zero_grad()
        inputs = encoder.embed(rows, rows).detach().requires_grad_()
        states = encoder(inputs, rows, lengths)
        states.square().sum().backward()
        read[price] = [states.detach(), inputs.grad, *(p.grad for p in encoder.parameters())]
    assert passes.count(0) > passes.count(10**6) == 1
    for apart, together in zip(*read.values(), strict=True):
        torch.testing.assert_close(apart, together, rtol=1e-10, atol=1e-12)
