"""Tiny semantic parsers in float64, the texts that they read, and what they answer."""

import copy
from typing import Any

import numpy as np
import pytest
import torch

from robustparse.data.batch import Batch
from robustparse.data.vocab import Vocabulary
from robustparse.models import (
    Coarse2Fine,
    LSTMEncoder,
    SemanticParser,
    Seq2Seq,
    TranX,
)
from robustparse.models.encoders.base import Encoder
from robustparse.types import Example, LogicalForm, Sentence
from tiny_models import TEXTS

FORMS = ("( a $0 )", "( and ( a $0 ) ( b c0 ) )", "( b c0 )", "( a cats )")


EXAMPLES = [
    Example(id_, Sentence(tuple(text.split(" "))), LogicalForm(form, "lambda"))
    for id_, (text, form) in enumerate(zip(TEXTS, FORMS, strict=True))
]


PARENTS = ("parent_rule", "parent_field", "parent_type", "parent_state")


KINDS: dict[str, tuple[type[SemanticParser], dict[str, Any]]] = {
    "Seq2Seq": (Seq2Seq, {"token_dim": 5}),
    "TranX": (TranX, {"action_dim": 5}),
    "TranX with parents": (
        TranX,
        {"action_dim": 5, "field_dim": 3, "type_dim": 2} | dict.fromkeys(PARENTS, True),
    ),
    "TranX that copies": (TranX, {"action_dim": 5, "copy": True}),
}


KINDS["Coarse2Fine"] = (Coarse2Fine, {"input_dim": 4})


# Weights of Coarse2Fine, by what they were learned from.
TRAINED: dict[Any, dict[str, torch.Tensor]] = {}


KIND = pytest.mark.parametrize("kind", KINDS)


def make(
    kind: str = "Seq2Seq",
    seed: int = 0,
    encoder: Encoder | None = None,
    examples: list[Example] = EXAMPLES,
    **other: Any,
) -> Any:
    """An untrained parser in float64, every weight random: no score is a tie."""
    vocabulary = Vocabulary.from_examples(examples, min_count=1)
    made, sizes = KINDS[kind]
    settings = {"hidden": 6, "longest": 9} | sizes | other
    parser = made(encoder or LSTMEncoder(5, 0, 4, 6, 1), vocabulary=vocabulary, **settings)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in parser.double().parameters():
            noise = torch.randn(parameter.shape, generator=generator, dtype=parameter.dtype)
            parameter.add_(noise)
    if kind == "Coarse2Fine":  # random sketches are hardly ever balanced
        learned = {name: value for name, value in other.items() if name not in ("beam", "longest")}
        key = (seed, encoder, tuple(example.gold for example in examples), repr(learned))
        if key not in TRAINED:
            train(parser.eval(), examples, 120, 0.03)
            TRAINED[key] = copy.deepcopy(parser.state_dict())
        parser.load_state_dict(TRAINED[key])
    return parser.eval()


def train(parser: SemanticParser, examples: list[Example], steps: int, rate: float) -> None:
    """Until the loss of a form is small, or as many steps."""
    optimizer = torch.optim.Adam(parser.parameters(), rate)
    batch = parser.encode(examples).batch(range(len(examples)), 1.0)
    with torch.enable_grad():
        for _ in range(steps):
            optimizer.zero_grad()
            loss = parser.loss(parser(batch), batch).mean()
            if loss < 0.1:
                break
            loss.backward()
            optimizer.step()
    parser.zero_grad()


def batch_of(parser: SemanticParser, examples: list[Example] = EXAMPLES) -> Batch:
    return parser.encode(examples).batch(range(len(examples)), 1.0)


def answered(parser: SemanticParser, batch: Batch) -> tuple[list[LogicalForm], np.ndarray]:
    found = parser.predicted(batch)
    return parser.codec.decode_rows(found, batch.lengths.tolist()), found[2]
