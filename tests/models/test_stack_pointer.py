"""The stack-pointer parser against brute force, and what must not depend on how it is run."""

import itertools
import math
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
import torch

from robustparse.data.batch import Batch
from robustparse.data.sample.treebank import sample_treebank
from robustparse.data.vocab import Vocabulary
from robustparse.errors import InputError
from robustparse.models.dependency.pointing import Order, PartialTrees, gold_steps
from robustparse.models.dependency.stack_pointer import PointerStepper, StackPointerParser
from robustparse.models.dependency.tree_decoding import is_tree
from robustparse.models.encoders.base import Encoder
from robustparse.models.encoders.bilstm import LSTMEncoder
from robustparse.models.encoders.transformer import TransformerEncoder
from robustparse.models.load import load
from robustparse.models.optimization import Optimization
from robustparse.models.victim import ModelVictim
from robustparse.types import DependencyTree, Example, Sentence, TextRows
from sample_runs import save_checkpoint
from tiny_models import examples as tiny_examples
from tiny_models import save_bert

EXAMPLES = tiny_examples()
ORDERS = get_args(Order)


def make(seed: int = 0, encoder: Encoder | None = None, **settings: Any) -> StackPointerParser:
    """An untrained parser in float64, every weight random: no score is a tie."""
    vocabulary = Vocabulary.from_examples(EXAMPLES)
    encoder = encoder or LSTMEncoder(5, 3, 4, 6, 1)
    sizes = {"hidden": 8, "arc_dim": 5, "label_dim": 4} | settings
    parser = StackPointerParser(encoder, vocabulary=vocabulary, **sizes).double()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in parser.parameters():
            noise = torch.randn(parameter.shape, generator=generator, dtype=parameter.dtype)
            parameter.add_(0.7 * noise)
    return parser.eval()


def batch_of(parser: StackPointerParser, examples: list[Example] = EXAMPLES) -> Batch:
    return parser.encode(examples).batch(range(len(examples)), 1.0)


def with_trees(parser: StackPointerParser, trees: list[DependencyTree]) -> Batch:
    pairs = zip(EXAMPLES, trees, strict=False)
    return batch_of(parser, [Example(one.id, one.sentence, tree) for one, tree in pairs])


def all_heads(words: int, single_root: bool) -> list[tuple[int, ...]]:
    rows = np.array(list(itertools.product(range(words + 1), repeat=words)))
    kept = is_tree(rows, np.full(len(rows), words), single_root=single_root)
    return [tuple(row) for row in rows[kept].tolist()]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("single_root", [True, False])
def test_gold_steps_build_every_tree_by_legal_actions(order: Order, single_root: bool):
    for words in (1, 2, 3, 4):
        every = all_heads(words, single_root)
        steps = torch.from_numpy(np.stack([gold_steps(heads, order) for heads in every], axis=1))
        trees = PartialTrees(torch.full((len(every),), words), 1 + words, order, single_root)
        for tops, children, siblings, grandparents in steps.unbind(2):
            assert torch.equal(trees.top, tops)
            assert torch.equal(trees.of_top(trees.previous), siblings)
            assert torch.equal(trees.of_top(trees.heads), grandparents)
            assert trees.legal().gather(1, children[:, None]).all()
            trees.take(children, children)
        assert trees.finished.all()
        assert trees.heads[:, 1:].tolist() == [list(heads) for heads in every]


def test_orders_of_children():
    # Word 3 has the children 1, 2, 4 and 5; 6 and 7 are a chain below 4.
    heads = (3, 3, 0, 3, 3, 4, 6)
    expected = {
        "inside_out": [2, 1, 4, 5],
        "left2right": [1, 2, 4, 5],
        "shallow_first": [2, 1, 5, 4],
        "deep_first": [4, 2, 1, 5],
    }
    for order in ORDERS:
        tops, children, *_ = gold_steps(heads, order).tolist()
        assert [c for t, c in zip(tops, children, strict=True) if t == 3 != c] == expected[order]


@pytest.mark.parametrize("order", ["inside_out", "left2right"])
@pytest.mark.parametrize("single_root", [True, False])
def test_legal_actions_never_end_in_a_dead_end_and_reach_each_tree_once(
    order: Order, single_root: bool
):
    """Every path of legal actions is followed; in an order of children, a tree has one path."""
    words = 4
    found = []
    stack = [()]
    while stack:
        path = stack.pop()
        trees = PartialTrees(torch.tensor([words]), 1 + words, order, single_root)
        for action in path:
            trees.take(torch.tensor([action]), torch.tensor([0]))
        if trees.finished.item():
            assert len(path) == 2 * words + 1
            found.append(tuple(trees.heads[0, 1:].tolist()))
            continue
        actions = trees.legal()[0].nonzero().flatten().tolist()
        assert actions
        stack += [(*path, action) for action in actions]
    assert sorted(found) == sorted(all_heads(words, single_root))


def answers_of(members: list[StackPointerParser]) -> list[DependencyTree]:
    """What parsers answer together."""
    victim = ModelVictim(members)
    victim.intern(["<none>"])  # a row, so that rows differ from the members' own
    rows = [victim.intern(example.sentence.words) for example in EXAMPLES]
    width = max(map(len, rows))
    words = np.stack([np.pad(row, (0, width - len(row))) for row in rows])
    lengths = np.array([len(row) for row in rows], dtype=np.int32)
    with victim.evaluating():
        found = victim.predict(TextRows(words, np.zeros_like(words), lengths))
    return victim.answers(found, lengths.tolist())


@pytest.mark.parametrize("beam", [1, 3])
@pytest.mark.parametrize("order", ["inside_out", "left2right"])
def test_score_of_the_beam_is_that_of_teacher_forcing(beam: int, order: Order):
    parser = make(beam=beam, order=order)
    batch = batch_of(parser)
    states = parser(batch)
    _, scores = parser.search([parser], [states], [batch])
    trees = parser.codec.decode_rows(
        parser.decode([parser], [states], [batch]), batch.lengths.tolist()
    )
    own = with_trees(parser, trees)
    assert torch.allclose(-parser.loss(parser(own), own), scores, rtol=0, atol=1e-11)


def greedy_by_hand(example: Example, *parsers: StackPointerParser) -> list[int]:
    """Heads of one sentence by the plain loop over steps, each by the mean of probabilities."""
    (first, *_), batches = parsers, [batch_of(one, [example]) for one in parsers]
    encodings = [one(batch) for one, batch in zip(parsers, batches, strict=True)]
    memories = [(one.start[0][None], one.start[1][None]) for one in encodings]
    lengths = batches[0].lengths
    trees = PartialTrees(lengths, 1 + int(lengths), first.order, first.single_root)
    while not trees.finished.item():
        columns = [trees.top, trees.of_top(trees.previous), trees.of_top(trees.heads)]
        chances = []
        for at, (parser, states) in enumerate(zip(parsers, encodings, strict=True)):
            inputs = parser._decoder_inputs(states, *(column[:, None] for column in columns))
            output, memories[at] = parser.lstm(inputs, memories[at])
            chances.append(parser._arc_scores(states, parser.arc_mlp_h(output))[0, 0].softmax(-1))
        best = torch.stack(chances).mean(0).masked_fill(~trees.legal()[0], -1.0).argmax()
        trees.take(best[None], torch.tensor([0]))
    return trees.heads[0, 1:].tolist()


@torch.no_grad()
def test_beam_of_one_is_greedy():
    parser = make(beam=1)
    for example in EXAMPLES:
        assert list(parser.predict([example.sentence])[0].heads) == greedy_by_hand(example, parser)


@torch.no_grad()
def test_members_build_one_tree_step_by_step_and_do_not_vote():
    """Also where most members' heads are a tree, the tree that they build together is another."""
    differ = 0
    for seed in range(0, 15, 3):
        members = [make(seed + number) for number in range(3)]
        joint = answers_of(members)
        for example, tree, *own in zip(
            EXAMPLES, joint, *map(answers_of, ([one] for one in members)), strict=True
        ):
            assert list(tree.heads) == greedy_by_hand(example, *members)
            heads = zip(*(one.heads for one in own), strict=True)
            voted = [max(some, key=some.count) for some in heads]
            differ += is_tree(np.array([voted]), [len(voted)]).all() and list(tree.heads) != voted
    assert differ >= 3


def test_members_of_another_order_are_refused_by_path(tmp_path: Path):
    parsers = {order: make(order=order) for order in ("inside_out", "left2right")}
    found = []
    for order, parser in parsers.items():
        found.append(load(save_checkpoint(parser, tmp_path / order)))
    with pytest.raises(InputError) as error:
        ModelVictim(found)
    assert error.value.path == str(tmp_path / "left2right")
    assert f"it and {tmp_path / 'inside_out'} differ in order" in error.value.found
    assert "order" in error.value.expected
    ModelVictim([parsers["inside_out"], make(sibling=False, grandparent=False)])


@torch.no_grad()
@pytest.mark.parametrize("single_root", [True, False])
def test_a_wide_beam_finds_the_best_tree(single_root: bool):
    words = ("the", "cats", "saw")
    better = 0
    for seed in range(6):
        parser = make(seed, beam=200, single_root=single_root)
        names = parser.vocabulary.labels
        every = [
            Example(0, Sentence(words), DependencyTree(heads, labels))
            for heads in all_heads(len(words), single_root)
            for labels in itertools.product(names, repeat=len(words))
            if [label == "root" for label in labels] == [head == 0 for head in heads]
        ]
        batch = batch_of(parser, every)
        best = every[int(parser.loss(parser(batch), batch).argmin())].gold
        assert parser.predict([words]) == [best]
        parser.beam = 1
        better += parser.predict([words]) != [best]
    assert better, "greedy search finds the best trees too: the test shows nothing"


@torch.no_grad()
@pytest.mark.parametrize("beam", [1, 3])
def test_parses_and_losses_do_not_depend_on_batch_mates(beam: int):
    parser = make(beam=beam)
    batch = batch_of(parser)
    states = parser(batch)
    together = parser.loss(states, batch)
    _, scores = parser.search([parser], [states], [batch])
    trees = parser.predict([example.sentence for example in EXAMPLES])
    for row, example in enumerate(EXAMPLES):
        single = batch_of(parser, [example])
        own = parser(single)
        assert torch.allclose(parser.loss(own, single)[0], together[row], rtol=0, atol=1e-11)
        _, alone = parser.search([parser], [own], [single])
        assert torch.allclose(alone[0], scores[row], rtol=0, atol=1e-11)
        assert parser.predict([example.sentence]) == [trees[row]]


@pytest.mark.parametrize("pretrained", [False, True])
@pytest.mark.parametrize("settings", [{}, {"sibling": False, "grandparent": False}])
def test_every_parameter_gets_a_gradient_and_moves(
    settings: dict[str, bool], pretrained: bool, tmp_path: Path
):
    """By its own optimiser: with a pretrained encoder that has groups, of which none may lack."""
    encoder = TransformerEncoder(str(save_bert(tmp_path)), mix=2) if pretrained else None
    optimization = Optimization(learning_rate=1e-3, pretrained_learning_rate=1e-4)
    parser = make(encoder=encoder, dropout=0.0, optimization=optimization, **settings).train()
    before = {name: parameter.clone() for name, parameter in parser.named_parameters()}
    optimizer = parser.configure_optimizers()["optimizer"]
    batch = batch_of(parser)
    parser.loss(parser(batch), batch).sum().backward()
    optimizer.step()
    for name, parameter in parser.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.any(), name
        assert not torch.equal(parameter, before[name]), name


@torch.no_grad()
def test_siblings_and_grandparents_are_read():
    losses = []
    for sibling, grandparent in itertools.product([False, True], repeat=2):
        parser = make(sibling=sibling, grandparent=grandparent)
        batch = batch_of(parser)
        losses.append(float(parser.loss(parser(batch), batch)[0]))
    assert len({round(loss, 6) for loss in losses}) == 4


@torch.no_grad()
def test_words_left_out_of_the_loss():
    """Losses restricted to single words, and to ROOT's pop, add up to the whole."""
    parser = make()
    example = EXAMPLES[0]
    names = parser.vocabulary.label_ids
    heads = np.array(example.gold.heads)
    gold = (heads, np.array([names[label] for label in example.gold.labels]))
    batch = batch_of(parser, [example])
    states = parser(batch)
    words = len(example.sentence)

    def loss(among: np.ndarray) -> float:
        columns = parser.codec.restrict([gold], [among])
        batch.gold = {name: torch.from_numpy(column) for name, column in columns.items()}
        return float(parser.loss(states, batch))

    whole = float(parser.loss(states, batch))
    assert loss(np.ones(words, dtype=np.bool_)) == pytest.approx(whole, abs=1e-11)
    parts = [loss(np.arange(words) == word) for word in range(words)]
    assert all(part > 0 for part in parts)
    assert loss(np.zeros(words, dtype=np.bool_)) == 0
    pairs = [loss((np.arange(words) == 0) | (np.arange(words) == word)) for word in range(1, words)]
    assert pairs == pytest.approx([parts[0] + part for part in parts[1:]], abs=1e-11)
    assert sum(parts) < whole


def decisions(parser: StackPointerParser, example: Example) -> list[tuple[int, float]]:
    """After the gold steps before: where the parser points, and the gold step's lead, clamped."""
    batch = batch_of(parser, [example])
    stepper = PointerStepper(parser, [parser], [parser(batch)], batch.lengths)
    steps = []
    for child in gold_steps(example.gold.heads, parser.order)[1].tolist():
        scores = stepper.scores()[0].tolist()  # log-probabilities, which differ as scores do
        rivals = [one for at, one in enumerate(scores) if at != child and one > -math.inf]
        lead = max(scores[child] - max(rivals), -1.0) if rivals else 0.0
        steps.append((int(np.argmax(scores)), lead))
        stepper.take(torch.tensor([child]))
    return steps


@torch.no_grad()
@pytest.mark.parametrize("single_root", [True, False])
@pytest.mark.parametrize("order", ORDERS)
def test_a_step_has_a_margin_above_0_where_the_parser_takes_it(order: Order, single_root: bool):
    parser, wrong = make(order=order, single_root=single_root), 0
    batch = batch_of(parser)
    margins = parser._step_margins(parser(batch), batch)
    for row, example in enumerate(EXAMPLES):
        expected = decisions(parser, example)
        children = gold_steps(example.gold.heads, order)[1].tolist()
        for step, (child, (pointed, _)) in enumerate(zip(children, expected, strict=True)):
            assert (margins[row, step] > 0) == (pointed == child)
            wrong += pointed != child
        loss = parser.margin(parser(batch), batch)[row]
        assert float(loss) == pytest.approx(-sum(lead for _, lead in expected), abs=1e-9)
    assert wrong > 3


def test_the_gradient_of_the_margin_is_that_of_finite_differences():
    parser, rng, steep = make(), np.random.default_rng(1), 0
    batch = batch_of(parser)

    def margins(delta: torch.Tensor) -> torch.Tensor:
        return parser.margin(parser(batch, delta), batch)

    delta = parser.zero_delta(batch).requires_grad_()
    (slopes,) = torch.autograd.grad(margins(delta).sum(), delta)
    for row, unit in itertools.product(*map(range, slopes.shape[:2])):
        step = torch.zeros_like(slopes)
        step[row, unit] = torch.from_numpy(1e-6 * rng.normal(size=slopes.shape[2]))
        with torch.no_grad():
            rise = float((margins(step) - margins(-step)).sum())
        slope = float((step * slopes).sum())
        assert rise / 2 == pytest.approx(slope, abs=1e-11)
        steep += abs(slope) > 1e-9
    assert steep > 10


@pytest.mark.parametrize("mean", ["probabilities", "logits"])
def test_members_share_each_step(mean: str):
    """Two equal parsers answer as one; the mean of two differs from both somewhere."""
    sentences = [example.sentence for example in EXAMPLES]
    parsers = [make(seed) for seed in (0, 1)]

    def parses(members: list[StackPointerParser]) -> list[DependencyTree]:
        members[0].mean = mean
        return answers_of(members)

    assert parses([parsers[0], make(0)]) == parses([parsers[0]]) == parsers[0].predict(sentences)
    both = parses(parsers)
    assert all(both != parser.predict(sentences) for parser in parsers)
    lengths = [len(tree.heads) for tree in both]
    padded = np.array([[*tree.heads, *[0] * (max(lengths) - len(tree.heads))] for tree in both])
    assert is_tree(padded, lengths).all()


@torch.no_grad()
def test_over_a_transformer(tmp_path: Path):
    encoder = TransformerEncoder(str(save_bert(tmp_path)), mix=1)
    parser = make(encoder=encoder, beam=2)
    trees = parser.predict([example.sentence for example in EXAMPLES])
    for example, tree in zip(EXAMPLES, trees, strict=True):
        assert is_tree(np.array([tree.heads]), [len(example.sentence)]).all()
        assert parser.predict([example.sentence]) == [tree]


def test_unknown_order_and_a_beam_of_none():
    for settings, key in (({"order": "outside_in"}, "order"), ({"beam": 0}, "beam")):
        with pytest.raises(InputError) as error:
            make(**settings)
        assert key in str(error.value.key)


def test_it_learns_the_sample_treebank():
    examples = sample_treebank(0).train[:48]
    vocabulary = Vocabulary.from_examples(examples, min_count=1)
    encoder = LSTMEncoder(24, 0, hidden=24, layers=1, dropout=0.0)
    sizes = {"hidden": 32, "arc_dim": 24, "label_dim": 16, "dropout": 0.0}
    parser = StackPointerParser(encoder, vocabulary=vocabulary, **sizes)
    optimizer = torch.optim.Adam(parser.parameters(), 1e-2)
    batch = parser.encode(examples).batch(range(len(examples)), 1.0)
    for _ in range(100):
        optimizer.zero_grad()
        (parser.loss(parser(batch), batch).sum() / batch.lengths.sum()).backward()
        optimizer.step()
    parser.eval()
    pairs = zip(parser.predict([one.sentence for one in examples]), examples, strict=True)
    right = [found == one.gold for found, one in pairs]
    assert np.mean(right) > 0.9
