"""``last.ckpt``: a checkpoint from which the run goes on as if it had never stopped.

Lightning's ModelCheckpoint saves when a batch ends, before the step's figures are logged and before
the validation that may be due: killed there, a run loses both. Here the checkpoint is written when
the next batch starts, when nothing of the last step is outstanding, and its counters say "before
this batch"; so every resume takes the same path through Lightning's loops.
"""

from pathlib import Path
from typing import Any

import pytorch_lightning as pl
from pytorch_lightning.callbacks import Callback

from robustparse.errors import InputError

FILE = "last.ckpt"


class LastCheckpoint(Callback):
    """Writes ``last.ckpt`` into ``trainer.default_root_dir``.

    It must stand before callbacks that change something when a batch starts.

    Args:
        every_n_train_steps: optimiser steps between two checkpoints; one is also written when an
            epoch has ended, and at the end.
    """

    def __init__(self, every_n_train_steps: int = 200) -> None:
        super().__init__()
        if every_n_train_steps < 1:
            raise InputError(f"every_n_train_steps must be >= 1, got {every_n_train_steps}")
        self.every_n_train_steps = every_n_train_steps
        self._saved_step = 0
        self._place: tuple[int, int] | None = None

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """What is resumed from need not be saved again."""
        self._saved_step = trainer.global_step

    def on_train_batch_start(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, batch: Any, batch_idx: int
    ) -> None:
        """Save what the batch before led to, unless its gradients await more batches."""
        due = batch_idx == 0 or trainer.global_step % self.every_n_train_steps == 0
        if due and trainer.global_step != self._saved_step:
            self._save(trainer, trainer.current_epoch, batch_idx)

    def on_train_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Save the end, as the place from which a longer run would go on."""
        loop = trainer.fit_loop
        position = loop.epoch_loop.batch_progress.current.completed
        whole = position >= loop.max_batches
        epochs = loop.epoch_progress.current.processed  # type: ignore[attr-defined]
        if trainer.global_step != self._saved_step:
            self._save(trainer, epochs if whole else epochs - 1, 0 if whole else position)

    def _save(self, trainer: pl.Trainer, epoch: int, position: int) -> None:
        if trainer.fast_dev_run:  # type: ignore[attr-defined]
            return
        self._place = epoch, position
        trainer.save_checkpoint(Path(trainer.default_root_dir) / FILE)
        self._place, self._saved_step = None, trainer.global_step

    def on_save_checkpoint(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        """Set the counters of our own checkpoint; others keep Lightning's."""
        if self._place is not None:
            accumulates = int(trainer.accumulate_grad_batches)
            last = self._place[1] + 1 == trainer.num_training_batches
            steps_next = last or (self._place[1] + 1) % accumulates == 0
            set_place(checkpoint["loops"]["fit_loop"], *self._place, steps_next)


def set_place(fit_loop: dict[str, Any], epoch: int, position: int, steps_next: bool) -> None:
    """Make a checkpoint's counters say "batch ``position`` of ``epoch`` is about to start".

    Args:
        fit_loop: ``checkpoint["loops"]["fit_loop"]``, changed in place.
        epoch: counts from 0.
        position: of the batch in the epoch, from 0.
        steps_next: an optimiser step follows that batch. Lightning then counts one logged step too
            many when it resumes, which it expects not to have been counted before.
    """
    batches = fit_loop["epoch_loop.batch_progress"]
    batches["is_last_batch"] = False
    for counter, done in (
        (batches["total"], batches["total"]["completed"]),
        (batches["current"], position),
        (fit_loop["epoch_progress"]["total"], epoch),
        (fit_loop["epoch_progress"]["current"], epoch),
    ):
        counter.update(ready=done + 1, started=done, processed=done, completed=done)
    for counter in fit_loop["epoch_progress"].values():
        counter["started"] = epoch + 1
    fit_loop["epoch_loop.state_dict"]["_batches_that_stepped"] -= int(steps_next)
    for loader in fit_loop["state_dict"].get("combined_loader", []):
        loader |= {"epoch": epoch, "position": position}
