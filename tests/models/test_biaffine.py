"""Scores, losses and parses of the biaffine parser against loops over single words."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from robustparse.data.batch import Batch
from robustparse.errors import InputError
from robustparse.models.dependency.biaffine import EPSILON, BiaffineParser
from robustparse.models.dependency.tree_decoding import is_tree
from robustparse.models.encoders.bilstm import LSTMEncoder
from robustparse.types import DependencyTree, Example, Sentence


def made_up(seed: int, sentences: int = 12) -> list[Example]:
    """Random sentences of 1 to 9 words, known and unknown, with chains for trees."""
    rng = np.random.default_rng(seed)
    words = ["the", "cats", "Cats", "saw", "zebra", "dogs", "!", "feed", "xyzzy"]
    labels = ["det", "obj", "punct", "nsubj"]
    made = []
    for id_ in range(sentences):
        length = int(rng.integers(1, 10))
        tree = DependencyTree(
            tuple(range(length)), ("root", *rng.choice(labels, length - 1).tolist())
        )
        made.append(Example(id_, Sentence(tuple(rng.choice(words, length).tolist())), tree))
    return made


def batch_of(parser: BiaffineParser, examples: list[Example]) -> Batch:
    return parser.encode(examples).batch(range(len(examples)), 1.0)


def states_of(parser: BiaffineParser, batch: Batch) -> torch.Tensor:
    return parser.encoder(parser.embed(batch), batch.words, batch.lengths)


def mlp(parser: BiaffineParser, name: str, state: torch.Tensor) -> torch.Tensor:
    linear = getattr(parser, name).linear
    out = linear.weight @ state + linear.bias
    return torch.where(out > 0, out, 0.1 * out)


def naive_arc(parser, state, head_state) -> float:
    """Equation 6: a score of both vectors and a prior of the head."""
    dependent, head = mlp(parser, "arc_mlp_d", state), mlp(parser, "arc_mlp_h", head_state)
    total, weight = 0.0, parser.arc_attn.weight[0]
    for i in range(len(dependent)):
        for j in range(len(head)):
            total += float(dependent[i] * weight[i, j] * head[j])
    return total + float(weight[len(dependent)] @ head)


def naive_labels(parser, state, head_state) -> list[float]:
    """Equation 7: for each label a bilinear form of both vectors with 1 appended."""
    one = torch.ones(1, dtype=state.dtype)
    dependent = torch.cat([mlp(parser, "rel_mlp_d", state), one])
    head = torch.cat([mlp(parser, "rel_mlp_h", head_state), one])
    return [float(dependent @ weight @ head) for weight in parser.rel_attn.weight]


@torch.no_grad()
def test_arc_scores_equal_a_loop(parser):
    batch = batch_of(parser, made_up(0, 3))
    states = states_of(parser, batch)
    arcs = parser(batch).arcs
    assert parser.arc_attn.weight.shape == (1, 7 + 1, 7)
    for row, length in enumerate(batch.lengths.tolist()):
        for word in range(length + 1):
            for head in range(arcs.shape[2]):
                expected = -math.inf
                if head <= length:
                    expected = naive_arc(parser, states[row, word], states[row, head])
                assert float(arcs[row, word, head]) == pytest.approx(expected, abs=1e-10)


@torch.no_grad()
def test_losses_equal_a_loop(parser):
    examples = made_up(1, 5)
    unknown = DependencyTree(examples[0].gold.heads, ("never-seen", *examples[0].gold.labels[1:]))
    examples[0] = Example(0, examples[0].sentence, unknown)
    batch = batch_of(parser, examples)
    assert batch.gold["labels"][0, 0] == -1
    states = states_of(parser, batch)
    losses = parser.loss(parser(batch), batch)
    for row, example in enumerate(examples):
        total = 0.0
        length = len(example.sentence)
        for word, (head, label) in enumerate(
            zip(example.gold.heads, example.gold.labels, strict=True), start=1
        ):
            state = states[row, word]
            arcs = [naive_arc(parser, state, states[row, at]) for at in range(length + 1)]
            total += math.log(sum(map(math.exp, arcs))) - arcs[head]
            if label != "never-seen":  # such a label has no score, its head still counts
                labels = naive_labels(parser, state, states[row, head])
                at = parser.vocabulary.label_ids[label]
                total += math.log(sum(map(math.exp, labels))) - labels[at]
        assert float(losses[row]) == pytest.approx(total, abs=1e-9)


@torch.no_grad()
@pytest.mark.parametrize("scale", [1.0, 50.0])  # with large scores, some margins are clipped
def test_margins_equal_a_loop(parser, scale: float):
    batch = batch_of(parser, made_up(0))
    scores = parser(batch)
    scores = replace(scores, arcs=scores.arcs * scale)
    expected = []
    for row, length in enumerate(batch.lengths.tolist()):
        margins = [0.0]
        for word in range(1, length + 1):
            by_head = scores.arcs[row, word].tolist()
            gold = int(batch.gold["heads"][row, word - 1])
            rivals = [by_head[head] for head in range(length + 1) if head not in (gold, word)]
            if rivals:
                margins.append(max(by_head[gold] - max(rivals), -EPSILON))
        expected.append(-sum(margins))
    torch.testing.assert_close(
        parser.margin(scores, batch), torch.tensor(expected, dtype=scores.arcs.dtype)
    )


@torch.no_grad()
def test_predicted_labels_are_the_best_of_a_loop(parser):
    examples = made_up(2, 4)
    batch = batch_of(parser, examples)
    states = states_of(parser, batch)
    for row, prediction in enumerate(parser.predict_step(batch, 0)):
        assert prediction.id == examples[row].id
        tree = prediction.answer
        assert len(tree.heads) == len(tree.labels) == len(examples[row].sentence)
        for word, (head, label) in enumerate(zip(tree.heads, tree.labels, strict=True), start=1):
            labels = naive_labels(parser, states[row, word], states[row, head])
            possible = [(name == "root") == (head == 0) for name in parser.vocabulary.labels]
            best = int(np.argmax(np.where(possible, labels, -math.inf)))
            assert parser.vocabulary.labels[best] == label


@pytest.mark.parametrize("seed", range(4))
def test_a_parse_by_itself_is_the_parse_in_a_batch(make_parser, seed):
    parser = make_parser(seed)
    examples = made_up(seed, 25)
    together = parser.predict_step(batch_of(parser, examples), 0)
    alone = [parser.predict_step(batch_of(parser, [example]), 0)[0] for example in examples]
    assert together == alone
    backwards = parser.predict_step(batch_of(parser, examples[::-1]), 0)
    assert backwards[::-1] == together
    assert len({prediction.answer.labels for prediction in together}) > 5  # no constant answer


def test_every_parse_is_a_tree_with_one_root(make_parser):
    for seed in range(5):
        parser = make_parser(seed)
        batch = batch_of(parser, made_up(seed, 25))
        heads, labels = parser.predicted(batch)
        assert is_tree(heads, batch.lengths.numpy()).all()
        assert not heads[~batch.mask.numpy()].any()
        assert labels.min() >= 0
        assert labels.max() < len(parser.vocabulary.labels)


def test_losses_one_by_one_are_those_in_a_batch(parser):
    examples = made_up(3)
    together, *single = (batch_of(parser, some) for some in (examples, *([e] for e in examples)))
    alone = torch.cat([parser.loss(parser(batch), batch) for batch in single])
    together = parser.loss(parser(together), together)
    torch.testing.assert_close(together, alone, rtol=0, atol=1e-10)


def test_a_zero_offset_changes_nothing(parser):
    batch = batch_of(parser, made_up(4))
    plain = parser.loss(parser(batch), batch)
    delta = parser.zero_delta(batch)
    assert delta.shape == parser.embed(batch).shape
    assert not delta.any()
    assert torch.equal(parser.loss(parser(batch, delta), batch), plain)
    moved = parser.loss(parser(batch, delta + 0.1), batch)
    assert (moved - plain).abs().min() > 1e-6


def test_the_offset_mask_leaves_out_root_and_padding(parser):
    batch = batch_of(parser, made_up(4))
    mask = parser.delta_mask(batch)
    expected = [[0.0, *([1.0] * n), *([0.0] * (batch.words.shape[1] - n))] for n in batch.lengths]
    assert mask.squeeze(-1).tolist() == expected
    assert mask.dtype == torch.float64


def test_the_gradient_towards_the_offset_equals_finite_differences(parser):
    batch = batch_of(parser, made_up(5, 3))
    generator = torch.Generator().manual_seed(0)
    at = torch.randn(parser.zero_delta(batch).shape, generator=generator, dtype=torch.float64)
    at = (0.1 * at).requires_grad_()
    (gradient,) = torch.autograd.grad(parser.loss(parser(batch, at), batch).sum(), at)
    assert gradient[0].abs().max() > 1e-3
    step = 1e-6
    with torch.no_grad():
        for index in np.ndindex(*at.shape):
            up, down = at.clone(), at.clone()
            up[index] += step
            down[index] -= step
            difference = (
                parser.loss(parser(batch, up), batch).sum()
                - parser.loss(parser(batch, down), batch).sum()
            )
            assert float(difference) / (2 * step) == pytest.approx(float(gradient[index]), abs=1e-6)
    padding = torch.arange(at.shape[1]) > batch.lengths[:, None]
    assert padding.any()
    assert not gradient[padding].any()


def test_an_offset_moves_only_its_own_sentence(parser):
    batch = batch_of(parser, made_up(6))
    delta = parser.zero_delta(batch)
    delta[2, 1] = 0.5
    changed = parser.loss(parser(batch, delta), batch) != parser.loss(parser(batch), batch)
    assert changed.nonzero().flatten().tolist() == [2]


def test_dropout_is_in_the_layers_above_too(make_parser):
    parser = make_parser()
    batch = batch_of(parser, made_up(7))
    calm = parser(batch).arcs
    assert torch.equal(parser(batch).arcs, calm)
    parser.train()
    parser.encoder.eval()
    assert not torch.equal(parser(batch).arcs, calm)


def test_weights_follow_from_the_seed_and_leave_the_global_generator_as_it_was(vocabulary):
    state = torch.get_rng_state()
    first, same, other = (
        BiaffineParser(LSTMEncoder(hidden=4, layers=1), 8, 4, seed=seed, vocabulary=vocabulary)
        for seed in (1, 1, 2)
    )
    assert torch.equal(torch.get_rng_state(), state)
    weights = [parser.state_dict()["arc_mlp_d.linear.weight"] for parser in (first, same, other)]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


def test_numbering_keeps_ids_heads_and_what_counts(parser, examples):
    data = parser.encode(examples, "unicode")
    assert data.ids.tolist() == [0, 1, 2]
    assert data.lengths.tolist() == [6, 1, 8]
    assert data.gold["heads"].values.tolist() == [
        head for example in examples for head in example.gold.heads
    ]
    names = [parser.vocabulary.labels[label] for label in data.gold["labels"].values]
    assert names == [label for example in examples for label in example.gold.labels]
    assert data.gold["counted"].values.tolist() == [True] * 5 + [False] + [True] * 9
    assert len(parser.encode([])) == 0


def test_the_seed_of_the_first_weights_is_0_unless_given(vocabulary):
    def first(**seed: int) -> torch.Tensor:
        encoder = LSTMEncoder(word_dim=3, character_dim=0, hidden=3, layers=1)
        return BiaffineParser(encoder, 3, 2, vocabulary=vocabulary, **seed).arc_mlp_d.linear.weight

    assert torch.equal(first(), first(seed=0))
    assert not torch.equal(first(), first(seed=1))


def test_a_parser_without_a_vocabulary_is_told_so_in_terms_of_python():
    with pytest.raises(InputError) as error:
        BiaffineParser(LSTMEncoder())
    assert error.value.key == "BiaffineParser"
    assert error.value.remedy.startswith("pass vocabulary=Vocabulary.from_examples(examples)")
