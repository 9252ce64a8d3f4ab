"""``last.ckpt``: a checkpoint from which a run resumes as if it had never stopped.

Lightning's ModelCheckpoint saves when a batch ends, before the step's metrics are logged and before
a validation that is due; a run that is killed at that moment loses both. Here the checkpoint is
written when the next batch starts, when nothing of the last step is outstanding.

Lightning also resumes differently for each moment at which a checkpoint may be written. The
counters of all checkpoints, those of other callbacks too, are therefore set as if the next batch
were about to start. They also hold the latest metrics, which ``EarlyStopping`` and
``ModelCheckpoint`` count again in an epoch that brings no new ones.
"""

import logging
import shutil
import signal
import threading
from pathlib import Path
from types import FrameType
from typing import Any

import pytorch_lightning as pl
import torch
from pytorch_lightning.callbacks import Callback
from pytorch_lightning.callbacks.early_stopping import EarlyStoppingReason

from robustparse.errors import InputError, Stopped, check_least
from robustparse.files.writing import writing
from robustparse.lightning import after_signal_handlers, restore_callback_metrics, set_next_batch

FILE = "last.ckpt"
OLD = f"{FILE}.old"
METRICS = "callback_metrics"  # the key of a checkpoint

log = logging.getLogger(__name__)


class LastCheckpoint(Callback):
    """Writes ``last.ckpt`` into ``trainer.default_root_dir``.

    It must come before callbacks that change something when a batch starts. A run that starts anew,
    or from another checkpoint, keeps the file of an earlier run as ``last.ckpt.old``: it cannot be
    resumed from by mistake. A run from another checkpoint writes its own file at once, so that
    ``last.ckpt`` never belongs to a third run. A run from ``last.ckpt.old`` replaces the file.

    A run that ``EarlyStopping`` has ended ends at once if it is resumed.

    Asked to stop by a signal (SIGTERM, SIGUSR1), a run writes the file before the next optimizer
    step and ends with the exit status ``128 + signal``.

    Args:
        every_n_train_steps: optimizer steps between two checkpoints; one is also written when an
            epoch has ended, and at the end.
    """

    def __init__(self, every_n_train_steps: int = 200) -> None:
        super().__init__()
        check_least("last_checkpoint", every_n_train_steps=every_n_train_steps)
        self.every_n_train_steps = every_n_train_steps
        self._saved_step = self._first_step = 0
        self._metrics: dict[str, torch.Tensor] = {}
        self._request = StopRequest()

    def on_load_checkpoint(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        """Remember the step and the metrics that this process resumes from."""
        self._first_step = checkpoint["global_step"]
        self._metrics = checkpoint.get(METRICS, {})

    def on_fit_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Listen to signals; check that all processes start from the same step."""
        self._request = StopRequest()
        self._request.install_with(trainer)
        first_step = torch.tensor(self._first_step, device=trainer.strategy.root_device)
        steps = sorted(set(trainer.strategy.all_gather(first_step).flatten().tolist()))
        if len(steps) > 1:
            raise InputError(
                f"the processes start from different steps ({', '.join(map(str, steps))})",
                path=trainer.default_root_dir,
                key="trainer.default_root_dir",
                expected="the same folder for every machine, on a shared file system",
            )

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Move another run's file away; end at once if the resumed run had ended."""
        restore_callback_metrics(trainer, self._metrics)
        self._saved_step = trainer.global_step
        if trainer.ckpt_path is None:
            _keep_old(trainer)
        elif not _resumes_from(trainer, FILE) and not _is_trial(trainer):
            if not _resumes_from(trainer, OLD):
                _keep_old(trainer, copied=True)
            trainer.save_checkpoint(_path_of(trainer, FILE))
        # Lightning restores the reason but ignores it.
        reasons = [callback.stopping_reason for callback in trainer.early_stopping_callbacks]
        if any(reason is not EarlyStoppingReason.NOT_STOPPED for reason in reasons):
            trainer.should_stop = True
            if trainer.is_global_zero:
                log.warning(
                    "EarlyStopping has ended the run of %s; to continue training, remove "
                    "EarlyStopping from the configuration",
                    trainer.ckpt_path,
                )

    def on_train_batch_start(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, batch: Any, batch_idx: int
    ) -> None:
        """Save the result of the batch before, unless its gradients await more batches.

        Raises:
            Stopped: a process was asked to stop; the checkpoint is written.
        """
        stop = 0 if batch_idx % trainer.accumulate_grad_batches else self._request.agreed(trainer)
        if stop or batch_idx == 0 or trainer.global_step % self.every_n_train_steps == 0:
            self._save(trainer)
        if stop:
            if trainer.is_global_zero:
                name, steps = signal.Signals(stop).name, trainer.global_step
                message = "stopped by %s after %d steps; resume with --ckpt_path last"
                log.warning(message, name, steps)
            raise Stopped(stop)

    def on_train_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Save the final state, from which a longer run can resume."""
        self._save(trainer)

    def _save(self, trainer: pl.Trainer) -> None:
        if trainer.global_step != self._saved_step and not _is_trial(trainer):
            trainer.save_checkpoint(_path_of(trainer, FILE))
            self._saved_step = trainer.global_step

    def on_save_checkpoint(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        """Set the counters of any checkpoint to the next batch, and add the latest metrics."""
        checkpoint[METRICS] = {
            name: value.detach().cpu() for name, value in trainer.callback_metrics.items()
        }
        set_next_batch(trainer, checkpoint)


class NoCheckpoint(Callback):
    """Replaces ``LastCheckpoint`` in a run without checkpoints.

    An earlier run's ``last.ckpt`` must not be resumed from by mistake, because the metrics in the
    folder belong to the new run.
    """

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Rename it to ``last.ckpt.old``; remove it if the run resumes from that file."""
        if trainer.is_global_zero and _resumes_from(trainer, OLD):
            _path_of(trainer, FILE).unlink(missing_ok=True)
        elif not _resumes_from(trainer, FILE):
            _keep_old(trainer)


def _is_trial(trainer: pl.Trainer) -> bool:
    return bool(trainer.fast_dev_run)  # type: ignore[attr-defined]


def _path_of(trainer: pl.Trainer, name: str) -> Path:
    return Path(trainer.default_root_dir) / name


def _resumes_from(trainer: pl.Trainer, name: str) -> bool:
    """Tell whether a run resumes from a file of its folder."""
    start = trainer.ckpt_path
    return start is not None and Path(start).resolve() == _path_of(trainer, name).resolve()


def _keep_old(trainer: pl.Trainer, copied: bool = False) -> None:
    """Rename or copy ``last.ckpt``, if it exists, to ``last.ckpt.old`` in the first process."""
    path, old = _path_of(trainer, FILE), _path_of(trainer, OLD)
    if not trainer.is_global_zero or not path.exists():
        return
    if copied:
        aside = old.with_name(f".{OLD}.part")
        try:
            with writing(old, f"{FILE} is kept", "make room or move it away"):
                shutil.copyfile(path, aside)
                aside.rename(old)
        finally:
            aside.unlink(missing_ok=True)
    else:
        path.rename(old)


SIGNALS = (signal.SIGTERM, signal.SIGUSR1)


class StopRequest:
    """Records the signals that stop a run: SIGTERM, or a cluster's SIGUSR1 before the time limit.

    Lightning's handlers communicate or save inside the signal handler: in the middle of a step, or
    while another process waits in another collective operation. Here a handler only records the
    signal. When a batch starts, the processes compare what they received, so that a signal to one
    of them stops all at the same step, after the same checkpoint.
    """

    def __init__(self) -> None:
        self._received = 0

    def install_with(self, trainer: pl.Trainer) -> None:
        """Handle the signals of the next run; Lightning restores the handlers at its end."""
        after_signal_handlers(trainer, self._install)

    def _install(self) -> None:
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                signal.signal(number, self._record)

    def agreed(self, trainer: pl.Trainer) -> int:
        """Return the number of a signal that any process received, or 0; all processes call it."""
        if trainer.world_size == 1:
            return self._received
        highest = torch.tensor(self._received, device=trainer.strategy.root_device)
        torch.distributed.all_reduce(highest, torch.distributed.ReduceOp.MAX)
        return int(highest)

    def _record(self, number: int, _: FrameType | None) -> None:
        self._received = number
