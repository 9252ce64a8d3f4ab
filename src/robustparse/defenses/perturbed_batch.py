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

import numpy as np
import pytorch_lightning as pl
import torch
from torch import Tensor

from robustparse.defenses.gradient_adversary import sentence_stream


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
        model: the trained model, a robustparse model.
        batch: the batch; until the first pass, other callbacks may append to it in place.
        index: index of the batch in the epoch.
        epsilon: maximum norm of a delta in this optimizer step.
        step_size: norm of an ascent step in this optimizer step.
        same_dropout: use the first pass's dropout masks in every pass.
    """

    def __init__(
        self,
        trainer: pl.Trainer,
        model: pl.LightningModule,
        batch: Any,
        index: int,
        epsilon: float,
        step_size: float,
        same_dropout: bool,
    ) -> None:
        self.trainer, self.batch, self.index = trainer, batch, index
        self.model: Any = model
        self.epsilon, self.step_size, self.same_dropout = epsilon, step_size, same_dropout
        self._pass: TrainingPass | None = None
        self._passes: Iterator[TrainingPass] = iter(())

    # Called by the methods

    def zeros(self) -> Tensor:
        """Return the delta of a clean pass, ``(batch, units, dim)``."""
        zeros: Tensor = self.model.zero_delta(self.batch)
        return zeros

    def mask(self) -> Tensor:
        """Return ``(batch, units, 1)``: 1 where a delta is allowed."""
        mask: Tensor = self.model.delta_mask(self.batch)
        return mask

    def streams(self, seed: int) -> list[np.random.Generator]:
        """Return a generator for each sentence, which follows from (seed, epoch, sentence id)."""
        epoch = self.trainer.current_epoch
        return [sentence_stream(seed, epoch, id_) for id_ in self.batch.ids.tolist()]

    def gradient(self, delta: Tensor) -> Tensor:
        """Return the gradient of the summed losses at a delta, ``(batch, units, dim)``.

        Because of the sum, a sentence's gradient does not depend on the rest of the batch. Under
        ``16-mixed`` it is multiplied by the scaler's factor, since half precision would otherwise
        round it to zero.
        """
        delta = delta.detach().requires_grad_()
        with self.trainer.precision_plugin.forward_context():
            loss = self.loss_at(delta)
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
        self.model.delta_source = self.delta_of

    def first_weight(self) -> float:
        """Return the weight of the first pass, once its forward pass has ended."""
        return 1.0 if self._pass is None else self._pass.weight

    def finish(self) -> Tensor | None:
        """Run the passes after the first; return the loss of the last one, or None."""
        loss = None
        try:
            for next_pass in self._passes:
                self._pass = _ready(next_pass)
                loss = self._accumulate_gradients(next_pass.weight)
        finally:
            self.close()
        return loss

    def close(self) -> None:
        """Detach from the model."""
        self.model.delta_source = None

    # Passes, see `PerturbedStep` for other modules

    def loss_at(self, delta: Tensor) -> Tensor:
        """Return the sum of the sentences' losses at a delta, without a training pass, ``()``."""
        self.seed_dropout()
        loss: Tensor = self.model.loss(self.model(self.batch, delta), self.batch).sum()
        return loss

    def delta_of(self, _: Any) -> Tensor:
        """Return the delta of the current training pass."""
        if self._pass is None:
            first = next(self._passes, None)
            if first is None:  # a StopIteration would silently end the epoch
                raise RuntimeError("the adversary yields no training pass")
            self._pass = _ready(first)
        self.seed_dropout()
        return self._pass.delta

    def training_loss(self) -> Any:
        """Run the forward pass of a training pass after the first; return its loss."""
        return self.trainer.strategy.training_step(self.batch, self.index)

    def _accumulate_gradients(self, weight: float) -> Tensor:
        loss = self.training_loss()
        weight = weight / self.trainer.accumulate_grad_batches
        self.trainer.strategy.backward(loss * weight, None)
        detached: Tensor = loss.detach()
        return detached

    def seed_dropout(self) -> None:
        """Return to the random state at the start of the step; the model seeds every batch."""
        if self.same_dropout:
            torch.manual_seed(torch.initial_seed())


def _ready(training_pass: TrainingPass) -> TrainingPass:
    """Make the delta of a pass collect a gradient if the ascent needs it."""
    delta = training_pass.delta.detach().requires_grad_(training_pass.ascend)
    return training_pass._replace(delta=delta)
