"""How training shows its progress: a bar in a terminal, lines in a log file."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytorch_lightning as pl
from pytorch_lightning.callbacks import Callback, ProgressBar
from torch import Tensor

from robustparse.lightning import TrainingBar


class ProgressLines(pl.Callback):
    """Prints a line for every logged step and every validation."""

    def __init__(self) -> None:
        self._printed = 0

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, *_: object
    ) -> None:
        """Print the losses at the steps at which loggers get them."""
        step = trainer.global_step
        if step != self._printed and step % trainer.log_every_n_steps == 0:  # type: ignore[attr-defined]
            self._printed = step
            # Lightning has not stored the loss of this step yet.
            loss = outputs["loss"] * trainer.accumulate_grad_batches
            _print(trainer, {**trainer.callback_metrics, "train/loss": loss}, "train/")

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Print the scores."""
        if not trainer.sanity_checking:
            _print(trainer, trainer.callback_metrics, "val/")


def _print(trainer: pl.Trainer, metrics: Mapping[str, Tensor], prefix: str) -> None:
    """Print the metrics whose names have a prefix, in the first process."""
    values = [f"{name} {float(metrics[name]):.4g}" for name in metrics if name.startswith(prefix)]
    if trainer.is_global_zero and values:
        step = f"epoch {trainer.current_epoch}, step {trainer.global_step}"
        print(f"{step}: {', '.join(values)}", flush=True)


def progress(requested: Sequence[Callback], terminal: bool) -> Callback | None:
    """Return what shows the progress of a run; None if the user has configured a progress bar.

    Args:
        requested: callbacks that the user has configured.
        terminal: whether standard output is one.
    """
    if any(isinstance(callback, ProgressBar) for callback in requested):
        return None
    return TrainingBar() if terminal else ProgressLines()
