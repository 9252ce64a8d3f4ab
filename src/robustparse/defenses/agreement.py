"""Agreement: training for equal answers to a text x and to a changed text x'.

In training steps the loss of a text becomes

    loss(f(x), y) + beta * KL(f(x) || f(x'))

with gradients through f(x) and f(x'), as in TRADES (Zhang et al. 2019) and ASCC (Dong et al. 2021,
section 4). f is the distribution of each decision of the model, see `Model.decisions`. Both terms
are sums over the decisions of a text, and divided alike.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytorch_lightning as pl
import torch
from torch import Tensor

from robustparse.data.batch import Batch
from robustparse.models.base import Model
from robustparse.models.decisions import Decisions, divergence

# Returns f(x') of the texts of a batch, from f(x).
Changed = Callable[[Batch, list[Decisions]], list[Decisions]]


class Agreement:
    """Replaces the loss of a model's training step, and logs the agreement.

    ``train/loss`` is then the whole loss, and ``train/agreement`` the KL in it, without beta.

    Args:
        beta: weight of the agreement.
        same_dropout: use the same dropout masks for x and x', so that only the changed words make
            the answers differ; otherwise draw new masks for x'.
    """

    def __init__(self, beta: float, same_dropout: bool = True) -> None:
        self.beta, self.same_dropout = beta, same_dropout
        self._value: Tensor | None = None

    def begin(self, trainer: pl.Trainer, model: Model, changed: Changed) -> None:
        """Make the trainer's step compute the loss with the agreement."""
        model.objective = partial(self.losses, trainer, model, changed)

    def losses(
        self, trainer: pl.Trainer, model: Model, changed: Changed, states: Any, batch: Batch
    ) -> Tensor:
        """Return loss(f(x), y) + beta * KL(f(x) || f(x')) of each text, ``(batch,)``.

        Args:
            trainer: the running trainer.
            model: the trained model.
            changed: returns f(x').
            states: the output of the model for the batch.
            batch: the texts x.
        """
        devices = [model.device] if model.device.type == "cuda" else []
        # The decoder of a model draws masks in both calls: the same ones.
        with torch.random.fork_rng(devices):
            losses = model.loss(states, batch)
        clean = model.decisions(states, batch)
        agreement, _ = divergence(clean, changed(batch, clean), len(batch))
        self._value = agreement.detach().sum() / batch.weight * trainer.world_size
        return losses + self.beta * agreement

    def answers(self, model: Model, embeddings: Tensor, batch: Batch) -> list[Decisions]:
        """Return f of embeddings, ``(batch, units, dim)``, of a batch's texts."""
        if self.same_dropout:
            # The model seeds every batch; its first pass started from this state.
            torch.manual_seed(torch.initial_seed())
        return model.decisions(model.states_of(embeddings, batch), batch)

    def end(self, module: pl.LightningModule) -> None:
        """Log the agreement, 0 in a step without one, and give the model its own loss back."""
        # If nothing were logged, Lightning would repeat an earlier value.
        module.log("train/agreement", 0.0 if self._value is None else self._value)
        self.release(module)

    def release(self, module: pl.LightningModule) -> None:
        """Give the model its own loss back."""
        if isinstance(module, Model):
            module.objective = None
        self._value = None
