"""The optimizer and the learning rate schedule of a training run, as plain numbers."""

import math
from collections.abc import Mapping, Sequence
from copy import copy
from inspect import signature
from typing import Any, Literal, get_args

import pytorch_lightning as pl
import torch
from pytorch_lightning.utilities.types import OptimizerLRScheduler
from torch import nn

from robustparse.data.datamodule import warn
from robustparse.errors import InputError, check_choice, check_least

Schedule = Literal["exponential", "epochs", "linear", "constant"]
Method = Literal["adam", "rmsprop"]

# Settings that only some schedules or methods use.
_USED_BY: dict[str, tuple[Schedule | Method, ...]] = {
    "decay": ("exponential", "epochs"),
    "decay_steps": ("exponential",),
    "constant_epochs": ("epochs",),
    "betas": ("adam",),
    "alpha": ("rmsprop",),
}
# Settings that a resumed run has from its checkpoint; those of the schedule may change.
_OF_OPTIMIZER = ("method", "learning_rate", "pretrained_learning_rate", "betas", "eps", "alpha")


class Optimization:
    """Adam or RMSprop and its learning rate (defaults as in Zheng et al. 2020).

    Args:
        learning_rate: at its peak (2e-3).
        betas: Adam's betas (0.9, 0.9).
        eps: the optimizer's epsilon (1e-12).
        decay: the ``exponential`` schedule multiplies the rate by ``decay ** (step / decay_steps)``
            (0.75), the ``epochs`` schedule by ``decay`` after each epoch, except the first
            ``constant_epochs``.
        decay_steps: see ``decay`` (5000).
        warmup_steps: steps over which the rate rises linearly (0).
        schedule: ``exponential``, ``epochs``, ``linear`` (to 0 at the last step of the run) or
            ``constant``.
        pretrained_learning_rate: the peak learning rate of a pretrained encoder's weights (5e-5,
            SuPar); None takes ``learning_rate``.
        constant_epochs: see ``decay`` (0).
        method: ``adam`` or ``rmsprop``.
        alpha: RMSprop's alpha (0.95, released code of Dong and Lapata 2018).

    Raises:
        InputError: a number is out of range, the schedule or method is unknown, or the ``epochs``
            schedule has a warm-up, which counts steps.
    """

    def __init__(
        self,
        learning_rate: float = 2e-3,
        betas: tuple[float, float] = (0.9, 0.9),
        eps: float = 1e-12,
        decay: float = 0.75,
        decay_steps: int = 5000,
        warmup_steps: int = 0,
        schedule: Schedule = "exponential",
        pretrained_learning_rate: float | None = 5e-5,
        constant_epochs: int = 0,
        method: Method = "adam",
        alpha: float = 0.95,
    ) -> None:
        rate, cold = pretrained_learning_rate, not warmup_steps or schedule != "epochs"
        for key, value, limit, fits in (
            ("learning_rate", learning_rate, "> 0", 0 < learning_rate < math.inf),
            ("betas", list(betas), "in [0, 1)", all(0 <= beta < 1 for beta in betas)),
            ("eps", eps, ">= 0", eps >= 0),
            ("decay", decay, "in (0, 1]", 0 < decay <= 1),
            ("alpha", alpha, "in [0, 1)", 0 <= alpha < 1),
            ("warmup_steps", warmup_steps, "0 in a schedule by epochs", cold),
            ("pretrained_learning_rate", rate, "> 0 or null", rate is None or 0 < rate < math.inf),
        ):
            if not fits:
                raise InputError(f"must be {limit}, got {value}", key=f"optimization: {key}")
        check_least("optimization", decay_steps=decay_steps)
        check_least("optimization", 0, warmup_steps=warmup_steps, constant_epochs=constant_epochs)
        check_choice("optimization: schedule", schedule, get_args(Schedule))
        check_choice("optimization: method", method, get_args(Method))
        self.pretrained_learning_rate = pretrained_learning_rate
        self.learning_rate, self.betas, self.eps = learning_rate, betas, eps
        self.decay, self.decay_steps = decay, decay_steps
        self.warmup_steps, self.schedule = warmup_steps, schedule
        self.constant_epochs, self.method, self.alpha = constant_epochs, method, alpha

    def resumed(self, stored: Mapping[str, Any]) -> tuple["Optimization", list[str]]:
        """Return the optimization of a run that continues with a checkpoint's optimizer.

        Args:
            stored: the arguments in the checkpoint.

        Returns:
            The optimization, and what it has of the checkpoint, not of this one.
        """
        resumed, kept = copy(self), []
        for name in _OF_OPTIMIZER:
            mine = getattr(self, name)
            value = stored.get(name, mine)
            if name == "betas":
                mine, value = tuple(mine), tuple(value)
            setattr(resumed, name, value)
            if value != mine:
                kept.append(f"{name} {value}, not {mine}")
        return resumed, kept

    def factor(self, step: int, total: float) -> float:
        """Return the factor of the learning rate at a step of ``total`` steps, or in an epoch."""
        if self.schedule == "epochs":
            return float(self.decay ** max(0, step - self.constant_epochs))
        if step < self.warmup_steps:
            return (step + 1) / self.warmup_steps
        if self.schedule == "linear":
            decay_steps = max(total - self.warmup_steps, 1)
            return max(0.0, 1.0 - (step - self.warmup_steps) / decay_steps)
        if self.schedule == "exponential":
            return float(self.decay ** (step / self.decay_steps))
        return 1.0

    @property
    def unused(self) -> list[str]:
        """The settings that differ from their defaults, but that schedule and method ignore."""
        defaults = signature(type(self)).parameters
        return [
            name
            for name, users in _USED_BY.items()
            if {self.schedule, self.method}.isdisjoint(users)
            and getattr(self, name) != defaults[name].default
        ]

    def configured(
        self, module: pl.LightningModule, pretrained: Sequence[nn.Parameter]
    ) -> OptimizerLRScheduler:
        """Return the optimizer of a module that a trainer runs, with its schedule.

        Args:
            module: the module.
            pretrained: its parameters that learn at ``pretrained_learning_rate``.

        Raises:
            InputError: the schedule is linear, and the number of steps is unknown.
        """
        if self.unused:
            say = "optimization: no effect with schedule %s and method %s: %s"
            warn(say, self.schedule, self.method, ", ".join(self.unused))
        known = {id(parameter) for parameter in pretrained}
        others = [p for p in module.parameters() if p.requires_grad and id(p) not in known]
        groups: list[dict[str, Any]] = [{"params": others}]
        if pretrained:
            rate = self.pretrained_learning_rate
            rate = self.learning_rate if rate is None else rate
            groups.append({"params": pretrained, "lr": rate})
        total = module.trainer.estimated_stepping_batches if self.schedule == "linear" else 0
        if math.isinf(total):
            raise InputError(
                "linear falls to 0 at the last step of the run, which is not known",
                key="optimization: schedule",
                remedy="set trainer.max_steps or trainer.max_epochs, or another schedule",
            )
        optimizer = self._optimizer(groups, fused=module.device.type == "cpu")
        schedule = torch.optim.lr_scheduler.LambdaLR(
            optimizer, lambda step: self.factor(step, total)
        )
        interval = "epoch" if self.schedule == "epochs" else "step"
        return {
            "optimizer": optimizer,
            "lr_scheduler": {"scheduler": schedule, "interval": interval},
        }

    def _optimizer(self, groups: list[dict[str, Any]], fused: bool) -> torch.optim.Optimizer:
        if self.method == "rmsprop":
            return torch.optim.RMSprop(groups, self.learning_rate, alpha=self.alpha, eps=self.eps)
        # A fused optimizer is several times faster on a CPU; on other devices it cannot clip
        # gradients in 16-mixed precision.
        rate = self.learning_rate
        return torch.optim.Adam(groups, rate, betas=self.betas, eps=self.eps, fused=fused)
