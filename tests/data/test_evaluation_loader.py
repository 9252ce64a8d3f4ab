"""Evaluation covers each sentence once, over any number of processes that have work."""

import numpy as np
import pytest
import torch
from test_batch import numbered
from test_sampler import CASES, ids

from robustparse.data.sampler import EvaluationLoader, forward_words
from robustparse.errors import InputError


@pytest.mark.parametrize(
    ("lengths", "limit", "world_size"),
    [(lengths, limit, n) for lengths, limit in CASES for n in (1, 2, 3, 5) if n <= len(lengths)],
)
def test_evaluation_covers_each_sentence_once(lengths, limit, world_size):
    data = numbered(lengths.tolist())
    seen: list[int] = []
    for rank in range(world_size):
        loader = EvaluationLoader(data, limit, rank, world_size)
        batches = list(loader)
        assert len(batches) == len(loader)
        assert all(batch.words.numel() <= limit for batch in batches)
        seen += ids(batches)
        for batch in batches:
            assert batch.weight.item() == batch.lengths.sum().item()
    assert sorted(seen) == sorted(data.ids.tolist())


def test_fewer_sentences_than_processes_are_refused():
    data = numbered([3, 4])
    assert len(EvaluationLoader(data, 10, 1, 2)) == 1
    with pytest.raises(InputError, match="2 sentences for 3 processes; give more sentences or use"):
        EvaluationLoader(data, 10, 0, 3)
    assert len(EvaluationLoader(numbered([]), 10)) == 0


def test_an_evaluation_sentence_over_the_limit_has_a_batch_of_its_own():
    data = numbered([2, 30, 3, 31, 1])
    batches = list(EvaluationLoader(data, 10))
    assert [batch.lengths.tolist() for batch in batches] == [[1, 2, 3], [30], [31]]


def test_batches_of_pairs_have_room_for_their_contexts():
    rng = np.random.default_rng(0)
    lengths, contexts = rng.integers(1, 9, 300), rng.integers(1, 60, 300)
    data = numbered(lengths.tolist(), contexts=contexts.tolist())
    sizes = dict(zip(data.ids.tolist(), contexts.tolist(), strict=True))
    padded = []
    for batch in EvaluationLoader(data, 100):
        longest = max(sizes[id_] for id_ in batch.ids.tolist())
        padded.append(len(batch) * (longest + batch.words.shape[1]))
    assert max(padded) <= 100
    assert sum(padded) < 1.4 * (lengths.sum() + contexts.sum())


def test_a_forward_pass_has_as_many_words_as_given_or_as_suit_the_device():
    cpu, gpu = torch.device("cpu"), torch.device("cuda")
    assert forward_words(cpu, 7) == forward_words(gpu, 7) == 7
    assert forward_words(cpu, None) < forward_words(gpu, None)
    with pytest.raises(InputError, match="batch_words must be >= 1, got 0"):
        forward_words(cpu, 0)
