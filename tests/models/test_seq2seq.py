"""The sequence-to-sequence parser: its loss by hand, its beam against brute force."""

import itertools
from pathlib import Path

import numpy as np
import pytest
import torch
from tiny_semantic_parsers import EXAMPLES, answered, batch_of, make

from robustparse.models import (
    TransformerEncoder,
)
from robustparse.types import Example, LogicalForm, Sentence
from tiny_models import save_bert


@torch.no_grad()
def test_a_wide_beam_finds_the_best_form():
    few = [Example(0, Sentence(("the", "cats")), LogicalForm("( a )", "lambda"))]
    better = 0
    for seed in range(6):
        parser = make("Seq2Seq", seed, examples=few, beam=300, longest=5)
        every = [
            Example(0, few[0].sentence, LogicalForm(" ".join(tokens), "lambda"))
            for length in range(5)
            for tokens in itertools.product(("(", "a", ")"), repeat=length)
        ]
        batch = batch_of(parser, every)
        losses = parser.loss(parser(batch), batch)
        parser.longest = 5  # four tokens and the end
        (found,), (probability,) = answered(parser, batch_of(parser, few))
        if len(found.split()) < 5:
            assert found == every[int(losses.argmin())].gold
            assert probability == pytest.approx(float((-losses.min()).exp()), rel=1e-10)
            parser.beam = 1
            better += parser.predict([few[0].sentence]) != [found]
    assert better, "greedy search finds the best forms too: the test shows nothing"


@torch.no_grad()
def test_beam_of_one_is_greedy():
    parser = make(beam=1)
    for example in EXAMPLES:
        batch = batch_of(parser, [example])
        reading = parser(batch)
        state, token, found = reading.start, parser.end + 1, []
        while len(found) < parser.longest:
            state = parser.step(parser.tokens.weight[[token]], state, reading.memory)
            token = int(parser.output(state[2])[0].argmax())
            if token == parser.end:
                break
            found.append(parser.vocabulary.labels[token])
        assert parser.predict([example.sentence]) == [" ".join(found)]


@torch.no_grad()
def test_the_loss_by_hand():
    """Token by token: input feeding, attention to words and not to ROOT, and the end."""
    parser = make()
    example = EXAMPLES[1]
    batch = batch_of(parser, [example])
    states = parser.encoder(parser.embed(batch), batch.words, batch.lengths)[0]
    cell = parser.first_cell(torch.cat([states[0], states[-1]]))
    hidden, attended, loss = cell.tanh(), torch.zeros(6, dtype=torch.float64), 0.0
    weights = dict(parser.named_parameters())
    before = parser.end + 1
    for token in [*(parser.vocabulary.label_ids[t] for t in example.gold.split()), parser.end]:
        inputs = torch.cat([parser.tokens.weight[before], attended])  # input feeding
        hidden, cell = parser.cell(inputs, (hidden, cell))
        scores = states[1:] @ weights["attention.key.weight"].T @ hidden
        context = scores.softmax(0) @ states[1:]
        attended = (weights["attention.output.weight"] @ torch.cat([hidden, context])).tanh()
        loss = loss - (parser.output.weight @ attended).log_softmax(0)[token]
        before = token
    assert float(parser.loss(parser(batch), batch)) == pytest.approx(float(loss), rel=1e-12)


@torch.no_grad()
def test_smoothing_and_hidden_tokens_are_of_training_only():
    parser = make(dropout=0.0, token_dropout=0.5, smoothing=0.1)
    batch = batch_of(parser)
    plain = parser.loss(parser(batch), batch)
    parser.train()
    parser.encoder.eval()
    torch.manual_seed(0)
    noisy = parser.loss(parser(batch), batch)
    parser.token_dropout = 0.0
    smoothed = parser.loss(parser(batch), batch)
    parser.smoothing = 0.0
    assert torch.equal(parser.loss(parser(batch), batch), plain)
    assert not torch.allclose(smoothed, plain)
    assert not torch.allclose(noisy, smoothed)


def test_a_token_never_seen_adds_no_loss():
    parser = make()
    odd = Example(0, EXAMPLES[0].sentence, LogicalForm("( z $0 )", "lambda"))
    batch = batch_of(parser, [odd])
    assert batch.gold["target"].tolist()[0].count(-1) == 1
    assert torch.isfinite(parser.loss(parser(batch), batch)).all()
    metric = parser.codec.metric()
    nothing = np.array([0]), parser.codec.meanings([""]), np.array([1.0])
    parser.codec.update(metric, nothing, batch)
    assert metric.compute() == 0.0
    same = np.array([0]), parser.codec.meanings(["( b c0 )"]), np.array([1.0])
    parser.codec.update(metric, same, batch_of(parser, [EXAMPLES[2]]))
    assert metric.compute() == 50.0


def test_over_a_transformer(tmp_path: Path):
    parser = make(encoder=TransformerEncoder(str(save_bert(tmp_path)), mix=1), beam=2)
    forms = parser.predict([example.sentence for example in EXAMPLES])
    for example, form in zip(EXAMPLES, forms, strict=True):
        assert parser.predict([example.sentence]) == [form]
