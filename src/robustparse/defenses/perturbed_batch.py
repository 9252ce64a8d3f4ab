"""A training batch with deltas on its embeddings, and the passes of a gradient adversary over it.

An adversary yields its training passes one after another. The first pass is the trainer's own step,
which requests its delta while it runs; one backward pass gives the gradients of parameters and
delta. The other passes go through the trainer's strategy, so that precision, accumulation and
gradient averaging apply to them, too; they add to the same gradients before these are clipped.
Passes that only search for a delta (``gradient``) run the bare model and do not touch the gradients
of parameters, so that no process waits for another in them.

After the first backward pass, the gradients are already added to those of earlier accumulated
batches and averaged over processes, so that they can no longer be scaled. The first pass is
therefore weighted before its backward pass, through a hook on its loss.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytorch_lightning as pl
import torch
from torch import Tensor

from robustparse.data.batch import Batch
from robustparse.models.base import Model


class TrainingPass(NamedTuple):
    """A pass that adds the gradients of ``weight`` times the loss at a delta.

    Attributes:
        delta: ``(batch, units, dim)``, added to the embeddings.
        weight: the weight of the pass's loss in the total.
        ascend: whether the gradient at the delta is needed for the next ascent step.
    """

    delta: Tensor
    weight: float = 1.0
    ascend: bool = True


class PerturbedBatch:
    """A batch that a gradient adversary trains on.

    Args:
        trainer: the running trainer.
        model: the trained model.
        batch: the batch; until the first pass, other callbacks may append to it in place.
        index: index of the batch in the epoch.
        epsilon: maximum norm of a delta in this optimizer step.
        step_size: norm of an ascent step in this optimizer step.
        same_dropout: use the first pass's dropout masks in every pass.
    """

    def __init__(
        self,
        trainer: pl.Trainer,
        model: Model,
        batch: Batch,
        index: int,
        epsilon: float,
        step_size: float,
        same_dropout: bool,
    ) -> None:
        self.trainer, self.model, self.batch, self.index = trainer, model, batch, index
        self.epsilon, self.step_size, self.same_dropout = epsilon, step_size, same_dropout
        self._pass: TrainingPass | None = None
        self._passes: Iterator[TrainingPass] = iter(())

    # Called by the methods

    def zeros(self) -> Tensor:
        """Return the delta of a clean pass, ``(batch, units, dim)``."""
        return self.model.zero_delta(self.batch)

    def mask(self) -> Tensor:
        """Return ``(batch, units, 1)``: 1 where a delta is allowed."""
        return self.model.delta_mask(self.batch)

    def gradient(self, delta: Tensor) -> Tensor:
        """Return the gradient of the summed losses at a delta, ``(batch, units, dim)``.

        Because of the sum, a sentence's gradient does not depend on the rest of the batch. Under
        ``16-mixed`` it is multiplied by the scaler's factor, since half precision would otherwise
        round it to zero.
        """
        delta = delta.detach().requires_grad_()
        self._seed_dropout()
        with self.trainer.precision_plugin.forward_context():
            loss = self.model.loss(self.model(self.batch, delta), self.batch).sum()
        if (scaler := getattr(self.trainer.precision_plugin, "scaler", None)) is not None:
            loss = scaler.scale(loss)
        (gradient,) = torch.autograd.grad(loss, delta)
        return gradient * self.mask()

    def last_gradient(self) -> Tensor:
        """Return the gradient of the latest training pass at its delta, scaled like its loss."""
        if self._pass is None or self._pass.delta.grad is None:
            raise RuntimeError("the backward pass left no gradient on the delta")
        return self._pass.delta.grad * self.mask()

    # Called by the callback's hooks

    def begin(self, passes: Callable[["PerturbedBatch"], Iterator[TrainingPass]]) -> None:
        """Make the trainer's own step run the first pass of a method."""
        self._passes = passes(self)
        self.model.delta_source = self._delta_of

    @property
    def weight(self) -> float:
        """The weight of the current or latest pass."""
        return 1.0 if self._pass is None else self._pass.weight

    def finish(self) -> Tensor | None:
        """Run the passes after the first; return the loss of the last one, or None."""
        loss = None
        for next_pass in self._passes:
            self._pass = _ready(next_pass)
            loss = self._accumulate_gradients(next_pass.weight)
        return loss

    def _delta_of(self, _: Batch) -> Tensor:
        """Return the delta of the current training pass."""
        if self._pass is None:
            first = next(self._passes, None)
            if first is None:  # a StopIteration would silently end the epoch
                raise RuntimeError("the adversary yields no training pass")
            self._pass = _ready(first)
        self._seed_dropout()
        return self._pass.delta

    def _accumulate_gradients(self, weight: float) -> Tensor:
        loss: Any = self.trainer.strategy.training_step(self.batch, self.index)
        weight = weight / self.trainer.accumulate_grad_batches
        self.trainer.strategy.backward(loss * weight, None)
        detached: Tensor = loss.detach()
        return detached

    def _seed_dropout(self) -> None:
        """Return to the random state at the start of the step; the model seeds every batch."""
        if self.same_dropout:
            torch.manual_seed(torch.initial_seed())


def _ready(training_pass: TrainingPass) -> TrainingPass:
    """Make the delta of a pass collect a gradient if the ascent needs it."""
    delta = training_pass.delta.detach().requires_grad_(training_pass.ascend)
    return training_pass._replace(delta=delta)
