"""What is trained can be loaded and used: what could not be is refused, before or after."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from robustparse.data.datamodule import Batches
from robustparse.data.treebank_datamodule import TreebankDataModule
from robustparse.data.vocab import Vocabulary
from robustparse.errors import InputError
from robustparse.models.checkpoint import KEY
from robustparse.models.dependency.biaffine import BiaffineParser
from robustparse.models.encoders.bilstm import LSTMEncoder
from robustparse.models.encoders.transformer import TransformerEncoder
from robustparse.models.load import load
from robustparse.types import Example
from sample_runs import save_checkpoint, trainer
from tiny_models import save_bert

SIZES = {"word_dim": 3, "character_dim": 0, "hidden": 3, "layers": 1}


class OwnEncoder(LSTMEncoder):
    """An encoder of a user's module."""


class OwnParser(BiaffineParser):
    """A parser of a user's module."""


@pytest.mark.parametrize(
    ("kind", "encoder", "settings", "message"),
    [
        (OwnParser, LSTMEncoder(**SIZES), {}, r"checkpoints of .*\.OwnParser could not be loaded"),
        (
            BiaffineParser,
            OwnEncoder(**SIZES),
            {},
            r"encoder: checkpoints of .*\.OwnEncoder could not be loaded; exp",
        ),
        (
            BiaffineParser,
            LSTMEncoder(**SIZES),
            {"seed": np.int64(3)},
            r"BiaffineParser: seed: checkpoints of numpy\.int64",
        ),
        (
            BiaffineParser,
            LSTMEncoder(**SIZES, dropout=np.float64(0.1)),
            {},
            r"LSTMEncoder: dropout: checkpoints of numpy\.float64",
        ),
    ],
)
def test_what_could_not_be_loaded_is_not_trained(
    kind: type[BiaffineParser],
    encoder: LSTMEncoder,
    settings: dict[str, Any],
    message: str,
    vocabulary: Vocabulary,
) -> None:
    parser = kind(encoder, arc_dim=3, label_dim=3, vocabulary=vocabulary, **settings)
    data = TreebankDataModule("sample")
    with pytest.raises(InputError, match=message):
        trainer(max_steps=1).fit(parser, datamodule=data)
    assert parser.trainer.global_step == 0


def test_a_loaded_model_is_trained_with_dropout(tmp_path: Path, vocabulary: Vocabulary) -> None:
    """In evaluation mode until then, it learns what a model that starts from it does."""
    parser = BiaffineParser(LSTMEncoder(**SIZES), arc_dim=3, label_dim=3, vocabulary=vocabulary)
    path = save_checkpoint(parser, tmp_path / "a.ckpt")
    started = BiaffineParser(LSTMEncoder(**SIZES), arc_dim=3, label_dim=3, init_from=str(path))
    loaded = load(path)
    for one in (started, loaded):
        trainer(max_steps=3).fit(
            one, datamodule=TreebankDataModule("sample", batches=Batches(words=300))
        )
    assert not torch.equal(loaded.arc_attn.weight, parser.arc_attn.weight)
    torch.testing.assert_close(loaded.state_dict(), started.state_dict(), rtol=0, atol=0)


def test_paths_are_stored_as_strings(tmp_path: Path, vocabulary: Vocabulary) -> None:
    (tmp_path / "vectors.txt").write_text("the 1 2 3\ncats 4 5 6\n")
    encoder = LSTMEncoder(**SIZES, vectors=tmp_path / "vectors.txt")
    parser = BiaffineParser(encoder, arc_dim=3, label_dim=3, vocabulary=vocabulary)
    loaded = load(save_checkpoint(parser, tmp_path / "a.ckpt"))
    assert loaded.encoder.vectors == str(tmp_path / "vectors.txt")
    assert torch.equal(loaded.encoder.static.weight, parser.encoder.static.weight)


def changed(path: Path, **arguments: Any) -> Path:
    """A checkpoint with other arguments of its encoder."""
    held = torch.load(path, weights_only=True)
    held[KEY]["model"]["init_args"]["encoder"]["init_args"] |= arguments
    torch.save(held, path)
    return path


def test_no_other_file_is_read_for_a_checkpoint(
    tmp_path: Path, vocabulary: Vocabulary, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor is anything fetched, whatever it names."""
    from robustparse.models.encoders import transformer, word_embeddings

    def refuse(*_: object) -> None:
        raise AssertionError("read")

    folder = save_bert(tmp_path / "bert")
    bert = TransformerEncoder(str(folder), mix=1)
    bert_saved = save_checkpoint(BiaffineParser(bert, 3, 3, vocabulary=vocabulary), tmp_path / "b")
    lstm = LSTMEncoder(**SIZES)
    saved = save_checkpoint(BiaffineParser(lstm, 3, 3, vocabulary=vocabulary), tmp_path / "l")
    monkeypatch.setattr(transformer, "load_encoder", refuse)
    monkeypatch.setattr(word_embeddings, "read_vectors", refuse)
    load(bert_saved)
    with pytest.raises(InputError, match=r"b: the checkpoint names model 'x' but .*\(stored\)"):
        load(changed(bert_saved, model="x", download=True, stored=None))
    with pytest.raises(InputError, match=r"names vectors '/v\.txt' but .*\(vector_words\)"):
        load(changed(saved, vectors="/v.txt"))
    held = torch.load(saved, weights_only=True)
    held[KEY]["model"]["init_args"]["encoder"]["init_args"]["vectors"] = None
    held[KEY]["model"]["init_args"]["init_from"] = str(bert_saved)
    torch.save(held, saved)
    with pytest.raises(InputError, match="multiple values for keyword argument 'init_from'"):
        load(saved)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_non_finite_weights_are_not_used(
    tmp_path: Path, examples: list[Example], treebank: Path, value: float
) -> None:
    vocabulary = Vocabulary.from_examples(examples)
    parser = BiaffineParser(LSTMEncoder(**SIZES), 3, 3, vocabulary=vocabulary)
    data = TreebankDataModule(train_file=str(treebank), test_file=str(treebank))
    fitted = trainer(max_steps=1)
    fitted.fit(parser, datamodule=data)
    with torch.no_grad():
        parser.arc_attn.weight[0, 1, 2] = value
    path = tmp_path / "spoilt.ckpt"
    fitted.save_checkpoint(path)
    message = r"spoilt\.ckpt: its weight arc_attn.weight holds NaN or infinity"
    with pytest.raises(InputError, match=message):
        load(path)
    with pytest.raises(InputError, match=message):
        BiaffineParser(LSTMEncoder(**SIZES), 3, 3, init_from=str(path))
    with pytest.raises(InputError, match=message):
        trainer().test(parser, datamodule=data, ckpt_path=path)
    trainer(max_steps=1).fit(parser, datamodule=data, ckpt_path=path)


def test_large_weights_are_used(tmp_path: Path, vocabulary: Vocabulary) -> None:
    """Though their sum is infinite."""
    parser = BiaffineParser(LSTMEncoder(**SIZES), 3, 3, vocabulary=vocabulary)
    torch.nn.init.constant_(parser.arc_attn.weight, 3e38)
    assert parser.arc_attn.weight.sum().isinf()
    load(save_checkpoint(parser, tmp_path / "large.ckpt"))
