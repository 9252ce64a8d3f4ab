"""What a defense needs of the run it is part of, checked before anything takes time."""

import logging
from collections.abc import Sequence
from typing import TypeVar

import pytorch_lightning as pl
from pytorch_lightning.utilities import rank_zero_only

from robustparse.attacks.attack import Attack
from robustparse.data.datamodule import DataModule
from robustparse.errors import InputError
from robustparse.models.base import Model
from robustparse.types import Example

C = TypeVar("C", bound=pl.Callback)

warn = rank_zero_only(logging.getLogger(__name__).warning)  # not in every process


def model_of(module: pl.LightningModule, owner: str) -> Model:
    """Return the module that is trained; refuse any but our models, in the owner's name."""
    if not isinstance(module, Model):
        name = type(module).__name__
        raise InputError(f"must be a robustparse model, got {name}", key=f"{owner}: model")
    return module


def data_of(trainer: pl.Trainer, owner: str) -> DataModule:
    """Return the data module that is trained on; refuse any but ours."""
    data = getattr(trainer, "datamodule", None)
    if not isinstance(data, DataModule):
        name = type(data).__name__
        raise InputError(f"must be a {DataModule.__name__}, got {name}", key=f"{owner}: data")
    return data


def callbacks_of(trainer: pl.Trainer, kind: type[C]) -> list[C]:
    """Return the trainer's callbacks of one kind, in their order."""
    callbacks: list[pl.Callback] = trainer.callbacks  # type: ignore[attr-defined]
    return [one for one in callbacks if isinstance(one, kind)]


def warn_unmatched(examples: Sequence[Example], attack: Attack) -> None:
    """Warn of what an attack goes by and the sentences do not have."""
    for warning in attack.warnings(examples):
        warn(warning)
