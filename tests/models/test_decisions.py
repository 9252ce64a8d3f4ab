"""The distributions that models tell of their decisions, and how far two of them differ."""

from typing import Any

import pytest
import torch
from tiny_semantic_parsers import EXAMPLES, KINDS, make
from torch.nn.functional import kl_div

from robustparse.data.vocab import Vocabulary
from robustparse.models import LSTMEncoder, Model, StackPointerParser, WordCNN, WordEmbeddings
from robustparse.models.decisions import Decisions, divergence
from robustparse.types import Example, Label
from tiny_models import examples, random_parser


def pointer() -> StackPointerParser:
    encoder = LSTMEncoder(5, 0, hidden=6, layers=1)
    known = Vocabulary.from_examples(examples())
    parser = StackPointerParser(encoder, hidden=6, arc_dim=5, label_dim=4, vocabulary=known)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for weight in parser.double().parameters():
            weight.add_(torch.randn(weight.shape, generator=generator, dtype=weight.dtype))
    return parser.eval()


def classifier() -> tuple[WordCNN, list[Example]]:
    texts = [Example(e.id, e.sentence, Label("ab"[e.id % 2])) for e in examples()]
    known = Vocabulary.from_examples(texts, min_count=1)
    return WordCNN(WordEmbeddings(5), filters=4, vocabulary=known).double().eval(), texts


def made(name: str) -> tuple[Model, list[Example]]:
    if name == "BiaffineParser":
        return random_parser(LSTMEncoder(5, 0, hidden=6, layers=1)), examples()
    if name == "StackPointerParser":
        return pointer(), examples()
    return classifier() if name == "WordCNN" else (make(name), EXAMPLES)


def number(name: str, model: Any, batch: Any, row: int) -> int:
    """How many decisions a text has."""
    length = int(batch.lengths[row])
    if name == "BiaffineParser":
        return length
    if name == "StackPointerParser":
        return 2 * length + 1
    if name == "WordCNN":
        return 1
    if name == "Seq2Seq":
        return int((batch.gold["target"][row] == model.end).nonzero()) + 1
    if name == "Coarse2Fine":
        return int((batch.gold["sketch"][row] > 0).sum() + (batch.gold["leaves"][row] > 0).sum())
    return int((batch.gold["actions"][row] > 0).sum())


@pytest.mark.parametrize("name", ["BiaffineParser", "StackPointerParser", "WordCNN", *KINDS])
def test_every_model_tells_its_decisions(name: str) -> None:
    model, texts = made(name)
    batch = model.encode(texts).batch(range(len(texts)), 1.0)
    embedded = model.embed(batch).detach()
    generator = torch.Generator().manual_seed(1)
    moved = embedded + torch.randn(embedded.shape, generator=generator, dtype=embedded.dtype)
    moved.requires_grad_()
    first = model.decisions(model.states_of(embedded, batch), batch)
    second = model.decisions(model.states_of(moved, batch), batch)
    for decisions in (*first, *second):
        for choice in decisions.choices:
            torch.testing.assert_close(choice.exp().sum(-1), choice.new_ones(len(choice)))
    none, numbers = divergence(first, first, len(texts))
    assert not none.any()
    assert numbers.tolist() == [number(name, model, batch, row) for row in range(len(texts))]
    some, _ = divergence(first, second, len(texts))
    assert (some > 0).all()
    (gradient,) = torch.autograd.grad(some.sum(), moved)
    assert torch.isfinite(gradient).all()
    assert gradient.any()
    # A text alone has the same decisions.
    alone = model.encode(texts[:1]).batch([0], 1.0)
    units = model.embed(alone).shape[1]
    states = [model.states_of(values[:1, :units], alone) for values in (embedded, moved)]
    total, _ = divergence(*(model.decisions(of_text, alone) for of_text in states), 1)
    torch.testing.assert_close(total, some[:1])


def test_divergence_by_hand() -> None:
    generator = torch.Generator().manual_seed(0)
    texts = torch.tensor([0, 2, 2])
    scores = [torch.randn(3, size, generator=generator).double() for size in (4, 5, 4, 5)]
    scores[0][1, 2] = scores[2][1, 2] = float("-inf")
    first, second = Decisions.of(texts, *scores[:2]), Decisions.of(texts, *scores[2:])
    expected = [0.0, 0.0, 0.0]
    for p, q in zip(first.choices, second.choices, strict=True):
        for row, text in enumerate(texts.tolist()):
            ruled_in = p[row] > float("-inf")
            expected[text] += float(
                kl_div(q[row][ruled_in], p[row][ruled_in], reduction="sum", log_target=True)
            )
    total, numbers = divergence([first], [second], 3)
    torch.testing.assert_close(total, torch.tensor(expected, dtype=torch.float64))
    assert numbers.tolist() == [1, 0, 2]
