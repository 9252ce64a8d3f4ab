"""The passes of a gradient adversary over one training batch, each with a delta of its own.

The first pass is the trainer's own step, which asks for its delta (``source``). Passes that train
go through the trainer's strategy, so that precision, accumulation and gradient averaging hold for
them as for the first, and leave their parameter gradients on top of those already there. Passes
that only look for a delta run the bare parser and reach no parameter's gradient, hence no
process waits in them for another.
"""

from collections.abc import Callable

import pytorch_lightning as pl
import torch
from torch import Tensor

from robustparse.data.batch import Batch
from robustparse.models.base import Model


class Passes:
    """What an adversary may ask for while a batch is trained on.

    Args:
        trainer: runs the batch.
        parser: is trained.
        batch: the batch; others may still append to it in place until the first pass.
        index: of the batch in its epoch.
        epsilon: norm of a delta in this step.
        step_size: norm of one ascent step in this step.
        same_dropout: draw the first pass's dropout masks in every pass, or fresh ones.

    Attributes:
        delta: of the pass that runs, or ran last, ``(batch, units, dim)``; none before the first.
        loss: of the latest further training pass.
        further: a training pass after the first is running.
    """

    def __init__(
        self,
        trainer: pl.Trainer,
        parser: Model,
        batch: Batch,
        index: int,
        epsilon: float,
        step_size: float,
        same_dropout: bool,
    ) -> None:
        self.trainer, self.parser, self.batch, self.index = trainer, parser, batch, index
        self.epsilon, self.step_size, self.same_dropout = epsilon, step_size, same_dropout
        self.delta: Tensor | None = None
        self.loss: Tensor | None = None
        self.further = False

    def source(self, first: Callable[["Passes"], Tensor]) -> Callable[[Batch], Tensor]:
        """Return what the model calls for a pass's delta; ``first`` gives that of the first."""

        def delta_of(_: Batch) -> Tensor:
            if self.delta is None:
                self.delta = first(self)
            self._seed_dropout()
            return self.delta

        return delta_of

    def zeros(self) -> Tensor:
        """``(batch, units, dim)``."""
        return self.parser.zero_delta(self.batch)

    def mask(self) -> Tensor:
        """``(batch, units, 1)``: 1 where a delta may stand."""
        return self.parser.delta_mask(self.batch)

    def latest(self) -> tuple[Tensor, Tensor]:
        """Return the delta of the latest training pass and the gradient that it has left there.

        Both ``(batch, units, dim)``, zero off the units; the gradient is scaled like the loss.
        """
        if self.delta is None or self.delta.grad is None:
            raise RuntimeError("the backward pass left no gradient on the delta")
        return self.delta.detach(), self.delta.grad * self.mask()

    def gradient(self, delta: Tensor) -> Tensor:
        """Of the sum of the sentences' losses towards a delta: ``(batch, units, dim)``.

        Of a sum, so that a sentence's gradient does not depend on the rest of its batch; under
        ``16-mixed`` times the scaler's factor, below which half precision would round it to zero.
        """
        delta = delta.detach().requires_grad_()
        self._seed_dropout()
        with self.trainer.precision_plugin.forward_context():
            losses = self.parser.loss(self.parser(self.batch, delta), self.batch)
        loss = losses.sum()
        if (scaler := getattr(self.trainer.precision_plugin, "scaler", None)) is not None:
            loss = scaler.scale(loss)
        (gradient,) = torch.autograd.grad(loss, delta)
        return gradient * self.mask()

    def learn(self, delta: Tensor, share: float) -> None:
        """One more training pass: adds the gradients of ``share`` times the loss at a delta.

        A delta that requires a gradient gets one, as in the first pass.
        """
        self.delta, self.further = delta, True
        try:
            loss = self.trainer.strategy.training_step(self.batch, self.index)
            if not isinstance(loss, Tensor):
                raise TypeError(f"the training step gave no loss but {type(loss).__name__}")
            self.loss = loss.detach()
            share = share / self.trainer.accumulate_grad_batches
            self.trainer.strategy.backward(loss * share, None)
        finally:
            self.further = False

    def _seed_dropout(self) -> None:
        """Back to the start of the step: the parser seeds every batch on its own."""
        if self.same_dropout:
            torch.manual_seed(torch.initial_seed())
