"""Coarse2Fine: its loss by hand, and sketches that no form has."""

from typing import Any

import pytest
import torch
from tiny_semantic_parsers import EXAMPLES, batch_of, make
from torch import Tensor

from robustparse.models.semantic.coarse2fine import SketchStepper
from robustparse.types import Example, LogicalForm


@torch.no_grad()
def test_the_loss_of_coarse2fine_by_hand():
    """Both decoders see the output at the bracket's step; brackets count in training only."""
    parser = make("Coarse2Fine", dropout=0.0, smoothing=0.0)
    example = EXAMPLES[1]
    batch = batch_of(parser, [example])
    states = parser.encoder(parser.embed(batch), batch.words, batch.lengths)[0]
    cell = parser.first_cell(torch.cat([states[0], states[-1]]))
    words, start, numbers = states[1:], (cell.tanh(), cell), parser.codec.sketch_tokens

    def losses(decoder: Any, inputs: list[Tensor], gold: list[int], above: list[int]) -> list[Any]:
        """The losses of each step; ``above`` is the step before which a bracket was opened."""
        (hidden, cell), outputs, found = start, [start[0]], []
        lstm, weights = decoder.lstm, dict(decoder.named_parameters())
        for read, number, parent in zip(inputs, gold, above, strict=True):
            gates = lstm.weight_ih_l0 @ read + lstm.bias_ih_l0
            gates = gates + lstm.weight_hh_l0 @ hidden + lstm.bias_hh_l0
            enter, forget, new, out = gates.chunk(4)
            cell = forget.sigmoid() * cell + enter.sigmoid() * new.tanh()
            hidden = out.sigmoid() * cell.tanh()
            outputs.append(hidden)
            shares = (words @ weights["attention.key.weight"].T @ hidden).softmax(0)
            both = torch.cat([hidden, shares @ words])
            attended = (weights["attention.output.weight"] @ both).tanh()
            scores = decoder.output(torch.cat([attended, outputs[parent]]))
            found.append(-scores.log_softmax(0)[number - 1])
        return found

    # ( and ( a $0 ) ( b c0 ) )
    sketch = [numbers[token] for token in ("(and", "a@1", "b@1", ")")]
    gold = [*sketch, parser.codec.sketch_end]
    read = [parser.sketches.weight[number] for number in (0, *sketch)]
    coarse = sum(losses(parser.coarse, read, gold, [0, 1, 1, 1, 0]))
    encoded = parser.encoded_sketch(torch.tensor([gold]))[0]
    tokens = ("(and", "(a", "$0", ")", "(b", "c0", ")", ")")
    sources, above = (0, 1, 1, 1, 2, 2, 2, 3), [0, 1, 2, 2, 1, 5, 5, 1]
    ids = [1 + parser.vocabulary.label_ids[token.removeprefix("(")] for token in tokens]
    leaves = [token in ("$0", "c0") for token in tokens]
    before = [
        parser.leaves.weight[number] if leaf else encoded[source]
        for number, leaf, source in zip(ids, leaves, sources, strict=True)
    ]
    fine = losses(parser.fine, [parser.leaves.weight[0], *before[:-1]], ids, above)
    told = coarse + sum(loss for loss, leaf in zip(fine, leaves, strict=True) if leaf)
    assert float(parser.loss(parser(batch), batch)) == pytest.approx(float(told), rel=1e-12)
    parser.train()
    parser.encoder.eval()
    expected = coarse + sum(fine)
    assert float(parser.loss(parser(batch), batch)) == pytest.approx(float(expected), rel=1e-12)


@pytest.mark.parametrize("sketch", ["(not )", "(or a@1 )", "(not", ") )", ""])
def test_a_sketch_that_no_form_has_gives_none(sketch: str, monkeypatch: pytest.MonkeyPatch):
    form = LogicalForm("( a ( ANS ) ) ; ( \\+ b ( ANS ) )", "prolog")
    parser = make("Coarse2Fine", examples=[Example(0, EXAMPLES[0].sentence, form)])
    monkeypatch.setattr(SketchStepper, "answer", lambda *_: sketch.split())
    assert parser.predict([EXAMPLES[0].sentence] * 2) == ["", ""]


def test_a_leaf_is_no_bracket():
    """Though the form's decoder learns brackets too, and here prefers them everywhere."""
    parser = make("Coarse2Fine")
    with torch.no_grad():
        parser.fine.output.bias[[parser.vocabulary.label_ids[token] for token in "()"]] = 100.0
    sentences = [example.sentence for example in EXAMPLES]
    assert parser.predict(sentences) == [example.gold for example in EXAMPLES]
