"""Fast gradient method on word embeddings (Miyato et al. 2017, eq. 4 to 6; Goodfellow et al. 2015).

One ordinary backward pass gives the parameters' gradients and, through a zero offset that requires
one, the gradient g of the embeddings. Each sentence's offset is then r = epsilon * g / ||g||_2, and
the loss at the perturbed embeddings is added through one more forward and backward pass, which
accumulates into the same gradients before they are clipped:

    total = loss(x) + weight * loss(x + r)
"""

from typing import Any

import pytorch_lightning as pl
import torch
from torch import Tensor

from robustparse.data.batch import Batch
from robustparse.defenses.requirements import parser_of
from robustparse.errors import InputError
from robustparse.parsers.base import ParserModule

WHO = "a gradient adversary"


class GradientAdversary(pl.Callback):
    """Trains on worst-case offsets of the embeddings beside the clean batch.

    The adversarial pass goes through the trainer's strategy, so precision, accumulation and
    gradient averaging over processes hold for it as for the clean pass. Dropout is drawn afresh in
    it, from the step's own seed.

    Args:
        epsilon: L2 norm of a sentence's offset, over all its words, in embedding units.
        weight: of the adversarial loss (1).

    Raises:
        InputError: epsilon or weight is not positive.
    """

    def __init__(self, *, epsilon: float = 1.0, weight: float = 1.0) -> None:
        if epsilon <= 0:
            raise InputError(f"epsilon must be > 0, got {epsilon}")
        if weight <= 0:
            raise InputError(f"weight must be > 0, got {weight}")
        self.epsilon, self.weight = epsilon, weight
        self._offset: Tensor | None = None
        self._adversarial: Tensor | None = None
        self._batch: Batch | None = None
        self._index = 0

    def on_fit_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Refuse what has no offset interface, before anything takes time."""
        parser_of(pl_module, WHO)

    def on_train_batch_start(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, batch: Any, batch_idx: int
    ) -> None:
        """Ask the parser to add our offset to the coming batch."""
        parser = parser_of(pl_module, WHO)
        self._batch, self._index = batch, batch_idx

        def source(batch: Batch) -> Tensor:
            """A zero offset in the clean pass, whose gradient is wanted; then the adversarial."""
            if self._adversarial is not None:
                return self._adversarial
            self._offset = parser.zero_offset(batch).requires_grad_()
            return self._offset

        parser.offset_source = source

    def on_after_backward(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """After the clean backward pass: form the offset, add the adversarial loss's gradients."""
        if self._adversarial is not None:  # called again, by our own backward pass
            return
        if self._offset is None or self._offset.grad is None or self._batch is None:
            raise RuntimeError("the backward pass left no gradient on the offset")
        parser = parser_of(pl_module, WHO)
        mask = parser.offset_mask(self._batch)
        self._adversarial = scale_to_norm(self._offset.grad * mask, self.epsilon)
        try:
            loss = trainer.strategy.training_step(self._batch, self._index)
            if not isinstance(loss, Tensor):
                raise TypeError(f"the training step gave no loss but {type(loss).__name__}")
            share = self.weight / trainer.accumulate_grad_batches
            trainer.strategy.backward(loss * share, None)
        finally:
            self._adversarial, self._offset = None, None

    def on_train_batch_end(
        self,
        trainer: pl.Trainer,
        pl_module: pl.LightningModule,
        outputs: Any,
        batch: Any,
        batch_idx: int,
    ) -> None:
        """Leave the parser as it was."""
        self._release(pl_module)

    def on_exception(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, exception: BaseException
    ) -> None:
        """Leave the parser as it was."""
        self._release(pl_module)

    def _release(self, module: pl.LightningModule) -> None:
        if isinstance(module, ParserModule):
            module.offset_source = None
        self._batch, self._offset = None, None


def scale_to_norm(gradient: Tensor, epsilon: float) -> Tensor:
    """``(batch, length, dim)`` scaled to the L2 norm epsilon in each sentence; zero stays zero."""
    norm = torch.linalg.vector_norm(gradient, dim=(1, 2), keepdim=True)
    # Divided first: epsilon over the smallest number is infinite, and zero times that is none.
    scaled: Tensor = gradient / norm.clamp(min=torch.finfo(gradient.dtype).tiny) * epsilon
    return scaled
