"""Batches cut from flat arrays, against filling them element by element."""

from dataclasses import fields

import numpy as np
import pytest
import torch

from robustparse.data.batch import Batch, EncodedCorpus, join

COLUMNS = ("words", "tags", "heads", "labels", "counted")


def numbered(lengths: list[int], seed: int = 0) -> EncodedCorpus:
    rng = np.random.default_rng(seed)
    words = sum(lengths)
    return EncodedCorpus(
        ids=np.arange(len(lengths), dtype=np.int64) * 10 + 3,
        start=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        words=rng.integers(3, 99, words),
        tags=rng.integers(0, 9, words),
        heads=rng.integers(0, 5, words),
        labels=rng.integers(-1, 6, words),
        counted=rng.random(words) < 0.5,
    )


@pytest.mark.parametrize("indices", [[0], [3, 1], [2, 2], [4, 0, 1, 2, 3], []])
def test_a_batch_equals_one_filled_word_by_word(indices):
    data = numbered([4, 1, 7, 2, 5])
    batch = data.batch(indices, weight=19)
    width = max((data.lengths[i] for i in indices), default=0)
    assert len(batch) == len(indices)
    assert batch.ids.tolist() == [10 * i + 3 for i in indices]
    assert batch.lengths.tolist() == [data.lengths[i] for i in indices]
    assert batch.weight.item() == 19.0
    for name in COLUMNS:
        expected = np.zeros((len(indices), width), dtype=getattr(data, name).dtype)
        for at, index in enumerate(indices):
            for word in range(data.lengths[index]):
                expected[at, word] = getattr(data, name)[data.start[index] + word]
        assert np.array_equal(getattr(batch, name).numpy(), expected), name
    mask = [[word < data.lengths[i] for word in range(width)] for i in indices]
    assert batch.mask.tolist() == mask


def test_lengths_are_those_of_the_sentences():
    data = numbered([4, 1, 7])
    assert data.lengths.tolist() == [4, 1, 7]
    assert len(data) == 3


@pytest.mark.parametrize(("first", "second"), [([0, 1], [2]), ([2], [1, 0]), ([0], [0])])
def test_joining_pads_to_the_longer(first, second):
    data = numbered([4, 1, 7])
    joined = join(data.batch(first, 1), data.batch(second, 2), words=4)
    together = data.batch([*first, *second], 5)
    together.appended = torch.tensor(4.0)
    for field in fields(Batch):
        assert torch.equal(getattr(joined, field.name), getattr(together, field.name)), field.name


def test_moving_copies_every_part():
    batch = numbered([4, 1]).batch([0, 1], 5)
    moved = batch.to("meta")
    assert all(getattr(moved, field.name).device.type == "meta" for field in fields(Batch))
    assert batch.words.device.type == "cpu"
