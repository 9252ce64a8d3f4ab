"""Normalised embeddings: moments by hand, no profit from growing them, checkpoints."""

from pathlib import Path

import pytest
import torch

from robustparse.data.datamodule import Batches
from robustparse.data.treebank_datamodule import TreebankDataModule
from robustparse.data.vocab import Vocabulary
from robustparse.defenses.fgm import FGM
from robustparse.errors import InputError
from robustparse.models.dependency.biaffine import BiaffineParser
from robustparse.models.encoders.bilstm import LSTMEncoder
from robustparse.models.encoders.normalized import NormalizedLSTMEncoder
from robustparse.models.encoders.word_table import RESERVED
from robustparse.models.load import load
from sample_runs import save_checkpoint, sentences, trainer, write_sample

SENTENCES = 60


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    return Vocabulary.from_examples(sentences(SENTENCES))


def make(vocabulary: Vocabulary, character_dim: int = 0) -> BiaffineParser:
    encoder = NormalizedLSTMEncoder(
        word_dim=6, character_dim=character_dim, character_out=4, hidden=6, layers=1
    )
    parser = BiaffineParser(encoder, arc_dim=8, label_dim=6, seed=2, vocabulary=vocabulary)
    return parser.double().eval()


def embedded(parser: BiaffineParser) -> torch.Tensor:
    """The embedding of every training word, in order, ``(words, dim)``."""
    numbered = parser.encode(sentences(SENTENCES))
    batch = numbered.batch(range(SENTENCES), 1.0)
    return parser.embed(batch)[:, 1:][batch.mask]


def test_counts_are_those_of_the_training_words(vocabulary):
    lowered = [w.lower() for example in sentences(SENTENCES) for w in example.sentence.words]
    assert list(vocabulary.counts[:-1]) == [lowered.count(word) for word in vocabulary.words]
    assert sum(vocabulary.counts) == len(lowered)
    assert vocabulary.counts[-1] > 0
    assert "counts" not in vocabulary.to_lists()
    held = Vocabulary.from_lists(vocabulary.to_lists())
    assert (held, held.counts) == (vocabulary, ())


def test_over_the_training_words_the_mean_is_zero_and_the_variance_one(vocabulary):
    vectors = embedded(make(vocabulary))
    torch.testing.assert_close(vectors.mean(0), torch.zeros(6).double(), atol=1e-6, rtol=0)
    variance = vectors.var(0, correction=0)
    torch.testing.assert_close(variance, torch.ones(6).double(), atol=1e-6, rtol=0)


def test_a_word_by_hand(vocabulary):
    parser = make(vocabulary)
    table = parser.encoder.words.weight.detach()
    rows = {word: row for row, word in enumerate(vocabulary.words, start=RESERVED)}
    lowered = [w.lower() for example in sentences(SENTENCES) for w in example.sentence.words]
    seen = torch.stack([table[rows.get(word, 1)] for word in lowered])
    common = vocabulary.words[0]
    expected = (table[rows[common]] - seen.mean(0)) / seen.std(0, correction=0)
    found = embedded(parser)[lowered.index(common)]
    torch.testing.assert_close(found, expected, atol=1e-6, rtol=0)


def test_growing_or_moving_the_table_changes_nothing(vocabulary):
    parser = make(vocabulary, character_dim=3)
    before = embedded(parser)
    with torch.no_grad():
        parser.encoder.words.weight.mul_(50.0).add_(3.0)
    torch.testing.assert_close(embedded(parser), before, atol=1e-6, rtol=0)


def test_gradients_reach_every_row_through_the_moments(vocabulary):
    parser = make(vocabulary)
    embedded(parser)[0].square().sum().backward()
    gradient = parser.encoder.words.weight.grad
    assert (gradient[RESERVED:].abs().sum(1) > 0).all()


def test_a_checkpoint_brings_its_frequencies(vocabulary, tmp_path: Path):
    parser = make(vocabulary)
    path = save_checkpoint(parser, tmp_path / "normalized.ckpt")
    loaded = load(path).double()
    assert isinstance(loaded.encoder, NormalizedLSTMEncoder)
    torch.testing.assert_close(embedded(loaded), embedded(parser), atol=1e-6, rtol=0)
    numbered = loaded.encode(sentences(3))
    assert loaded.predicted(numbered.batch(range(3), 1.0))[0].shape[0] == 3


def test_a_checkpoint_of_the_plain_encoder_cannot_start_it(vocabulary, tmp_path: Path):
    sizes = {"word_dim": 6, "character_dim": 0, "hidden": 6, "layers": 1}
    plain = BiaffineParser(LSTMEncoder(**sizes), arc_dim=8, label_dim=6, vocabulary=vocabulary)
    path = save_checkpoint(plain, tmp_path / "plain.ckpt")
    with pytest.raises(InputError, match="frequencies"):
        BiaffineParser(NormalizedLSTMEncoder(**sizes), arc_dim=8, label_dim=6, init_from=str(path))


def test_it_trains_with_an_adversary_in_mixed_precision(tmp_path: Path):
    path = write_sample(tmp_path / "a-train.conllu", sentences(SENTENCES))
    data = TreebankDataModule(train_file=str(path), batches=Batches(words=200))
    parser = make(data.vocabulary).float().train()
    before = {name: weight.clone() for name, weight in parser.state_dict().items()}
    trainer(FGM(), precision="bf16-mixed").fit(parser, datamodule=data)
    after = parser.state_dict()
    assert not torch.equal(before["encoder.words.weight"], after["encoder.words.weight"])
    assert torch.equal(before["encoder.words.frequencies"], after["encoder.words.frequencies"])
    assert all(torch.isfinite(weight).all() for weight in after.values())
    variance = embedded(parser).var(0, correction=0)
    torch.testing.assert_close(variance, torch.ones(6), atol=1e-4, rtol=0)


def test_without_word_embeddings_or_with_vectors(vocabulary, tmp_path: Path):
    (tmp_path / "v.txt").write_text("the 1 0\ndog 0 1\n")
    for encoder in (
        NormalizedLSTMEncoder(word_dim=0),
        NormalizedLSTMEncoder(word_dim=2, vectors=str(tmp_path / "v.txt")),
    ):
        with pytest.raises(InputError, match="normalises trained word embeddings") as caught:
            BiaffineParser(encoder, vocabulary=vocabulary)
        assert caught.value.key == "NormalizedLSTMEncoder"
