"""Decoders by name: labelled and plain scores against every head sequence there is."""

from itertools import product

import numpy as np
import pytest
import torch

from robustparse.errors import InputError
from robustparse.parsers.decoders import Decoder
from robustparse.parsers.trees import is_tree
from robustparse.types import DependencyTree, Example, Sentence

WORDS = ("the", "cats", "saw", "zebra", "the", "dog")


def projective(heads: tuple[int, ...]) -> bool:
    arcs = [(min(word, head), max(word, head)) for word, head in enumerate(heads, start=1)]
    return not any(a < c < b < d for a, b in arcs for c, d in arcs)


def allowed(decoder: str, heads: tuple[int, ...]) -> bool:
    if decoder == "greedy":
        return all(head != word for word, head in enumerate(heads, start=1))
    single = decoder != "mst_unrestricted"
    tree = bool(is_tree(np.array([heads]), [len(heads)], single_root=single)[0])
    return tree and (decoder != "eisner" or projective(heads))


def table(parser, example: Example) -> np.ndarray:
    """The score of each arc, ``[dependent, head]``, one arc and one label at a time."""
    batch = parser.number([example]).batch([0], 1.0)
    states = parser.encoder(parser.embed(batch), batch.words, batch.lengths)
    scores = parser.score(states, batch.lengths)
    arcs = scores.arcs[0].log_softmax(-1) if parser.labelled else scores.arcs[0]
    size = len(arcs)
    result = np.zeros((size, size))
    for dependent, head in product(range(size), repeat=2):
        result[dependent, head] = arcs[dependent, head]
        if parser.labelled:
            at = [torch.tensor([place]) for place in (0, dependent, head)]
            labels = parser._label_scores(scores, *at)[0]
            result[dependent, head] += labels.log_softmax(0).max()
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
            for i, length in enumerate((1, 2, 3, 5))
        ]
        with torch.no_grad():
            batch = parser.number(made).batch(range(len(made)), 1.0)
            answers = parser.decode(batch)
            for example, answer in zip(made, answers, strict=True):
                scores, words = table(parser, example), len(example.sentence)
                totals = {
                    heads: sum(scores[word, head] for word, head in enumerate(heads, start=1))
                    for heads in product(range(words + 1), repeat=words)
                    if allowed(decoder, heads)
                }
                best = max(totals, key=totals.__getitem__)
                assert answer.tree.heads == best
                found.add(best)
    assert len(found) > 5


def test_an_unknown_decoder_is_refused(make_parser):
    with pytest.raises(InputError, match="one of greedy, repair, mst, mst_unrestricted, eisner"):
        type(make_parser())(decoder="viterbi")
