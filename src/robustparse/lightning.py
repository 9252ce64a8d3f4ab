"""All uses of undocumented parts of Lightning: private attributes and the layout of checkpoints.

Each docstring describes the behaviour of pytorch-lightning 2.6.6. `TESTED` is the newest series
that the tests ran with; ``pyproject.toml`` allows no newer one.
"""

from collections.abc import Callable, Mapping
from typing import Any

import pytorch_lightning as pl
from pytorch_lightning.callbacks import GradientAccumulationScheduler, RichProgressBar
from pytorch_lightning.utilities.signature_utils import is_param_in_hook_signature
from torch import Tensor

TESTED = "2.6"


class TrainingBar(RichProgressBar):
    """A progress bar whose label is right for training without a limit of epochs.

    2.6.6 writes "Epoch 26/-2" where ``max_epochs`` is -1.
    """

    def _get_train_description(self, current_epoch: int) -> str:
        description = super()._get_train_description(current_epoch)
        return description.replace(f"{current_epoch}/-2", f"{current_epoch}   ")


def after_signal_handlers(trainer: pl.Trainer, install: Callable[[], None]) -> None:
    """Call a function once, when Lightning has installed its signal handlers for the next run.

    In 2.6.6 ``Trainer._run`` registers them before it reads the training data, which may take long,
    and calls no hook in between. At the end it restores the previous handlers.

    Args:
        trainer: the trainer before its run.
        install: replaces Lightning's handlers by others.
    """
    connector = trainer._signal_connector
    register = connector.register_signal_handlers

    def both() -> None:
        connector.register_signal_handlers = register  # type: ignore[method-assign]
        register()
        install()

    connector.register_signal_handlers = both  # type: ignore[method-assign]


def resume_only_as_told(trainer: pl.Trainer) -> None:
    """Make a run resume only from ``ckpt_path``.

    Without a path, 2.6.6 searches for a checkpoint: ``hpc_ckpt_N.ckpt`` in a SLURM job, or a file
    of ``OnExceptionCheckpoint``. These files have not been checked, and may belong to another run.
    """
    connector = trainer._checkpoint_connector

    def as_told(_state_fn: Any, ckpt_path: Any, **_: bool) -> Any:
        return ckpt_path

    connector._parse_ckpt_path = as_told  # type: ignore[method-assign, assignment]


def restore_callback_metrics(trainer: pl.Trainer, metrics: Mapping[str, Tensor]) -> None:
    """Restore the latest metrics of a resumed run for callbacks.

    In 2.6.6 ``trainer.callback_metrics`` is the trainer's own dictionary, which is cleared after a
    checkpoint was loaded and before training starts.
    """
    trainer.callback_metrics.update(metrics)


def loader_states(checkpoint: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the states of the training loaders in a checkpoint, or an empty list.

    In 2.6.6 they are under ``loops/fit_loop/state_dict/combined_loader``, one for each loader that
    has a ``state_dict``.
    """
    fit_loop = checkpoint.get("loops", {}).get("fit_loop", {})
    states: list[dict[str, Any]] = fit_loop.get("state_dict", {}).get("combined_loader", [])
    return states


def set_next_batch(trainer: pl.Trainer, checkpoint: dict[str, Any]) -> None:
    """Set a checkpoint's counters to the state in which the next batch is about to start.

    In 2.6.6 the counters, and thus how a run resumes, depend on the hook in which the checkpoint is
    written. After this call they do not. Within an accumulated optimizer step, the next batch is
    the first batch of the step, since checkpoints do not contain gradients.

    Args:
        trainer: the trainer that writes the checkpoint.
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
    # The step at which metrics are logged. Lightning adds 1 when it resumes before a batch that is
    # followed by an optimizer step.
    logged_step = trainer.global_step - int(steps_next)
    fit_loop["epoch_loop.state_dict"]["_batches_that_stepped"] = logged_step
    # A loader's position follows from these counters, see `Model.on_save_checkpoint`.
    for loader in loader_states(checkpoint):
        loader["epoch"] = epoch


def _set_counters(fit_loop: dict[str, Any], epoch: int, position: int) -> None:
    """Set counters for "batch ``position`` of ``epoch`` is about to start", both counted from 0.

    Lightning infers the moment of a checkpoint from which of ``ready``, ``started``, ``processed``
    and ``completed`` are equal.
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
    # Lightning continues to count from the total, and would interpret three equal counters as the
    # end of a batch.
    done = batches["total"]["processed"]
    batches["total"].update(ready=done, started=done - 1)
    for counter in epochs.values():
        counter["started"] = epoch + 1


def batches_done(checkpoint: Mapping[str, Any]) -> int:
    """Return the number of batches of the current epoch that were done before a checkpoint.

    In 2.6.6 the progress of the epoch's batches is under ``loops/fit_loop``.
    """
    progress = checkpoint["loops"]["fit_loop"]["epoch_loop.batch_progress"]
    return int(progress["current"]["processed"])


def start_accumulation(trainer: pl.Trainer) -> None:
    """Set gradient accumulation for the current epoch when a run resumes within an epoch.

    ``GradientAccumulationScheduler`` sets it in a hook that 2.6.6 does not call then.
    """
    for callback in trainer.callbacks:  # type: ignore[attr-defined]
        if isinstance(callback, GradientAccumulationScheduler):
            callback.on_train_epoch_start(trainer)


def takes_index(module: pl.LightningModule) -> bool:
    """Tell whether ``training_step`` of a module takes the index of the batch.

    2.6.6 passes it if the method has an argument ``batch_idx`` or at least two arguments.
    """
    return is_param_in_hook_signature(module.training_step, "batch_idx", min_args=2)
