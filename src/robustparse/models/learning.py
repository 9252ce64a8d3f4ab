"""How every parser learns and is scored: the only training step, resumption, evaluation."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch
from numpy.typing import NDArray
from pytorch_lightning.callbacks import GradientAccumulationScheduler
from pytorch_lightning.trainer.states import TrainerFn
from pytorch_lightning.utilities.types import OptimizerLRScheduler
from torch import Tensor

from robustparse.data.batch import Batch
from robustparse.data.vocab import Vocabulary
from robustparse.errors import InputError, check_seed
from robustparse.metrics import AttachmentScore
from robustparse.models.checkpoint import KEY, describe, fill_weights, specification
from robustparse.models.optimization import Optimization
from robustparse.types import Prediction


class LearningModule(pl.LightningModule, ABC):
    """Learns from batches and is scored on them; what it learns is a subclass's.

    Args:
        optimization: optimiser and schedule.
        seed: of dropout.

    Attributes:
        delta_source: set by a gradient adversary while it trains: called with each batch, gives
            the delta of ``loss``.
        vocabulary: what the parser knows of its training data.

    Raises:
        InputError: the seed is negative or too large.
    """

    vocabulary: Vocabulary

    def __init__(self, optimization: Optimization, seed: int) -> None:
        super().__init__()
        check_seed("model: seed", seed)
        self.optimization, self.seed = optimization, seed
        self.delta_source: Callable[[Batch], Tensor] | None = None
        self.validation_score, self.test_score = AttachmentScore(), AttachmentScore()
        self._loader_states: list[dict[str, int]] = []

    @abstractmethod
    def loss(self, batch: Batch, delta: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Loss sums and word counts of each sentence, both ``(batch,)``."""

    @abstractmethod
    def parse_ids(
        self, words: Tensor, tags: Tensor, lengths: Tensor
    ) -> tuple[NDArray[np.int16], NDArray[np.int16]]:
        """Rows and tag ids -> heads and label ids, all ``(batch, length)``."""

    @abstractmethod
    def decode(self, batch: Batch) -> list[Prediction]:
        """Return the parse of each sentence."""

    @abstractmethod
    def pretrained_parameters(self) -> list[torch.nn.Parameter]:
        """Those that learn at the ``pretrained_learning_rate``."""

    # Training

    def on_fit_start(self) -> None:
        """Refuse to train what could not be loaded again.

        Raises:
            InputError: see ``specification``.
        """
        specification(self)

    def on_train_batch_start(self, batch: Batch, batch_idx: int) -> None:
        """Seed dropout from (seed, epoch, batch, process): a resumed run draws the same masks."""
        place = [self.seed, self.current_epoch, batch_idx, self.global_rank]
        torch.manual_seed(int(np.random.SeedSequence(place).generate_state(1, np.uint64)[0]))

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        """Return the batch's share of the loss per word of the global batch.

        Multiplied by the number of processes, over which gradients are averaged afterwards.
        """
        delta = None if self.delta_source is None else self.delta_source(batch)
        sums, _ = self.loss(batch, delta)
        return sums.sum() / batch.weight * self.trainer.world_size

    def on_train_batch_end(self, outputs: Any, batch: Batch, batch_idx: int) -> None:
        """Log the loss here, where an adversary's second pass does not come by.

        Lightning has divided it by the batches of an optimiser step.
        """
        loss = outputs["loss"] * self.trainer.accumulate_grad_batches
        self.log("train/loss", loss, prog_bar=True)

    def configure_optimizers(self) -> OptimizerLRScheduler:
        """Adam with its schedule, stepped every batch.

        Raises:
            InputError: the schedule ends with the run, and nobody knows at which step that is.
        """
        chosen = self.optimization
        pretrained = self.pretrained_parameters()
        known = {id(parameter) for parameter in pretrained}
        own = [p for p in self.parameters() if p.requires_grad and id(p) not in known]
        groups: list[dict[str, Any]] = [{"params": own}]
        if pretrained:
            rate = chosen.pretrained_learning_rate
            rate = chosen.learning_rate if rate is None else rate
            groups.append({"params": pretrained, "lr": rate})
        # One kernel for a whole group is several times faster on a CPU; elsewhere it would refuse
        # to clip gradients in 16-mixed precision.
        fused = self.device.type == "cpu"
        adam = torch.optim.Adam(
            groups, chosen.learning_rate, betas=chosen.betas, eps=chosen.eps, fused=fused
        )
        total = self.trainer.estimated_stepping_batches if chosen.schedule == "linear" else 0
        if math.isinf(total):
            raise InputError(
                "schedule linear falls to 0 at the run's last step: set trainer.max_steps or "
                "trainer.max_epochs, or another schedule"
            )
        schedule = torch.optim.lr_scheduler.LambdaLR(adam, lambda step: chosen.factor(step, total))
        return {"optimizer": adam, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}

    def configure_gradient_clipping(
        self,
        optimizer: torch.optim.Optimizer,
        gradient_clip_val: float | None = None,
        gradient_clip_algorithm: str | None = None,
    ) -> None:
        """Clip as the trainer says; Lightning's own way refuses a fused optimiser in bf16."""
        if gradient_clip_val is None or gradient_clip_val <= 0:  # as Lightning has it
            return
        if gradient_clip_algorithm == "value":
            torch.nn.utils.clip_grad_value_(self.parameters(), gradient_clip_val)
        else:
            torch.nn.utils.clip_grad_norm_(self.parameters(), gradient_clip_val)

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Add what makes the parser anew; say which batch comes next.

        The loader itself does not know that ``limit_train_batches`` ends an epoch before its end.
        """
        checkpoint[KEY] = describe(self, self.vocabulary)
        fit_loop = checkpoint.get("loops", {}).get("fit_loop", {})
        for loader in fit_loop.get("state_dict", {}).get("combined_loader", []):
            done = fit_loop["epoch_loop.batch_progress"]["current"]["processed"]
            loader["position"] = done % int(self.trainer.num_training_batches)

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Refuse to continue with another vocabulary, whose rows would mean other words.

        Raises:
            InputError: the vocabulary or the weights are another parser's; or the weights are no
                numbers, except where training is to go on.
        """
        held = checkpoint.get(KEY, {}).get("vocabulary")
        if held != self.vocabulary.to_lists():
            raise InputError(
                "the checkpoint was trained with another vocabulary than this data gives; resume "
                "with the same training file, or start from it with model.init_args.init_from"
            )
        if self._trainer is not None:
            # Lightning converts the module only after loading: float64 would go through float32.
            self._trainer.precision_plugin.convert_module(self)
        goes_on = self._trainer is not None and self._trainer.state.fn == TrainerFn.FITTING
        path = "the checkpoint" if self._trainer is None else str(self._trainer.ckpt_path)
        fill_weights(self, path, checkpoint["state_dict"], finite=not goes_on)
        if goes_on:
            fit_loop = checkpoint.get("loops", {}).get("fit_loop", {})
            self._loader_states = fit_loop.get("state_dict", {}).get("combined_loader", [])

    def on_train_start(self) -> None:
        """Put the loader where the checkpoint says.

        Lightning does so only if nothing has asked for the loader before; a linear schedule has.
        """
        for state in self._loader_states:
            self.trainer.train_dataloader.load_state_dict(state)  # type: ignore[union-attr]
        self._loader_states = []
        # Where a run goes on amid an epoch, Lightning calls no hook of its start, which sets this.
        for callback in self.trainer.callbacks:  # type: ignore[attr-defined]
            if isinstance(callback, GradientAccumulationScheduler):
                callback.on_train_epoch_start(self.trainer)

    # Evaluation

    def _update(self, score: AttachmentScore, batch: Batch) -> None:
        answer = self.parse_ids(batch.words, batch.tags, batch.lengths)
        heads, labels = (torch.from_numpy(part) for part in answer)
        right_heads = heads.to(self.device) == batch.heads
        score.update(right_heads, labels.to(self.device) == batch.labels, batch.counted)

    def validation_step(self, batch: Batch, batch_idx: int) -> None:
        """Count correct arcs."""
        self._update(self.validation_score, batch)

    def test_step(self, batch: Batch, batch_idx: int) -> None:
        """Count correct arcs."""
        self._update(self.test_score, batch)

    def predict_step(self, batch: Batch, batch_idx: int) -> list[Prediction]:
        """Return the parse of each sentence."""
        return self.decode(batch)

    def on_validation_epoch_end(self) -> None:
        """Log ``val/uas`` and so on, summed over processes."""
        self._log_scores("val", self.validation_score)

    def on_test_epoch_end(self) -> None:
        """Log ``test/uas`` and so on."""
        self._log_scores("test", self.test_score)

    def _log_scores(self, split: str, score: AttachmentScore) -> None:
        for name, value in score.compute().items():
            self.log(f"{split}/{name}", value, prog_bar=name == "las")
        score.reset()
