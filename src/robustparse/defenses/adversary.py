"""The base class of gradient adversaries inside a ball, and its hooks into Lightning.

Such an adversary trains on deltas of the embeddings that it finds by gradient ascent. Each
method is one generator, ``passes``, that follows its paper's algorithm: it yields the training
passes one after another and takes ascent steps between them. ``PerturbedBatch`` runs the passes.
"""

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch
from numpy.typing import NDArray
from torch import Tensor

from robustparse.defenses.embedding_layer import EmbeddingLayer, PerturbedStep, no_loss
from robustparse.defenses.gradient_adversary import OWNER, GradientAdversary, check_positive
from robustparse.defenses.norms import Norm, Per, ball
from robustparse.defenses.perturbed_batch import PerturbedBatch, TrainingPass
from robustparse.defenses.requirements import model_of
from robustparse.errors import check_least


class EmbeddingAdversary(GradientAdversary):
    """Trains on deltas of the embeddings inside a ball, found by gradient ascent.

    The schedule counts optimizer steps. It applies to all batches that one step accumulates, and
    resumed runs continue it. Steps without the adversary are ordinary clean steps. A random start
    follows from (seed, epoch, sentence id).

    Args:
        epsilon: maximum norm of a delta, in embedding units.
        steps: ascent steps (3).
        step_size: norm of an ascent step; None: 2.5 epsilon / steps, which can reach the boundary
            from any start (Madry et al. 2018, section 5).
        random_start: start at a random point of the ball instead of zero.
        same_dropout: use the same dropout masks in all passes over a batch, so that the ascent
            works on the network that is trained (Zhu et al. 2020, section 3.3); otherwise each pass
            draws new masks.
        norm: ``l2``, or ``linf`` (the largest absolute value).
        per: whether the L2 norm is that of a ``sentence``'s whole delta (Miyato et al. 2017) or
            that of each ``token`` (word or word piece).
        seed: the seed of random starts.
        start_step: the first optimizer step with the adversary, from 0.
        every: from then on, the adversary joins every Nth step.
        epsilon_warmup_steps: number of steps over which epsilon and step size rise linearly.
        layer: the embedding layer of a LightningModule of another library, see `EmbeddingLayer`;
            None: the module is a model of robustparse.

    Raises:
        InputError: a setting is out of range.
    """

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        steps: int = 3,
        step_size: float | None = None,
        random_start: bool = False,
        same_dropout: bool = False,
        norm: Norm = "l2",
        per: Per = "sentence",
        seed: int = 0,
        start_step: int = 0,
        every: int = 1,
        epsilon_warmup_steps: int = 0,
        layer: EmbeddingLayer | None = None,
    ) -> None:
        super().__init__(steps=steps, seed=seed, start_step=start_step, every=every)
        check_least(OWNER, 0, epsilon_warmup_steps=epsilon_warmup_steps)
        check_positive(epsilon=epsilon)
        self.epsilon = epsilon
        self.step_size = 2.5 * epsilon / steps if step_size is None else step_size
        check_positive(step_size=self.step_size)
        self.random_start, self.same_dropout = random_start, same_dropout
        self.ball = ball(norm, per)
        self.epsilon_warmup_steps, self.layer = epsilon_warmup_steps, layer
        self._batch: PerturbedBatch | None = None  # until its first backward pass ends
        self._last_loss: Tensor | None = None

    # The method and its steps

    @abstractmethod
    def passes(self, batch: PerturbedBatch) -> Iterator[TrainingPass]:
        """Yield the training passes over a batch; after each, its gradients are available.

        The first pass runs inside the trainer's own step.
        """

    @property
    def passes_per_step(self) -> int:
        """See ``GradientAdversary``."""
        return self.steps + 1

    def initial_delta(self, batch: PerturbedBatch) -> Tensor:
        """Return the start of the ascent, ``(batch, units, dim)``."""
        zeros = batch.zeros()
        if not self.random_start:
            return zeros
        drawn = np.zeros(zeros.shape)
        units = batch.mask()[..., 0].bool().cpu().numpy()
        for row, rng in enumerate(batch.streams(self.seed)):
            if count := int(units[row].sum()):
                drawn[row, units[row]] = self.draw(rng, count, zeros.shape[2])
        return torch.from_numpy(drawn).to(zeros) * batch.epsilon

    def draw(self, rng: np.random.Generator, units: int, dim: int) -> NDArray[np.float64]:
        """Draw the random start of a sentence for epsilon 1, ``(units, dim)``."""
        return self.ball.draw(rng, units, dim)

    def ascend(self, batch: PerturbedBatch, delta: Tensor, gradient: Tensor) -> Tensor:
        """Take one ascent step and project into the ball; all tensors ``(batch, units, dim)``."""
        moved = delta.detach() + batch.step_size * self.ball.normalize(gradient)
        return self.ball.project(moved, batch.epsilon)

    def strength(self, step: int) -> float:
        """Return the factor of epsilon in an optimizer step; 0 disables the adversary."""
        if not self.joins(step):
            return 0.0
        return min(1.0, (step - self.start_step + 1) / max(1, self.epsilon_warmup_steps))

    # Hooks

    def check_module(self, module: pl.LightningModule) -> None:
        """Check that the module is a model of robustparse, or has the layer.

        Raises:
            InputError: neither, or the module optimizes manually.
        """
        if self.layer is None:
            remedy = "or name its embedding layer, as in layer=EmbeddingLayer('model.embeddings')"
            model_of(module, OWNER, remedy)
        else:
            self.layer.check(module)

    def on_train_batch_start(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, batch: Any, batch_idx: int
    ) -> None:
        """Make the trainer's step run the first pass."""
        strength = self.strength(trainer.global_step)
        if strength == 0.0:
            return
        sizes = (strength * self.epsilon, strength * self.step_size)
        common = (trainer, pl_module, batch, batch_idx, *sizes, self.same_dropout)
        layer = self.layer
        self._batch = PerturbedBatch(*common) if layer is None else PerturbedStep(layer, *common)
        self._batch.begin(self.passes)

    def on_before_backward(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, loss: Tensor
    ) -> None:
        """Weight the first pass."""
        if self._batch is not None:
            weight = self._batch.first_weight()
            if weight != 1.0:
                loss.register_hook(lambda gradient: gradient * weight)  # type: ignore[no-untyped-call]

    def on_after_backward(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Run the passes after the first; these call this hook again, without effect."""
        batch, self._batch = self._batch, None
        if batch is not None:
            self._last_loss = batch.finish()

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, *_: Any, **__: Any
    ) -> None:
        """Log the loss of the last pass and detach from the model.

        Raises:
            InputError: the adversary joined the step, but the model returned no loss.
        """
        if self._batch is not None:
            raise no_loss(pl_module)
        # With a single pass this is the trainer's loss, which Lightning has divided by the number
        # of accumulated batches. If nothing were logged, Lightning would repeat an earlier value.
        loss = self._last_loss
        if loss is None and outputs and outputs.get("loss") is not None:
            loss = outputs["loss"] * trainer.accumulate_grad_batches
        if loss is not None:
            pl_module.log("train/adversarial_loss", loss)
        self._last_loss = None

    def on_exception(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, exception: BaseException
    ) -> None:
        """Detach from the model."""
        self._detach()

    def on_validation_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Detach from a model that has skipped the batch and the rest of the epoch."""
        self._detach()

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Detach, as before validation."""
        self._detach()

    def _detach(self) -> None:
        if self._batch is not None:
            self._batch.close()
        self._batch = self._last_loss = None
