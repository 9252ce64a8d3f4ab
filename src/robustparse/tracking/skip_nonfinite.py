"""Skip steps with a non-finite gradient, in all processes alike.

A loss that overflows in one process gives NaN gradients, which averaging spreads to all processes;
so all take the same decision without communication. The weights and the optimizer's moments do not
change; the step counts as a step.
"""

import logging
import math
from typing import Any

import pytorch_lightning as pl
import torch
from pytorch_lightning.callbacks import Callback
from torch import Tensor

from robustparse.errors import InputError, check_least

log = logging.getLogger(__name__)


class SkipNonFinite(Callback):
    """Skips steps with an infinite or NaN gradient norm; logs ``train/skipped_steps``.

    In 16-mixed precision the loss scaler skips such steps; here they are counted.

    Args:
        max_consecutive: the run ends with an error after this many (20; a loss scale of 2^16 needs
            at most 16 to come down to 1).

    Raises:
        InputError: ``max_consecutive`` is below 1.
    """

    def __init__(self, max_consecutive: int = 20) -> None:
        super().__init__()
        check_least("skip_non_finite", max_consecutive=max_consecutive)
        self.max_consecutive = max_consecutive
        self.skipped = self.consecutive = 0

    def on_before_backward(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, loss: Tensor
    ) -> None:
        """Make the gradients of a non-finite loss NaN; an infinite loss may have finite ones."""
        finite = torch.isfinite(loss.detach())
        factor = torch.where(finite, 1.0, math.nan).to(loss.dtype)
        loss.register_hook(lambda gradient: gradient * factor)  # type: ignore[no-untyped-call]

    def on_before_optimizer_step(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, optimizer: torch.optim.Optimizer
    ) -> None:
        """Remove the averaged gradient if it is non-finite.

        Raises:
            InputError: there were ``max_consecutive`` such steps in a row.
        """
        norm = torch.nn.utils.clip_grad_norm_(pl_module.parameters(), math.inf)
        if bool(torch.isfinite(norm)):
            self.consecutive = 0
            return
        self.skipped, self.consecutive = self.skipped + 1, self.consecutive + 1
        if self.consecutive >= self.max_consecutive:
            raise InputError(
                f"the gradient was infinite or NaN in {self.consecutive} steps in a row, the last "
                f"of them step {trainer.global_step}; the weights are those before them",
                remedy="lower the learning rate or the adversary's epsilon, or look for what is "
                "wrong in the data",
            )
        if self.skipped == 1 and trainer.is_global_zero:
            log.warning(
                "step %d is left out, its gradient is infinite or NaN; train/skipped_steps counts "
                "such steps",
                trainer.global_step,
            )
        if getattr(trainer.precision_plugin, "scaler", None) is None:
            for parameter in pl_module.parameters():
                parameter.grad = None

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, *_: Any, **__: Any
    ) -> None:
        """Log the number of skipped steps, unless it is 0."""
        if self.skipped:
            pl_module.log("train/skipped_steps", float(self.skipped))

    def state_dict(self) -> dict[str, int]:
        """Return the counts, which a resumed run continues."""
        return {"skipped": self.skipped, "consecutive": self.consecutive}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue the counts."""
        self.skipped, self.consecutive = state_dict["skipped"], state_dict["consecutive"]
