"""Every use of what Lightning does not document: private attributes and the layout of checkpoints.

Each docstring says what was read in the source of pytorch-lightning 2.6.6. `TESTED` is the newest
series that the tests ran with; ``pyproject.toml`` allows no newer one.
"""

from collections.abc import Callable, Mapping
from typing import Any

import pytorch_lightning as pl
from pytorch_lightning.callbacks import GradientAccumulationScheduler
from torch import Tensor

TESTED = "2.6"


def after_signal_handlers(trainer: pl.Trainer, install: Callable[[], None]) -> None:
    """Call a function when Lightning has installed its signal handlers for the next run, once.

    In 2.6.6 ``Trainer._run`` registers them before it reads the training data, which may take long,
    and calls no hook in between; at the end it restores all handlers that there were before.

    Args:
        trainer: about to run.
        install: installs other handlers in their place.
    """
    connector = trainer._signal_connector
    register = connector.register_signal_handlers

    def both() -> None:
        connector.register_signal_handlers = register  # type: ignore[method-assign]
        register()
        install()

    connector.register_signal_handlers = both  # type: ignore[method-assign]


def resume_only_as_told(trainer: pl.Trainer) -> None:
    """Let a run resume from ``ckpt_path`` or from nothing.

    Where no path is given, 2.6.6 looks for one by itself: ``hpc_ckpt_N.ckpt`` in a job of SLURM, or
    what ``OnExceptionCheckpoint`` has left. Nobody has checked these files, and a run that starts
    anew is another run.
    """
    connector = trainer._checkpoint_connector

    def as_told(_state_fn: Any, ckpt_path: Any, **_: bool) -> Any:
        return ckpt_path

    connector._parse_ckpt_path = as_told  # type: ignore[method-assign, assignment]


def restore_callback_metrics(trainer: pl.Trainer, metrics: Mapping[str, Tensor]) -> None:
    """Give callbacks the latest metrics of the run that is resumed.

    In 2.6.6 ``trainer.callback_metrics`` is the dictionary that the trainer itself fills, emptied
    after a checkpoint was loaded and before training starts.
    """
    trainer.callback_metrics.update(metrics)


def loader_states(checkpoint: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the states of the training loaders in a checkpoint; none where it holds none.

    In 2.6.6 they are under ``loops/fit_loop/state_dict/combined_loader``, one for each loader that
    has a ``state_dict``.
    """
    fit_loop = checkpoint.get("loops", {}).get("fit_loop", {})
    states: list[dict[str, Any]] = fit_loop.get("state_dict", {}).get("combined_loader", [])
    return states


def set_next_batch(trainer: pl.Trainer, checkpoint: dict[str, Any]) -> None:
    """Make a checkpoint's counters say that the next batch is about to start.

    In 2.6.6 a checkpoint's counters differ with the hook in which it is written, and so does the
    way in which a run resumes from it. After this they are the same for all hooks. Within an
    optimizer step the next batch is the step's first one, since no checkpoint holds gradients.

    Args:
        trainer: that writes it.
        checkpoint: changed in place.
    """
    fit_loop = checkpoint["loops"]["fit_loop"]
    batches = int(trainer.num_training_batches)
    epoch = fit_loop["epoch_progress"]["current"]["started"] - 1
    progress = fit_loop["epoch_loop.batch_progress"]
    position = progress["current"]["processed"]
    if position >= batches:
        epoch, position = epoch + 1, 0
    unfinished = position % trainer.accumulate_grad_batches
    progress["total"]["processed"] -= unfinished
    position -= unfinished
    last = position + 1 == batches
    steps_next = last or (position + 1) % trainer.accumulate_grad_batches == 0
    _set_counters(fit_loop, epoch, position)
    # The step at which metrics are logged: Lightning adds 1 when it resumes before a batch that an
    # optimizer step follows.
    logged_step = trainer.global_step - int(steps_next)
    fit_loop["epoch_loop.state_dict"]["_batches_that_stepped"] = logged_step
    # A loader's position follows from these counters, see `Model.on_save_checkpoint`.
    for loader in loader_states(checkpoint):
        loader["epoch"] = epoch


def _set_counters(fit_loop: dict[str, Any], epoch: int, position: int) -> None:
    """Say "batch ``position`` of ``epoch`` is about to start", both counted from 0.

    Lightning tells the moment of a checkpoint by which of ``ready``, ``started``, ``processed`` and
    ``completed`` are equal.
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
    # Lightning continues to count from this one, and would take three equal ones for the end of a
    # batch.
    done = batches["total"]["processed"]
    batches["total"].update(ready=done, started=done - 1)
    for counter in epochs.values():
        counter["started"] = epoch + 1


def batches_done(checkpoint: Mapping[str, Any]) -> int:
    """Return how many batches of its epoch a checkpoint was written after.

    In 2.6.6 the progress of the epoch's batches is under ``loops/fit_loop``.
    """
    progress = checkpoint["loops"]["fit_loop"]["epoch_loop.batch_progress"]
    return int(progress["current"]["processed"])


def start_accumulation(trainer: pl.Trainer) -> None:
    """Let an accumulation that changes by epoch start where a run resumes amid an epoch.

    2.6.6 then calls no hook of the epoch's start, which sets it.
    """
    for callback in trainer.callbacks:  # type: ignore[attr-defined]
        if isinstance(callback, GradientAccumulationScheduler):
            callback.on_train_epoch_start(trainer)
