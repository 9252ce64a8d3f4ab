"""The Lightning side of every model: training, checkpoints that resume exactly, logged scores.

Nothing here knows about parsing; `Model` defines what is left abstract.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch
from pytorch_lightning.trainer.states import TrainerFn
from pytorch_lightning.utilities.types import OptimizerLRScheduler
from torch import Tensor, nn
from torchmetrics import Metric

from robustparse.data.batch import Batch
from robustparse.data.datamodule import warn
from robustparse.errors import check_seed
from robustparse.lightning import batches_done, loader_states, start_accumulation
from robustparse.models.checkpoint import KEY, fill_weights, specification
from robustparse.models.optimization import Optimization


class ResumableModule(pl.LightningModule, ABC):
    """A module whose resumed training repeats the uninterrupted run exactly.

    Args:
        optimization: optimizer and schedule.
        seed: seed of initialization and dropout.

    Attributes:
        delta_source: returns the delta of ``forward``; set by a gradient adversary during training.
        objective: replaces ``loss`` in training steps; set by a defense during training.
        validation_score: scores of the validation data.
        test_score: scores of the test data.
    """

    validation_score: Metric
    test_score: Metric

    def __init__(self, optimization: Optimization, seed: int) -> None:
        super().__init__()
        check_seed("model: seed", seed)
        self.optimization, self.seed = optimization, seed
        self.delta_source: Callable[[Batch], Tensor] | None = None
        self.objective: Callable[[Any, Batch], Tensor] | None = None
        self._loader_states: list[dict[str, int]] = []

    @abstractmethod
    def loss(self, states: Any, batch: Batch) -> Tensor:
        """Return the loss of each text, ``(batch,)``, from the output of ``forward``."""

    @abstractmethod
    def add_scores(self, metric: Metric, batch: Batch) -> None:
        """Predict the answers to a batch and add their scores to a metric."""

    @property
    @abstractmethod
    def headline(self) -> str:
        """The score in the progress bar."""

    @abstractmethod
    def pretrained_parameters(self) -> Sequence[nn.Parameter]:
        """Return the parameters that are fine-tuned."""

    @abstractmethod
    def description(self) -> dict[str, Any]:
        """Return what a checkpoint needs, besides weights, to make the module again."""

    @abstractmethod
    def check_continues(self, checkpoint: dict[str, Any]) -> None:
        """Reject a checkpoint whose training this module cannot continue."""

    # Training

    def on_fit_start(self) -> None:
        """Reject a model that could not be loaded again; switch a loaded model to training mode.

        Lightning leaves the modes as they are: dropout would stay off, and cuDNN's LSTM has no
        backward pass in evaluation mode.
        """
        specification(self)
        if not self.training:
            self.train()

    def on_train_batch_start(self, batch: Batch, batch_idx: int) -> None:
        """Seed dropout from (seed, epoch, batch, process): a resumed run draws the same masks."""
        numbers = [self.seed, self.current_epoch, batch_idx, self.global_rank]
        torch.manual_seed(int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0]))

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        """Return the loss per unit of the global batch, times the processes averaged over."""
        delta = None if self.delta_source is None else self.delta_source(batch)
        losses = (self.objective or self.loss)(self(batch, delta), batch)
        return losses.sum() / batch.weight * self.trainer.world_size

    def on_train_batch_end(self, outputs: Any, batch: Batch, batch_idx: int) -> None:
        """Log the loss here, which an adversary's second pass does not reach."""
        # Lightning has divided it by the batches of an optimizer step.
        loss = outputs["loss"] * self.trainer.accumulate_grad_batches
        self.log("train/loss", loss, prog_bar=True)

    def configure_optimizers(self) -> OptimizerLRScheduler:
        """Return the optimizer with its schedule, stepped every batch."""
        return self.optimization.configured(self, self.pretrained_parameters())

    def configure_gradient_clipping(
        self,
        optimizer: torch.optim.Optimizer,
        gradient_clip_val: float | None = None,
        gradient_clip_algorithm: str | None = None,
    ) -> None:
        """Clip gradients; Lightning's implementation rejects a fused optimizer in bf16."""
        if gradient_clip_val and gradient_clip_val > 0:
            norm = gradient_clip_algorithm != "value"
            clip = nn.utils.clip_grad_norm_ if norm else nn.utils.clip_grad_value_
            clip(self.parameters(), gradient_clip_val)

    # Resuming

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Add the description of the model; store which batch comes next."""
        checkpoint[KEY] = self.description()
        # A loader does not know that ``limit_train_batches`` ends an epoch before its end.
        for loader in loader_states(checkpoint):
            loader["position"] = batches_done(checkpoint) % int(self.trainer.num_training_batches)

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Load the weights after `check_continues`.

        Weights that are not finite are rejected, unless training continues.
        """
        self.check_continues(checkpoint)
        trainer = self._trainer
        if trainer is not None:
            # Lightning converts the module only after loading: float64 would go through float32.
            trainer.precision_plugin.convert_module(self)
        resumes = trainer is not None and trainer.state.fn == TrainerFn.FITTING
        path = "the checkpoint" if trainer is None else str(trainer.ckpt_path)
        fill_weights(self, path, checkpoint, finite=not resumes)
        if resumes:
            self._loader_states = loader_states(checkpoint)
            self._continue_optimization(checkpoint)

    def _continue_optimization(self, checkpoint: dict[str, Any]) -> None:
        """Take the settings of the checkpoint's optimizer; warn of those that were to change."""
        described = checkpoint[KEY]["model"]["init_args"].get("optimization") or {}
        self.optimization, kept = self.optimization.resumed(described.get("init_args", {}))
        if kept:
            warn(
                f"the run continues with its checkpoint's optimizer: {'; '.join(kept)}; to change "
                "that, start from the checkpoint with model.init_args.init_from"
            )

    def on_train_start(self) -> None:
        """Move the loader to the checkpoint's position.

        Lightning does so only if nothing has used the loader before, as a linear schedule has.
        """
        for state in self._loader_states:
            self.trainer.train_dataloader.load_state_dict(state)  # type: ignore[union-attr]
        self._loader_states = []
        start_accumulation(self.trainer)

    # Evaluation

    def validation_step(self, batch: Batch, batch_idx: int) -> None:
        """Add the batch to the scores."""
        self.add_scores(self.validation_score, batch)

    def test_step(self, batch: Batch, batch_idx: int) -> None:
        """Add the batch to the scores."""
        self.add_scores(self.test_score, batch)

    def on_validation_epoch_end(self) -> None:
        """Log each score as ``val/SCORE``, summed over processes."""
        self._log_scores("val", self.validation_score)

    def on_test_epoch_end(self) -> None:
        """Log each score as ``test/SCORE``."""
        self._log_scores("test", self.test_score)

    def _log_scores(self, split: str, metric: Metric) -> None:
        scores = metric.compute()
        named = scores if isinstance(scores, dict) else {self.headline: scores}
        for name, value in named.items():
            self.log(f"{split}/{name}", value, prog_bar=name == self.headline)
        metric.reset()
