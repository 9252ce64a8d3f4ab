"""Every touch of Lightning's private parts, read in pytorch-lightning 2.6.6.

`pyproject.toml` bounds the version from above; `tests/test_lightning.py` says how far.
"""

from typing import Any

import pytorch_lightning as pl
from pytorch_lightning.callbacks import GradientAccumulationScheduler


def loader_states(checkpoint: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the states of the training loaders that a checkpoint holds, to be read or changed."""
    fit_loop = checkpoint.get("loops", {}).get("fit_loop", {})
    states: list[dict[str, Any]] = fit_loop.get("state_dict", {}).get("combined_loader", [])
    return states


def batches_done(checkpoint: dict[str, Any]) -> int:
    """Return how many batches of its epoch a checkpoint was written after."""
    progress = checkpoint["loops"]["fit_loop"]["epoch_loop.batch_progress"]
    return int(progress["current"]["processed"])


def start_accumulation(trainer: pl.Trainer) -> None:
    """Let an accumulation that changes by epoch start where a run resumes amid an epoch.

    Lightning then calls no hook of the epoch's start, which sets it.
    """
    for callback in trainer.callbacks:  # type: ignore[attr-defined]
        if isinstance(callback, GradientAccumulationScheduler):
            callback.on_train_epoch_start(trainer)
