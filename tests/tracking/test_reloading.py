"""``ReloadBest`` against the loop of TranX's released code, and a run that is resumed."""

from pathlib import Path
from typing import Any

import pytest
import pytorch_lightning as pl
import torch
from pytorch_lightning.callbacks import ModelCheckpoint
from pytorch_lightning.demos.boring_classes import BoringModel

from robustparse.errors import InputError
from robustparse.tracking import ReloadBest
from robustparse.tracking.last_checkpoint import FILE, LastCheckpoint
from sample_runs import trainer

SCORES = (1.0, 3.0, 2.0, 3.0, 4.0, 1.0, 2.0, 4.0, 3.0, 5.0, 1.0, 1.0, 1.0, 1.0, 6.0, 7.0)


class Scored(BoringModel):
    """Logs a score a validation, and notes rate and weights at the start of each epoch."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        super().__init__()
        self.rates: dict[int, float] = {}
        self.starts: dict[int, torch.Tensor] = {}
        self.ends: dict[int, torch.Tensor] = {}

    def configure_optimizers(self) -> Any:
        optimizer = torch.optim.Adam(self.parameters(), 0.1)
        return [optimizer], [torch.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 1.0)]

    def training_step(self, batch: Any, batch_idx: int) -> Any:
        generator = torch.Generator().manual_seed(100 * self.current_epoch + batch_idx)
        return self.layer(torch.randn(4, 32, generator=generator)).square().sum()

    def on_train_batch_start(self, batch: Any, batch_idx: int) -> None:
        if batch_idx:
            return
        self.rates[self.current_epoch] = self.trainer.optimizers[0].param_groups[0]["lr"]
        self.starts[self.current_epoch] = self.layer.weight.detach().clone()

    def on_validation_epoch_start(self) -> None:
        self.ends[self.current_epoch] = self.layer.weight.detach().clone()

    def on_validation_epoch_end(self) -> None:
        self.log("score", SCORES[self.current_epoch])


def released(patience: int, factor: float, trials: int) -> tuple[list[float], dict[int, int]]:
    """The rate of each epoch, and after which epoch that of which one is loaded, by the paper's
    loop, with one validation an epoch.
    """
    rate, waited, tried, history = 0.1, 0, 0, []
    rates: list[float] = []
    loaded: dict[int, int] = {}
    for epoch, score in enumerate(SCORES):
        rates.append(rate)
        is_better = not history or score > max(history)
        history.append(score)
        if is_better:
            waited, best = 0, epoch
        else:
            waited += 1
        if waited >= patience:
            tried += 1
            if tried == trials:
                break
            rate, waited, loaded[epoch] = rate * factor, 0, best
    return rates, loaded


def trained(
    folder: Path,
    *savers: pl.Callback,
    start: str | None = None,
    epochs: int = 16,
    **settings: Any,
) -> Scored:
    model = Scored()
    callbacks = [LastCheckpoint(), ReloadBest(monitor="score", **settings), *savers]
    sizes = {"max_epochs": epochs, "limit_train_batches": 2, "limit_val_batches": 1}
    sizes["enable_checkpointing"] = bool(savers)
    trainer(*callbacks, default_root_dir=folder, **sizes).fit(model, ckpt_path=start)
    return model


@pytest.mark.parametrize(
    ("patience", "factor", "trials", "epochs"),
    [(2, 0.5, 5, 14), (3, 0.1, 2, 13), (1, 0.5, 2, 4), (9, 0.5, 1, 16)],
)
def test_rates_and_weights_are_those_of_the_released_loop(
    tmp_path: Path, patience: int, factor: float, trials: int, epochs: int
) -> None:
    settings = {"patience": patience, "factor": factor, "trials": trials}
    rates, loaded = released(**settings)
    assert len(rates) == epochs
    model = trained(tmp_path, **settings)
    assert [*model.rates.values()] == pytest.approx(rates)
    for epoch in range(1, len(rates)):
        of = loaded.get(epoch - 1, epoch - 1)
        assert torch.equal(model.starts[epoch], model.ends[of]), epoch


def test_checkpoints_hold_the_weights_that_were_validated(tmp_path: Path) -> None:
    saver = ModelCheckpoint(tmp_path, "{epoch}", "score", save_top_k=-1, auto_insert_metric_name=0)
    model = trained(tmp_path, saver, epochs=9, patience=2)
    assert len(set(model.rates.values())) > 1
    for epoch, weights in model.ends.items():
        saved = torch.load(tmp_path / f"{epoch}.ckpt", weights_only=True)["state_dict"]
        assert torch.equal(saved["layer.weight"], weights), epoch


def test_a_resumed_run_ends_as_one_never_stopped(tmp_path: Path) -> None:
    """Stopped while it waits, and on both sides of a reload, which restores the optimiser too."""
    settings = {"patience": 2, "trials": 5}
    whole = trained(tmp_path / "whole", **settings)
    assert len(whole.rates) == 14
    for stop in (1, 3, 4, 7, 13):
        folder = tmp_path / str(stop)
        trained(folder, epochs=stop, **settings)
        resumed = trained(folder, start=str(folder / FILE), **settings)
        assert resumed.rates == {at: rate for at, rate in whole.rates.items() if at >= stop}
        assert torch.equal(resumed.layer.weight, whole.layer.weight), stop
    assert not trained(folder, start=str(folder / FILE), **settings).rates  # it had ended


def test_without_settings_it_does_as_the_released_code_on_atis() -> None:
    made = ReloadBest()
    assert (made.patience, made.factor, made.trials) == (5, 0.5, 5)


@pytest.mark.parametrize(
    ("made", "key"),
    [
        (lambda: ReloadBest(patience=0), "reload best: patience"),
        (lambda: ReloadBest(trials=0), "reload best: trials"),
        (lambda: ReloadBest(factor=0.0), "reload best: factor"),
        (lambda: ReloadBest(factor=1.5), "reload best: factor"),
    ],
)
def test_numbers_out_of_range_are_refused(made: Any, key: str) -> None:
    with pytest.raises(InputError) as error:
        made()
    assert error.value.key == key


@pytest.mark.parametrize(
    ("monitor", "limit", "key"),
    [("loss", 1, "reload best: monitor"), ("score", 0, "trainer.limit_val_batches")],
)
def test_a_run_without_the_score_is_refused(monitor: str, limit: int, key: str) -> None:
    with pytest.raises(InputError) as error:
        trainer(ReloadBest(monitor=monitor), max_epochs=1, limit_val_batches=limit).fit(Scored())
    assert error.value.key == key
