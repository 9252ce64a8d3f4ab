"""What gradient adversaries have in common: the hooks, the schedule, the ascent step.

An adversary trains on deltas of the embeddings that gradient ascent has found. The trainer's own
step is the first pass over a batch: it runs with a delta that requires a gradient, so its one
backward pass gives the gradients of parameters and delta together. What comes after it
(``later``) accumulates into the same gradients before they are clipped.

By then the first pass's gradients lie on top of those of earlier batches that one optimiser step
accumulates and, over several processes, are averages already; nothing can be scaled afterwards.
A first pass that shall count less is scaled before its backward pass, through a hook on its loss.
"""

import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch
from numpy.typing import NDArray
from torch import Tensor

from robustparse.defenses.norms import Norm, Per, ball
from robustparse.defenses.passes import Passes
from robustparse.defenses.requirements import parser_of
from robustparse.errors import InputError, check_least, check_seed
from robustparse.models.base import Model

WHO = "a gradient adversary"


class EmbeddingAdversary(pl.Callback, ABC):
    """Trains on deltas of the embeddings inside a ball, found by gradient ascent.

    The schedule counts optimiser steps, so it holds for all batches that one step accumulates, and
    a resumed run goes on with it. Steps without the adversary are ordinary clean ones. A random
    start follows from (seed, epoch, sentence id).

    Args:
        epsilon: norm of a delta, in embedding units.
        steps: of gradient ascent.
        step_size: norm of one of them; none: 2.5 epsilon / steps, which can reach the rim from any
            start (Madry et al. 2018, section 5).
        random_start: start anywhere in the ball, or at zero.
        same_dropout: draw the same dropout masks in all passes over a batch, so that the ascent
            works on the network that is trained (Zhu et al. 2020, section 3.3), or fresh ones in
            each, from the step's own seed.
        norm: ``l2``, or ``linf`` (the largest absolute value).
        per: whose L2 norm: that of a ``sentence``'s whole delta (Miyato et al. 2017) or that of
            each ``token``, that is word or word piece.
        seed: of random starts.
        start_step: the first optimiser step with the adversary, from 0.
        every: only every so many steps from there.
        epsilon_warmup_steps: epsilon and step size rise linearly over so many steps from there.

    Raises:
        InputError: a setting is out of range.
    """

    def __init__(
        self,
        *,
        epsilon: float,
        steps: int,
        step_size: float | None,
        random_start: bool,
        same_dropout: bool,
        norm: Norm = "l2",
        per: Per = "sentence",
        seed: int = 0,
        start_step: int = 0,
        every: int = 1,
        epsilon_warmup_steps: int = 0,
    ) -> None:
        check_least(WHO, steps=steps, every=every)
        later = {"start_step": start_step, "epsilon_warmup_steps": epsilon_warmup_steps}
        check_least(WHO, 0, **later)
        check_seed("seed", seed)
        positive(epsilon=epsilon)
        self.epsilon, self.steps = epsilon, steps
        self.step_size = 2.5 * epsilon / steps if step_size is None else step_size
        positive(step_size=self.step_size)
        self.random_start, self.same_dropout, self.seed = random_start, same_dropout, seed
        self.ball = ball(norm, per)
        self.start_step, self.every = start_step, every
        self.epsilon_warmup_steps = epsilon_warmup_steps
        self._passes: Passes | None = None

    # What a method is made of

    @property
    @abstractmethod
    def clean_weight(self) -> float:
        """What the loss of the first pass is multiplied by in the total."""

    @abstractmethod
    def first(self, passes: Passes) -> Tensor:
        """Return the delta of the first pass, ``(batch, units, dim)``."""

    @abstractmethod
    def later(self, passes: Passes) -> None:
        """Return what is done after the backward pass of the first."""

    def draw(self, rng: np.random.Generator, units: int, dim: int) -> NDArray[np.float64]:
        """Return the random start of a sentence for epsilon 1, ``(units, dim)``."""
        return self.ball.draw(rng, units, dim)

    def start(self, passes: Passes) -> Tensor:
        """Where the ascent starts, ``(batch, units, dim)``."""
        zeros = passes.zeros()
        if not self.random_start:
            return zeros
        drawn = np.zeros(zeros.shape)
        units = passes.mask()[..., 0].bool().cpu().numpy()
        epoch = passes.trainer.current_epoch
        for row, id_ in enumerate(passes.batch.ids.tolist()):
            key = np.random.SeedSequence([self.seed, epoch, id_])
            rng = np.random.Generator(np.random.Philox(key))
            drawn[row, units[row]] = self.draw(rng, int(units[row].sum()), zeros.shape[2])
        return torch.from_numpy(drawn).to(zeros) * passes.epsilon

    def step(self, passes: Passes, delta: Tensor, gradient: Tensor) -> Tensor:
        """One step up the gradient and back into the ball, all ``(batch, units, dim)``."""
        moved = delta.detach() + passes.step_size * self.ball.normalize(gradient)
        return self.ball.project(moved, passes.epsilon)

    def strength(self, step: int) -> float:
        """Return what epsilon is multiplied by in an optimiser step; 0 leaves the adversary out."""
        since = step - self.start_step
        if since < 0 or since % self.every:
            return 0.0
        return min(1.0, (since + 1) / max(1, self.epsilon_warmup_steps))

    # Hooks

    def on_fit_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Refuse what cannot work, before anything takes time.

        Raises:
            InputError: the module has no delta interface, or another adversary wants it too.
        """
        parser_of(pl_module, WHO)
        found = [c for c in trainer.callbacks if isinstance(c, EmbeddingAdversary)]  # type: ignore[attr-defined]
        if len(found) > 1:
            names = " and ".join(type(callback).__name__ for callback in found)
            raise InputError(
                f"trainer.callbacks has {len(found)} gradient adversaries ({names}), but a pass "
                "over a batch has one delta; keep one of them"
            )

    def on_train_batch_start(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, batch: Any, batch_idx: int
    ) -> None:
        """Ask the parser to add our delta to the coming batch."""
        strength = self.strength(trainer.global_step)
        if strength == 0.0:
            return
        parser = parser_of(pl_module, WHO)
        sizes = (strength * self.epsilon, strength * self.step_size)
        self._passes = Passes(trainer, parser, batch, batch_idx, *sizes, self.same_dropout)
        parser.delta_source = self._passes.source(self.first)

    def on_before_backward(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, loss: Tensor
    ) -> None:
        """Scale the first pass before its backward pass."""
        if self._passes is not None and not self._passes.further and self.clean_weight != 1.0:
            loss.register_hook(  # type: ignore[no-untyped-call]
                lambda gradient: gradient * self.clean_weight
            )

    def on_after_backward(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """After the first backward pass: the rest of the method."""
        if self._passes is not None and not self._passes.further:
            self.later(self._passes)

    def on_train_batch_end(
        self,
        trainer: pl.Trainer,
        pl_module: pl.LightningModule,
        outputs: Any,
        batch: Any,
        batch_idx: int,
    ) -> None:
        """Log the loss of the last pass, leave the parser as it was.

        Where there is but the trainer's own pass, its loss is logged, which Lightning has divided
        by the batches of an optimiser step: else the figure of an earlier batch would be again.
        """
        further = None if self._passes is None else self._passes.loss
        own = outputs["loss"] * trainer.accumulate_grad_batches
        pl_module.log("train/adversarial_loss", own if further is None else further)
        self._release(pl_module)

    def on_exception(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, exception: BaseException
    ) -> None:
        """Leave the parser as it was."""
        self._release(pl_module)

    def _release(self, module: pl.LightningModule) -> None:
        if isinstance(module, Model):
            module.delta_source = None
        self._passes = None


def positive(**settings: float) -> None:
    """Check settings; raises InputError unless each is a finite number over 0."""
    for name, value in settings.items():
        if not value > 0:
            raise InputError(f"{name} must be > 0, got {value}")
        if math.isinf(value):
            raise InputError(f"{name} must be finite, got {value}")
