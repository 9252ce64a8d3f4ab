"""``last.ckpt``: a checkpoint from which the run goes on as if it had never stopped.

Lightning's ModelCheckpoint saves when a batch ends, before the step's figures are logged and before
the validation that may be due: killed there, a run loses both. Here the checkpoint is written when
the next batch starts, when nothing of the last step is outstanding.

Lightning also resumes differently for every moment at which a checkpoint may be written. The
counters of all checkpoints, those of other callbacks too, are therefore set to one of them: a
certain batch is about to start. They hold the latest figures too, which ``EarlyStopping`` and
``ModelCheckpoint`` count again in an epoch that brings no new ones.
"""

import logging
import shutil
import signal
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch
from pytorch_lightning.callbacks import Callback, EarlyStopping

from robustparse.errors import InputError, check_least
from robustparse.tracking.stopping import Stopped, StopRequest

FILE = "last.ckpt"
OLD = f"{FILE}.old"
FIGURES = "callback_metrics"  # the key of a checkpoint

log = logging.getLogger(__name__)


class LastCheckpoint(Callback):
    """Writes ``last.ckpt`` into ``trainer.default_root_dir``.

    It must stand before callbacks that change something when a batch starts. A run that begins
    anew, or from another checkpoint, keeps the file of an earlier one as ``last.ckpt.old``: it
    cannot be resumed from by mistake. From a checkpoint it writes its own at once, so that
    ``last.ckpt`` is that run's or this one's at any moment. One that goes on from
    ``last.ckpt.old`` replaces the file.

    Going on from a run that ``EarlyStopping`` has ended, it ends at once.

    Asked to stop by a signal (SIGTERM, SIGUSR1), a run writes it before the next optimiser step and
    ends with the exit status ``128 + signal``.

    Args:
        every_n_train_steps: optimiser steps between two checkpoints; one is also written when an
            epoch has ended, and at the end.
    """

    def __init__(self, every_n_train_steps: int = 200) -> None:
        super().__init__()
        check_least("last_checkpoint", every_n_train_steps=every_n_train_steps)
        self.every_n_train_steps = every_n_train_steps
        self._saved_step = self._first_step = 0
        self._figures: dict[str, torch.Tensor] = {}
        self._request = StopRequest()

    def on_load_checkpoint(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        """Take note of where this process goes on from, and of the figures there."""
        self._first_step = checkpoint["global_step"]
        self._figures = checkpoint.get(FIGURES, {})  # older checkpoints hold none

    def on_fit_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Take note of signals; make sure that all processes go on from one checkpoint, or none.

        Raises:
            InputError: they do not.
        """
        self._request = StopRequest()
        self._request.install_with(trainer)
        own = torch.tensor(self._first_step, device=trainer.strategy.root_device)
        steps = sorted(set(trainer.strategy.all_gather(own).flatten().tolist()))
        if len(steps) > 1:
            raise InputError(
                f"the processes start from different steps ({', '.join(map(str, steps))}); every "
                f"machine must see the same trainer.default_root_dir ({trainer.default_root_dir}), "
                "on a shared file system"
            )

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Return the folder's own file need not be saved again; no other run's is left in its
        place.
        """
        # Lightning has emptied the figures after it loaded the checkpoint.
        trainer.callback_metrics.update(self._figures)
        self._saved_step = trainer.global_step
        if trainer.ckpt_path is None:
            _put_aside(trainer)
        elif not _goes_on_from(trainer, FILE) and not trainer.fast_dev_run:  # type: ignore[attr-defined]
            if not _goes_on_from(trainer, OLD):
                _put_aside(trainer, copied=True)
            trainer.save_checkpoint(_place(trainer, FILE))
        if any(map(_has_stopped, trainer.early_stopping_callbacks)):
            trainer.should_stop = True
            if trainer.is_global_zero:
                log.warning(
                    "EarlyStopping has ended the run of %s; take it out of the configuration to "
                    "train on",
                    trainer.ckpt_path,
                )

    def on_train_batch_start(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, batch: Any, batch_idx: int
    ) -> None:
        """Save what the batch before led to, unless its gradients await more batches.

        Raises:
            Stopped: a process was asked to stop; what there is has been saved.
        """
        stop = 0 if batch_idx % trainer.accumulate_grad_batches else self._request.agreed(trainer)
        if stop or batch_idx == 0 or trainer.global_step % self.every_n_train_steps == 0:
            self._save(trainer)
        if stop:
            if trainer.is_global_zero:
                name, steps = signal.Signals(stop).name, trainer.global_step
                log.warning("stopped by %s after %d steps; --ckpt_path last goes on", name, steps)
            raise Stopped(stop)

    def on_train_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Save the end, as the place from which a longer run would go on."""
        self._save(trainer)

    def _save(self, trainer: pl.Trainer) -> None:
        unsaved = trainer.global_step != self._saved_step
        if unsaved and not trainer.fast_dev_run:  # type: ignore[attr-defined]
            trainer.save_checkpoint(_place(trainer, FILE))
            self._saved_step = trainer.global_step

    def on_save_checkpoint(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        """Set the counters of any checkpoint to the batch that comes next, add the latest figures.

        Amid an optimiser step that is its first batch, since no checkpoint holds gradients.
        """
        checkpoint[FIGURES] = {
            name: figure.detach().cpu() for name, figure in trainer.callback_metrics.items()
        }
        fit_loop = checkpoint["loops"]["fit_loop"]
        batches = int(trainer.num_training_batches)
        epoch = fit_loop["epoch_progress"]["current"]["started"] - 1
        progress = fit_loop["epoch_loop.batch_progress"]
        position = progress["current"]["processed"]
        if position >= batches:
            epoch, position = epoch + 1, 0
        amid = position % trainer.accumulate_grad_batches
        progress["total"]["processed"] -= amid
        position -= amid
        last = position + 1 == batches
        steps_next = last or (position + 1) % trainer.accumulate_grad_batches == 0
        set_place(fit_loop, epoch, position, trainer.global_step - int(steps_next))


def _has_stopped(callback: EarlyStopping) -> bool:
    """Whether it had decided to end the run; Lightning resumes its counts, but not this."""
    return callback.stopped_epoch > 0 or callback.wait_count >= max(1, callback.patience)


class NoCheckpoint(Callback):
    """Stands in for ``LastCheckpoint`` in a run without checkpoints.

    There, too, another run's ``last.ckpt`` is not left to be resumed from by mistake, onto the
    figures of this one.
    """

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Keep it as ``last.ckpt.old``; where the run goes on from that file, remove it."""
        if trainer.is_global_zero and _goes_on_from(trainer, OLD):
            _place(trainer, FILE).unlink(missing_ok=True)
        elif not _goes_on_from(trainer, FILE):
            _put_aside(trainer)


def _place(trainer: pl.Trainer, name: str) -> Path:
    return Path(trainer.default_root_dir) / name


def _goes_on_from(trainer: pl.Trainer, name: str) -> bool:
    """Whether a run goes on from a file of its folder."""
    start = trainer.ckpt_path
    return start is not None and Path(start).resolve() == _place(trainer, name).resolve()


def _put_aside(trainer: pl.Trainer, copied: bool = False) -> None:
    """Keep ``last.ckpt`` as ``last.ckpt.old``, where there is one.

    Args:
        trainer: whose first process does it.
        copied: leave it in its place besides.

    Raises:
        InputError: it cannot be copied.
    """
    path, old = _place(trainer, FILE), _place(trainer, OLD)
    if not trainer.is_global_zero or not path.exists():
        return
    if copied:
        aside = old.with_name(f".{OLD}.part")
        try:
            shutil.copyfile(path, aside)
        except OSError as error:
            aside.unlink(missing_ok=True)
            raise InputError(
                f"{path}: cannot be kept as {OLD} ({error.strerror or error}); make room or move "
                "it away"
            ) from None
        path = aside
    path.rename(old)


def set_place(fit_loop: dict[str, Any], epoch: int, position: int, logged: int) -> None:
    """Make a checkpoint's counters say "batch ``position`` of ``epoch`` is about to start".

    Args:
        fit_loop: ``checkpoint["loops"]["fit_loop"]``, changed in place.
        epoch: counts from 0.
        position: of the batch in the epoch, from 0.
        logged: the step at which figures are logged. Lightning adds 1 to it when it resumes before
            a batch that an optimiser step follows.
    """
    batches, epochs = fit_loop["epoch_loop.batch_progress"], fit_loop["epoch_progress"]
    batches["is_last_batch"] = False
    for counter, done in (
        (batches["total"], batches["total"]["processed"]),
        (batches["current"], position),
        (epochs["total"], epoch),
        (epochs["current"], epoch),
    ):
        counter.update(ready=done + 1, started=done, processed=done, completed=done)
    # Lightning goes on counting from this one, and would take three equal ones for another moment.
    done = batches["total"]["processed"]
    batches["total"].update(ready=done, started=done - 1)
    for counter in epochs.values():
        counter["started"] = epoch + 1
    fit_loop["epoch_loop.state_dict"]["_batches_that_stepped"] = logged
    # Its position follows from the counters above, see `LearningModule.on_save_checkpoint`.
    for loader in fit_loop["state_dict"].get("combined_loader", []):
        loader["epoch"] = epoch
