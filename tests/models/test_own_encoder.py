"""An encoder of a user's own module, in twenty lines."""

import importlib
from pathlib import Path

import pytest
import torch

from robustparse.data.vocab import Vocabulary
from robustparse.models.dependency.biaffine import BiaffineParser
from robustparse.models.victim import ModelVictim
from tiny_models import TEXTS, examples

MODULE = '''
from zlib import crc32
import numpy as np
from torch import nn
from robustparse.models import Encoder

class HashedWords(Encoder):
    """Looks words up by their hash and reads no neighbours."""

    def __init__(self, rows: int = 50, dim: int = 6) -> None:
        super().__init__()
        self.rows, self.dim = rows, dim  # every argument is kept under its name
        self.form_dim = self.out_dim = dim

    def build(self, vocabulary):
        self.table = nn.Embedding(2 + self.rows, self.dim)  # 0 and 1: padding and unknown

    def intern(self, words):
        return np.array([2 + crc32(word.encode()) % self.rows for word in words], np.int32)

    def embed(self, words, tags):
        return self.table(nn.functional.pad(words, (1, 0)))  # ROOT first

    def forward(self, embeddings, words, lengths):
        return embeddings
'''


@pytest.fixture
def parser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> BiaffineParser:
    (tmp_path / "hashed_encoders.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    encoder = importlib.import_module("hashed_encoders").HashedWords(rows=40)
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
    assert len(set(victim.intern(words).tolist())) == len(set(words))
    assert [len(tree.heads) for tree in parser.predict([["dog", "saw"], ["cats"]])] == [2, 1]
