"""Checks that the model, data and callbacks of a run fit a defense, made before training starts."""

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
import pytorch_lightning as pl
from pytorch_lightning.strategies import DeepSpeedStrategy, FSDPStrategy, ModelParallelStrategy

from robustparse.attacks.attack import Attack
from robustparse.data.datamodule import SAMPLE, DataModule, warn
from robustparse.errors import InputError
from robustparse.metrics import PunctuationPolicy
from robustparse.models.base import Model
from robustparse.types import Example

C = TypeVar("C", bound=pl.Callback)


def model_of(module: pl.LightningModule, owner: str, remedy: str | None = None) -> Model:
    """Return the trained module; reject modules that are not models of robustparse."""
    if not isinstance(module, Model):
        problem = f"must be a robustparse model, got {type(module).__name__}"
        raise InputError(problem, key=f"{owner}: model", remedy=remedy)
    return module


def check_undivided(trainer: pl.Trainer) -> None:
    """Reject strategies that divide the weights of a model between processes.

    Raises:
        InputError: names the strategy.
    """
    strategy = trainer.strategy
    if isinstance(strategy, DeepSpeedStrategy | FSDPStrategy | ModelParallelStrategy):
        name = type(strategy).__name__
        raise InputError(
            f"{name} divides the weights between processes, while adversaries run passes of their "
            "own, also backward, inside a training step",
            key="trainer.strategy",
            expected="a strategy that keeps all weights in each process",
            remedy="use ddp",
        )


def check_decisions(model: Model, owner: str) -> None:
    """Reject a model that does not tell the distributions of its decisions.

    Raises:
        InputError: names the model.
    """
    if type(model).decisions is Model.decisions:
        raise InputError(
            f"{type(model).__name__} does not tell the distributions of its decisions, so that no "
            "agreement can be measured",
            key=f"{owner}: model",
            expected="a model that defines the method decisions",
            remedy="define it, or choose a defense without agreement",
        )


def data_of(trainer: pl.Trainer, owner: str) -> DataModule:
    """Return the trainer's data module; reject data modules of other libraries."""
    data = getattr(trainer, "datamodule", None)
    if not isinstance(data, DataModule):
        name = type(data).__name__
        raise InputError(f"must be a {DataModule.__name__}, got {name}", key=f"{owner}: data")
    return data


def development_sample(
    trainer: pl.Trainer, model: Model, count: int, seed: int, owner: str, policy: PunctuationPolicy
) -> tuple[list[Example], str]:
    """Draw sentences of the development data, and check that the model can read them.

    Args:
        trainer: the running trainer.
        model: the trained model.
        count: the number of sentences.
        seed: the seed of the draw.
        owner: who needs them, for messages.
        policy: which punctuation is left out of the scores.

    Returns:
        The sentences in the order of the data, and the name of their file.

    Raises:
        InputError: the data are of another library, or a sentence cannot be read. Without a
            validation loop, nothing else checks these sentences.
    """
    data = data_of(trainer, owner)
    examples, path = data.examples("dev"), data.path("dev") or SAMPLE
    order = np.random.Generator(np.random.Philox(seed)).permutation(len(examples))
    sample = [examples[index] for index in sorted(order[:count])]
    model.check_readable(sample, path, policy)
    return sample, str(path)


def check_only_one(trainer: pl.Trainer, kind: type[pl.Callback], owner: str, remedy: str) -> None:
    """Check that the trainer has one callback of a class, since two would log the same names.

    Raises:
        InputError: it has several.
    """
    if (count := len(callbacks_of(trainer, kind))) > 1:
        raise InputError(
            f"has {count} {owner}s, whose values have the same names",
            key="trainer.callbacks",
            remedy=f"keep one of them{remedy}",
        )


def callbacks_of(trainer: pl.Trainer, kind: type[C]) -> list[C]:
    """Return the trainer's callbacks of one class, in order."""
    callbacks: list[pl.Callback] = trainer.callbacks  # type: ignore[attr-defined]
    return [callback for callback in callbacks if isinstance(callback, kind)]


def warn_unmatched(examples: Sequence[Example], attack: Attack) -> None:
    """Log an attack's warnings about the sentences."""
    for warning in attack.warnings(examples):
        warn(warning)
