"""Batches cut from flat arrays, against filling them element by element."""

import numpy as np
import pytest
import torch

from robustparse.data.batch import Batch, Column, EncodedCorpus, join

PARTS = ("ids", "words", "marks", "lengths", "weight", "appended")


def numbered(lengths: list[int], seed: int = 0, contexts: list[int] | None = None) -> EncodedCorpus:
    """A corpus of random ids, with a gold column a word and one of its own width."""
    rng = np.random.default_rng(seed)
    words = sum(lengths)
    form = [1 + index % 3 for index in range(len(lengths))]
    return EncodedCorpus(
        ids=np.arange(len(lengths), dtype=np.int64) * 10 + 3,
        words=Column.of(lengths, rng.integers(3, 99, words)),
        marks=Column.of(lengths, rng.integers(0, 9, words)),
        contexts=np.array(contexts or [0] * len(lengths), np.int64),
        gold={
            "heads": Column.of(lengths, rng.integers(0, 5, words)),
            "counted": Column.of(lengths, rng.random(words) < 0.5),
            "form": Column.of(form, rng.integers(1, 9, sum(form))),
        },
    )


def columns(data: EncodedCorpus) -> dict[str, Column]:
    return {"words": data.words, "marks": data.marks, **data.gold}


def tensors(batch: Batch) -> dict[str, torch.Tensor]:
    return {name: getattr(batch, name) for name in PARTS} | batch.gold


@pytest.mark.parametrize("indices", [[0], [3, 1], [2, 2], [4, 0, 1, 2, 3], []])
def test_a_batch_equals_one_filled_word_by_word(indices):
    data = numbered([4, 1, 7, 2, 5])
    batch = data.batch(indices, weight=19)
    assert len(batch) == len(indices)
    assert batch.ids.tolist() == [10 * i + 3 for i in indices]
    assert batch.lengths.tolist() == [data.lengths[i] for i in indices]
    assert batch.weight.item() == 19.0
    for name, column in columns(data).items():
        width = max((column.lengths[i] for i in indices), default=0)
        expected = np.zeros((len(indices), width), dtype=column.values.dtype)
        for at, index in enumerate(indices):
            for place in range(column.lengths[index]):
                expected[at, place] = column.values[column.start[index] + place]
        assert np.array_equal(tensors(batch)[name].numpy(), expected), name
    longest = max((data.lengths[i] for i in indices), default=0)
    mask = [[word < data.lengths[i] for word in range(longest)] for i in indices]
    assert batch.mask.tolist() == mask


def test_lengths_are_those_of_the_sentences():
    data = numbered([4, 1, 7])
    assert data.lengths.tolist() == [4, 1, 7]
    assert len(data) == 3


@pytest.mark.parametrize(("first", "second"), [([0, 1], [2]), ([2], [1, 0]), ([0], [0])])
def test_joining_pads_each_column_to_the_longer(first, second):
    data = numbered([4, 1, 7])
    joined = join(data.batch(first, 1), data.batch(second, 2), weight=4)
    together = data.batch([*first, *second], 5)
    together.appended = torch.tensor(4.0)
    expected = tensors(together)
    for name, tensor in tensors(joined).items():
        assert torch.equal(tensor, expected[name]), name


def test_moving_copies_every_part():
    batch = numbered([4, 1]).batch([0, 1], 5)
    moved = tensors(batch.to("meta"))
    assert moved.keys() == tensors(batch).keys()
    assert all(tensor.device.type == "meta" for tensor in moved.values())
    assert batch.words.device.type == "cpu"
