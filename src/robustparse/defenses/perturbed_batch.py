"""A training batch as a gradient adversary sees it: deltas of its embeddings, passes over it.

An adversary yields its training passes one after another. The first is the trainer's own step,
which asks for its delta while it runs; its one backward pass gives the gradients of parameters and
delta together. The others go through the trainer's strategy, so that precision, accumulation and
gradient averaging hold for them too, and add to the same gradients before these are clipped.
Passes that only look for a delta (``gradient``) run the bare model and reach no parameter's
gradient, hence no process waits in them for another.

When the first backward pass ends, its gradients lie on top of those of earlier batches that one
optimizer step accumulates and, over several processes, are averages already; nothing can be scaled
afterwards. So the first pass is weighted before its backward pass, through a hook on its loss.
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
        weight: of its loss in the total.
        ascend: the ascent continues from here, with the gradient towards the delta.
    """

    delta: Tensor
    weight: float = 1.0
    ascend: bool = True


class PerturbedBatch:
    """A batch that a gradient adversary trains on.

    Args:
        trainer: runs the batch.
        model: reads the batch.
        batch: other callbacks may append to it in place until the first pass.
        index: number of the batch in the epoch.
        epsilon: norm of a delta in this optimizer step.
        step_size: norm of one ascent step in this optimizer step.
        same_dropout: draw the first pass's dropout masks in every pass, or fresh ones.
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

    # What a method may ask for

    def zeros(self) -> Tensor:
        """Return the delta of a clean pass, ``(batch, units, dim)``."""
        return self.model.zero_delta(self.batch)

    def mask(self) -> Tensor:
        """Return ``(batch, units, 1)``: 1 where a delta is allowed."""
        return self.model.delta_mask(self.batch)

    def gradient(self, delta: Tensor) -> Tensor:
        """Return the gradient of the summed losses towards a delta, ``(batch, units, dim)``.

        Of a sum, so that a sentence's gradient does not depend on the rest of its batch; under
        ``16-mixed`` times the scaler's factor, without which half precision would round it to zero.
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
        """Return what the latest training pass left on its delta, scaled as its loss was."""
        if self._pass is None or self._pass.delta.grad is None:
            raise RuntimeError("the backward pass left no gradient on the delta")
        return self._pass.delta.grad * self.mask()

    # How the passes of a method are run

    def begin(self, passes: Callable[["PerturbedBatch"], Iterator[TrainingPass]]) -> None:
        """Have the trainer's own step run the first pass of a method."""
        self._passes = passes(self)
        self.model.delta_source = self._delta_of

    @property
    def weight(self) -> float:
        """Of the pass that runs, or ran last."""
        return 1.0 if self._pass is None else self._pass.weight

    def finish(self) -> Tensor | None:
        """Run the passes after the first; return the loss of the last one, if there are any."""
        loss = None
        for coming in self._passes:
            self._pass = _ready(coming)
            loss = self._accumulate_gradients(coming.weight)
        return loss

    def _delta_of(self, _: Batch) -> Tensor:
        """Return the delta of the training pass that the model begins."""
        if self._pass is None:
            first = next(self._passes, None)
            if first is None:  # a StopIteration would end the epoch without a word
                raise RuntimeError("the adversary yields no training pass")
            self._pass = _ready(first)
        self._seed_dropout()
        return self._pass.delta

    def _accumulate_gradients(self, weight: float) -> Tensor:
        loss: Any = self.trainer.strategy.training_step(self.batch, self.index)
        weight = weight / self.trainer.accumulate_grad_batches
        self.trainer.strategy.backward(loss * weight, None)
        found: Tensor = loss.detach()
        return found

    def _seed_dropout(self) -> None:
        """Back to the start of the step: the model seeds every batch on its own."""
        if self.same_dropout:
            torch.manual_seed(torch.initial_seed())


def _ready(coming: TrainingPass) -> TrainingPass:
    """Return a pass whose delta collects a gradient, if the ascent needs it."""
    return coming._replace(delta=coming.delta.detach().requires_grad_(coming.ascend))
