"""A plain Trainer, without ``last.ckpt``, resumes with the batches that come next."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import pytorch_lightning as pl
import torch
from pytorch_lightning.callbacks import ModelCheckpoint

from robustparse.data.batch import Batch
from robustparse.data.datamodule import Batches
from robustparse.data.treebank_datamodule import TreebankDataModule
from robustparse.errors import InputError
from robustparse.models.dependency.biaffine import BiaffineParser
from robustparse.models.encoders.bilstm import LSTMEncoder
from robustparse.models.optimization import Optimization
from robustparse.types import DependencyTree
from sample_runs import sentences, trainer, write_sample


class Seen(pl.Callback):
    """The sentences and the learning rate of each step, by the step's number."""

    def __init__(self) -> None:
        self.ids: dict[int, list[int]] = {}
        self.rates: dict[int, float] = {}

    def on_train_batch_start(
        self, trainer: Any, pl_module: Any, batch: Batch, batch_idx: int
    ) -> None:
        self.ids[trainer.global_step] = batch.ids.tolist()
        self.rates[trainer.global_step] = trainer.optimizers[0].param_groups[0]["lr"]


@pytest.fixture(scope="module")
def train_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_sample(tmp_path_factory.mktemp("train") / "train.conllu", sentences(120))


def trained(train_file: Path, start: Path | None = None, **settings: Any) -> dict[int, list[int]]:
    return fitted(train_file, start, **settings)[0].ids


def fitted(
    train_file: Path,
    start: Path | None = None,
    optimization: Optimization | None = None,
    **settings: Any,
) -> tuple[Seen, BiaffineParser]:
    data = TreebankDataModule(train_file=str(train_file), batches=Batches(words=200))
    encoder = LSTMEncoder(word_dim=3, character_dim=0, hidden=3, layers=1)
    parser = BiaffineParser(
        encoder, arc_dim=3, label_dim=3, optimization=optimization, vocabulary=data.vocabulary
    )
    seen = Seen()
    callbacks = settings.pop("callbacks", [])
    run = trainer(seen, *callbacks, **{"limit_train_batches": 3, "max_epochs": 3, **settings})
    run.fit(parser, datamodule=data, ckpt_path=start)
    return seen, parser


@pytest.mark.parametrize("limit", [3, 1.0])
def test_every_checkpoint_resumes_with_the_next_batch(
    train_file: Path, tmp_path: Path, limit: float
) -> None:
    every = ModelCheckpoint(
        tmp_path, "{step}", every_n_train_steps=1, save_top_k=-1, auto_insert_metric_name=False
    )
    ends = ModelCheckpoint(tmp_path / "ends", save_last=True)
    settings = {"limit_train_batches": limit}
    whole = trained(train_file, callbacks=[every, ends], enable_checkpointing=True, **settings)
    assert len(whole) % 3 == 0
    epoch = len(whole) // 3
    starts = {1, epoch - 1, epoch, epoch + 1}
    for step in starts:
        resumed = trained(train_file, tmp_path / f"{step}.ckpt", **settings)
        assert resumed == {at: ids for at, ids in whole.items() if at >= step}, step
    longer = trained(train_file, max_epochs=4, **settings)
    resumed = trained(train_file, tmp_path / "ends" / "last.ckpt", max_epochs=4, **settings)
    assert resumed == {at: ids for at, ids in longer.items() if at >= len(whole)}


def test_a_schedule_by_epochs_resumes_exactly(train_file: Path, tmp_path: Path) -> None:
    chosen = Optimization(
        1e-2, schedule="epochs", decay=0.5, constant_epochs=1, method="rmsprop", eps=1e-8
    )
    every = ModelCheckpoint(
        tmp_path, "{step}", every_n_train_steps=1, save_top_k=-1, auto_insert_metric_name=False
    )
    settings: dict[str, Any] = {"optimization": chosen, "max_epochs": 4}
    whole, parser = fitted(train_file, callbacks=[every], enable_checkpointing=True, **settings)
    assert [*whole.rates.values()] == [1e-2] * 6 + [5e-3] * 3 + [2.5e-3] * 3
    for step in (5, 7, 9):
        seen, resumed = fitted(train_file, tmp_path / f"{step}.ckpt", **settings)
        assert seen.rates == {at: rate for at, rate in whole.rates.items() if at >= step}, step
        weights = resumed.state_dict()
        for name, weight in parser.state_dict().items():
            assert torch.equal(weights[name], weight), (step, name)


def test_a_resumed_run_keeps_its_optimizer_and_says_so(
    train_file: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ends = ModelCheckpoint(tmp_path, save_last=True)
    first = Optimization(1e-2, betas=(0.8, 0.9), schedule="constant")
    fitted(train_file, optimization=first, callbacks=[ends], enable_checkpointing=True)
    other = Optimization(1e-3, schedule="constant", method="rmsprop")
    for chosen, words in ((first, []), (other, ["method", "learning_rate", "betas"])):
        caplog.clear()
        seen, parser = fitted(train_file, tmp_path / "last.ckpt", chosen, max_epochs=4)
        assert {*seen.rates.values()} == {1e-2}
        assert vars(parser.optimization) == vars(first)
        assert all(word in caplog.text for word in words)
        assert ("optimizer" in caplog.text) is bool(words)


def test_the_same_data_resume_and_other_sentences_are_refused(
    train_file: Path, tmp_path: Path
) -> None:
    """Though they have the same vocabulary, and as many words in each sentence."""
    ends = ModelCheckpoint(tmp_path, save_last=True)
    trained(train_file, callbacks=[ends], enable_checkpointing=True, max_epochs=1)
    last = tmp_path / "last.ckpt"
    assert trained(train_file, last, max_epochs=2)
    turned = write_sample(tmp_path / "turned.conllu", sentences(120)[::-1])
    with pytest.raises(InputError, match="the checkpoint was trained on other texts"):
        trained(turned, last, max_epochs=2)
    flat = []
    for one in sentences(120):
        root = one.gold.heads.index(0) + 1
        heads = tuple(0 if word == root else root for word in range(1, len(one.sentence) + 1))
        flat.append(replace(one, gold=DependencyTree(heads, one.gold.labels)))
    flattened = write_sample(tmp_path / "flat.conllu", flat)
    with pytest.raises(InputError, match="on other gold answers of its texts"):
        trained(flattened, last, max_epochs=2)
