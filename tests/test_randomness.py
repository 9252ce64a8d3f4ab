"""Streams follow from (seed, sentence, part), and from all three."""

from itertools import product

import numpy as np

from robustparse.randomness import stream


def test_streams_are_distinct_and_repeatable() -> None:
    keys = list(product((0, 1, -1, 2**63), (0, 1, 12543), (0, 1, 50)))
    draws = {key: stream(*key).random(4).tolist() for key in keys}
    assert len({tuple(values) for values in draws.values()}) == len(keys)
    np.random.seed(7)
    assert all(stream(*key).random(4).tolist() == values for key, values in draws.items())


def test_parts_of_a_sentence_do_not_overlap() -> None:
    first, second = stream(3, 5, 0).random(5000), stream(3, 5, 1).random(5000)
    assert not set(first.tolist()) & set(second.tolist())
