"""The encoder of docs/guides/own_parts.md is trained and attacked like any other."""

import importlib
import sys
from pathlib import Path

import pytest
import torch

from own_parts import MODULE, write_module
from robustparse.data.vocab import Vocabulary
from robustparse.models.dependency.biaffine import BiaffineParser
from robustparse.models.victim import ModelVictim
from tiny_models import TEXTS, examples


@pytest.fixture
def parser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> BiaffineParser:
    write_module(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, MODULE, raising=False)
    encoder = importlib.import_module(MODULE).HashedWords(rows=40)
    vocabulary = Vocabulary.from_examples(examples())
    return BiaffineParser(encoder, arc_dim=7, label_dim=4, vocabulary=vocabulary).double().eval()


def test_it_is_trained_and_attacked_like_any_other(parser):
    batch = parser.encode(examples()).batch(range(len(TEXTS)), 1.0)
    assert parser.zero_delta(batch).shape == (*batch.words.shape[:1], 1 + batch.words.shape[1], 6)
    assert parser.delta_mask(batch)[:, 0].sum() == 0
    optimizer = torch.optim.Adam(parser.parameters(), 1e-2)
    losses = []
    for _ in range(20):
        optimizer.zero_grad()
        losses.append(parser.loss(parser(batch, parser.zero_delta(batch)), batch).sum())
        losses[-1].backward()
        optimizer.step()
    assert losses[-1] < 0.8 * losses[0]
    victim = ModelVictim([parser])
    words = [word for example in examples() for word in example.sentence.words]
    rows, of_encoder = victim.intern(words).tolist(), parser.encoder.intern(words).tolist()
    # Words that the encoder hashes to one row are one word to the victim.
    assert len(set(rows)) == len(set(zip(rows, of_encoder, strict=True))) == len(set(of_encoder))
    assert [len(tree.heads) for tree in parser.predict([["dog", "saw"], ["cats"]])] == [2, 1]
