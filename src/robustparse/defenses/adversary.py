"""The base of gradient adversaries: the ball, the schedule, and the hooks into Lightning.

An adversary trains on deltas of the embeddings that gradient ascent has found. A method is one
generator, ``passes``, that reads like its paper's algorithm: it yields the passes that train, one
after another, and takes steps up the gradients between them. ``PerturbedBatch`` runs them.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch
from numpy.typing import NDArray
from torch import Tensor

from robustparse.defenses.norms import Norm, Per, ball
from robustparse.defenses.perturbed_batch import PerturbedBatch, TrainingPass
from robustparse.defenses.requirements import callbacks_of, model_of
from robustparse.errors import InputError, check_least, check_seed
from robustparse.models.base import Model

OWNER = "gradient adversary"


class EmbeddingAdversary(pl.Callback, ABC):
    """Trains on deltas of the embeddings inside a ball, found by gradient ascent.

    The schedule counts optimizer steps, so it holds for all batches that one step accumulates, and
    a resumed run continues it. Steps without the adversary are ordinary clean ones. A random start
    follows from (seed, epoch, sentence id).

    Args:
        epsilon: norm of a delta, in embedding units.
        steps: of gradient ascent (3).
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
        start_step: the first optimizer step with the adversary, from 0.
        every: the adversary joins every Nth step from there.
        epsilon_warmup_steps: steps from there over which epsilon and step size rise linearly.

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
    ) -> None:
        check_least(OWNER, steps=steps, every=every)
        check_least(OWNER, 0, start_step=start_step, epsilon_warmup_steps=epsilon_warmup_steps)
        check_seed(f"{OWNER}: seed", seed)
        check_positive(epsilon=epsilon)
        self.epsilon, self.steps = epsilon, steps
        self.step_size = 2.5 * epsilon / steps if step_size is None else step_size
        check_positive(step_size=self.step_size)
        self.random_start, self.same_dropout, self.seed = random_start, same_dropout, seed
        self.ball = ball(norm, per)
        self.start_step, self.every = start_step, every
        self.epsilon_warmup_steps = epsilon_warmup_steps
        self._batch: PerturbedBatch | None = None  # until its first backward pass ends
        self._further: Tensor | None = None

    # The method, and what its steps are made of

    @abstractmethod
    def passes(self, batch: PerturbedBatch) -> Iterator[TrainingPass]:
        """Yield the passes over a batch that train; after each, its gradients are there.

        The first begins inside the trainer's own step.
        """

    def initial_delta(self, batch: PerturbedBatch) -> Tensor:
        """Return where the ascent starts, ``(batch, units, dim)``."""
        zeros = batch.zeros()
        if not self.random_start:
            return zeros
        drawn = np.zeros(zeros.shape)
        units = batch.mask()[..., 0].bool().cpu().numpy()
        epoch = batch.trainer.current_epoch
        for row, id_ in enumerate(batch.batch.ids.tolist()):
            key = np.random.SeedSequence([self.seed, epoch, id_])
            rng = np.random.Generator(np.random.Philox(key))
            drawn[row, units[row]] = self.draw(rng, int(units[row].sum()), zeros.shape[2])
        return torch.from_numpy(drawn).to(zeros) * batch.epsilon

    def draw(self, rng: np.random.Generator, units: int, dim: int) -> NDArray[np.float64]:
        """Draw the random start of a sentence for epsilon 1, ``(units, dim)``."""
        return self.ball.draw(rng, units, dim)

    def ascend(self, batch: PerturbedBatch, delta: Tensor, gradient: Tensor) -> Tensor:
        """Take one step up the gradient and back into the ball, all ``(batch, units, dim)``."""
        moved = delta.detach() + batch.step_size * self.ball.normalize(gradient)
        return self.ball.project(moved, batch.epsilon)

    def strength(self, step: int) -> float:
        """Return the factor of epsilon in an optimizer step; 0 leaves the adversary out."""
        since = step - self.start_step
        if since < 0 or since % self.every:
            return 0.0
        return min(1.0, (since + 1) / max(1, self.epsilon_warmup_steps))

    # Hooks

    def on_fit_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Refuse another model than ours, and another adversary that wants its delta too."""
        model_of(pl_module, OWNER)
        found = callbacks_of(trainer, EmbeddingAdversary)
        if len(found) > 1:
            names = " and ".join(type(callback).__name__ for callback in found)
            raise InputError(
                f"has {len(found)} gradient adversaries ({names}), but a pass over a batch has "
                "one delta",
                key="trainer.callbacks",
                remedy="keep one of them",
            )

    def on_train_batch_start(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, batch: Any, batch_idx: int
    ) -> None:
        """Have the trainer's step begin with the first pass."""
        strength = self.strength(trainer.global_step)
        if strength == 0.0:
            return
        model = model_of(pl_module, OWNER)
        sizes = (strength * self.epsilon, strength * self.step_size)
        self._batch = PerturbedBatch(trainer, model, batch, batch_idx, *sizes, self.same_dropout)
        self._batch.begin(self.passes)

    def on_before_backward(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, loss: Tensor
    ) -> None:
        """Weight the first pass."""
        if self._batch is not None:
            weight = self._batch.weight
            if weight != 1.0:
                loss.register_hook(lambda gradient: gradient * weight)  # type: ignore[no-untyped-call]

    def on_after_backward(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Run the passes after the first, which call these hooks too, and find no batch."""
        batch, self._batch = self._batch, None
        if batch is not None:
            self._further = batch.finish()

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, *_: Any, **__: Any
    ) -> None:
        """Log the loss of the last pass, leave the model as it was."""
        # Without further passes it is the trainer's own, which Lightning has divided by the batches
        # of an optimizer step; if nothing were logged, an earlier batch's would appear again.
        own = outputs["loss"] * trainer.accumulate_grad_batches
        pl_module.log("train/adversarial_loss", own if self._further is None else self._further)
        self._release(pl_module)

    def on_exception(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, exception: BaseException
    ) -> None:
        """Leave the model as it was."""
        self._release(pl_module)

    def _release(self, module: pl.LightningModule) -> None:
        if isinstance(module, Model):
            module.delta_source = None
        self._batch = self._further = None


def check_positive(**settings: float) -> None:
    """Refuse settings of a gradient adversary that are not finite numbers over 0."""
    for name, value in settings.items():
        if not 0 < value < math.inf:
            raise InputError(f"must be > 0 and finite, got {value}", key=f"{OWNER}: {name}")
