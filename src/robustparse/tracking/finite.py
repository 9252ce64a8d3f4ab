"""Steps whose gradient is no number are left out, by all processes together.

A loss that overflows on one process makes gradients of NaN there, and averaging carries them to all
others, so every process sees the same gradient and decides alike without asking. The weights and
the optimiser's moments stay as they were; the step is counted as one.
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
    """Leaves out steps whose gradient's norm is infinite or NaN; logs ``train/skipped_steps``.

    In 16-mixed precision the loss scaler leaves such steps out itself; here they are counted.

    Args:
        max_consecutive: the run ends with an error after so many (20; a loss scale of 2^16 needs at
            most 16 to come down to 1).

    Raises:
        InputError: ``max_consecutive`` is below 1.
    """

    def __init__(self, max_consecutive: int = 20) -> None:
        super().__init__()
        check_least("skip_non_finite", max_consecutive=max_consecutive)
        self.max_consecutive = max_consecutive
        self.skipped = self.in_a_row = 0

    def on_before_backward(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, loss: Tensor
    ) -> None:
        """Let a loss that is no number leave gradients that are none, as infinity may not."""
        finite = torch.isfinite(loss.detach())
        factor = torch.where(finite, 1.0, math.nan).to(loss.dtype)
        loss.register_hook(lambda gradient: gradient * factor)  # type: ignore[no-untyped-call]

    def on_before_optimizer_step(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, optimizer: torch.optim.Optimizer
    ) -> None:
        """Look at the averaged gradient, and take it away if it is no number.

        Raises:
            InputError: too many in a row.
        """
        norm = torch.nn.utils.clip_grad_norm_(pl_module.parameters(), math.inf)
        if bool(torch.isfinite(norm)):
            self.in_a_row = 0
            return
        self.skipped, self.in_a_row = self.skipped + 1, self.in_a_row + 1
        if self.in_a_row >= self.max_consecutive:
            raise InputError(
                f"the gradient was infinite or NaN in {self.in_a_row} steps in a row, the last of "
                f"them step {trainer.global_step}; the weights are those before them: lower the "
                "learning rate or the adversary's epsilon, or look for what is wrong in the data"
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
        self,
        trainer: pl.Trainer,
        pl_module: pl.LightningModule,
        outputs: Any,
        batch: Any,
        batch_idx: int,
    ) -> None:
        """Log how many there were so far, once there are any."""
        if self.skipped:
            pl_module.log("train/skipped_steps", float(self.skipped))

    def state_dict(self) -> dict[str, int]:
        """Return the counts, which a resumed run goes on with."""
        return {"skipped": self.skipped, "in_a_row": self.in_a_row}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on with them."""
        self.skipped, self.in_a_row = state_dict["skipped"], state_dict["in_a_row"]
