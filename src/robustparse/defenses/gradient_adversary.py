"""The base class of all gradient adversaries: schedule, cost, random streams and checks."""

import math
from abc import ABC, abstractmethod

import numpy as np
import pytorch_lightning as pl

from robustparse.defenses.requirements import callbacks_of, check_undivided, model_of
from robustparse.errors import InputError, check_least, check_seed

OWNER = "gradient adversary"


class GradientAdversary(pl.Callback, ABC):
    """A defense that searches for the worst embeddings of a batch by their gradient.

    The schedule counts optimizer steps. It applies to all batches that one step accumulates, and
    resumed runs continue it. Steps without the adversary are ordinary clean steps.

    Args:
        steps: steps of the search.
        seed: the seed of random starts.
        start_step: the first optimizer step with the adversary, from 0.
        every: from then on, the adversary joins every Nth step.

    Raises:
        InputError: a setting is out of range.
    """

    def __init__(self, *, steps: int, seed: int, start_step: int, every: int) -> None:
        check_least(OWNER, steps=steps, every=every)
        check_least(OWNER, 0, start_step=start_step)
        check_seed(f"{OWNER}: seed", seed)
        self.steps, self.seed, self.start_step, self.every = steps, seed, start_step, every

    @property
    @abstractmethod
    def passes_per_step(self) -> int:
        """Forward and backward passes of a step with the adversary; a clean step has one."""

    @property
    def cost(self) -> float:
        """The mean cost of a training step, in clean steps."""
        return 1 + (self.passes_per_step - 1) / self.every

    def joins(self, step: int) -> bool:
        """Tell whether the adversary joins an optimizer step."""
        since = step - self.start_step
        return since >= 0 and since % self.every == 0

    def on_fit_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Check the strategy and the model, and that there is no second adversary."""
        check_undivided(trainer)
        self.check_module(pl_module)
        adversaries = callbacks_of(trainer, GradientAdversary)
        if len(adversaries) > 1:
            names = " and ".join(type(callback).__name__ for callback in adversaries)
            raise InputError(
                f"has {len(adversaries)} gradient adversaries ({names}), but a training step "
                "can use only one",
                key="trainer.callbacks",
                remedy="keep one of them",
            )

    def check_module(self, module: pl.LightningModule) -> None:
        """Check that the adversary can train a module: by default a model of robustparse.

        Raises:
            InputError: it cannot.
        """
        model_of(module, OWNER)


def sentence_stream(seed: int, epoch: int, *sentence: int) -> np.random.Generator:
    """Make the generator of a sentence's random start in an epoch."""
    key = np.random.SeedSequence([seed, epoch, *sentence])
    return np.random.Generator(np.random.Philox(key))


def check_positive(owner: str = OWNER, /, **settings: float | None) -> None:
    """Reject settings that are neither None nor finite numbers above 0."""
    for name, value in settings.items():
        if value is not None and not 0 < value < math.inf:
            raise InputError(f"must be > 0 and finite, got {value}", key=f"{owner}: {name}")


def check_not_negative(**settings: float) -> None:
    """Reject settings that are not finite numbers >= 0."""
    for name, value in settings.items():
        if not 0 <= value < math.inf:
            raise InputError(f"must be >= 0 and finite, got {value}", key=f"{OWNER}: {name}")
