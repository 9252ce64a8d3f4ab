"""Decoders by name: labelled and plain scores against every head sequence there is."""

from functools import cache
from itertools import combinations, product
from math import comb

import numpy as np
import pytest
import torch

from robustparse.errors import InputError
from robustparse.models.dependency.tree_decoding import Decoder, is_tree
from robustparse.types import DependencyTree, Example, Sentence

WORDS = ("the", "cats", "saw", "zebra", "the", "dog")


def projective(heads: np.ndarray) -> np.ndarray:
    """Of which rows ``(rows, words)`` no two arcs cross."""
    words = np.arange(1, heads.shape[1] + 1)
    left, right = np.minimum(heads, words), np.maximum(heads, words)
    crossed = np.zeros(len(heads), dtype=bool)
    for one, other in combinations(range(len(words)), 2):
        a, b, c, d = left[:, one], right[:, one], left[:, other], right[:, other]
        crossed |= ((a < c) & (c < b) & (b < d)) | ((c < a) & (a < d) & (d < b))
    return ~crossed


@cache
def allowed(decoder: str, words: int) -> np.ndarray:
    """Every head sequence that a decoder may answer with, ``(sequences, words)``."""
    heads = np.array(list(product(range(words + 1), repeat=words)))
    if decoder == "greedy":
        return heads[(heads != np.arange(1, words + 1)).all(axis=1)]
    lengths = [words] * len(heads)
    trees = heads[is_tree(heads, lengths, single_root=decoder != "mst_unrestricted")]
    return trees[projective(trees)] if decoder == "eisner" else trees


def table(parser, example: Example) -> np.ndarray:
    """The score of each arc, ``[dependent, head]``, one arc and one label at a time."""
    batch = parser.encode([example]).batch([0], 1.0)
    scores = parser(batch)
    arcs = scores.arcs[0].log_softmax(-1) if parser.labelled else scores.arcs[0]
    size = len(arcs)
    result = np.zeros((size, size))
    for dependent, head in product(range(size), repeat=2):
        result[dependent, head] = arcs[dependent, head]
        if parser.labelled:
            at = [torch.tensor([place]) for place in (0, dependent, head)]
            labels = parser._label_scores(scores, *at)[0].log_softmax(0)
            possible = [(name == "root") == (head == 0) for name in parser.vocabulary.labels]
            result[dependent, head] += max(labels[torch.tensor(possible)])
    return result


@pytest.mark.parametrize("labelled", [False, True])
@pytest.mark.parametrize("decoder", Decoder.__args__)
def test_the_best_of_all_head_sequences(make_parser, decoder, labelled):
    found = set()
    for seed in range(3):
        parser = make_parser(seed)
        parser.decoder, parser.labelled = decoder, labelled
        made = [
            Example(i, Sentence(WORDS[:length]), DependencyTree((0,) * length, ("x",) * length))
            for i, length in enumerate(range(1, 7))
        ]
        with torch.no_grad():
            batch = parser.encode(made).batch(range(len(made)), 1.0)
            answers = parser.predict_step(batch, 0)
            for example, answer in zip(made, answers, strict=True):
                scores, words = table(parser, example), len(example.sentence)
                sequences = allowed(decoder, words)
                totals = scores[np.arange(1, words + 1), sequences].sum(axis=1)
                best = tuple(sequences[totals.argmax()].tolist())
                assert answer.answer.heads == best
                found.add(best)
    assert len(found) > 5


def test_an_unknown_decoder_is_refused(make_parser):
    with pytest.raises(InputError, match="one of greedy, repair, mst, mst_unrestricted, eisner"):
        type(make_parser())(decoder="viterbi")


def test_how_many_trees_there_are():
    """Cayley's (n + 1)^(n - 1); with one root n^(n - 1), projective C(3n - 2, n - 1) / n."""
    for words in range(1, 7):
        assert len(allowed("mst_unrestricted", words)) == (words + 1) ** (words - 1)
        assert len(allowed("mst", words)) == words ** (words - 1)
        assert len(allowed("eisner", words)) == comb(3 * words - 2, words - 1) // words
