"""Return to the best weights with a smaller learning rate (Yin and Neubig 2018, released code).

If the score on the development set has not risen for some validations, training returns to the best
weights and the optimizer's state at that time, and continues with a smaller learning rate. After
some such trials it ends. The released code of TranX trains on ATIS in this way.
"""

import copy
from typing import Any

import pytorch_lightning as pl
from pytorch_lightning.trainer.states import TrainerFn

from robustparse.errors import InputError, check_least
from robustparse.models.base import Model

_KEY, _LIMIT = "reload best", "trainer.limit_val_batches"


class ReloadBest(pl.Callback):
    """Reloads the best weights and lowers the learning rate when the score stops rising.

    All later learning rates of the schedule are multiplied by the factor; the paper's schedule is
    ``constant``. Checkpoints hold the best weights too, so they are about twice as large.

    Args:
        patience: validations in a row without a higher score before a reload (5, released settings
            for ATIS).
        factor: factor of the learning rate (0.5, released settings).
        trials: the number of the reload that ends training instead (5, released settings).
        monitor: the metric; None takes the score that chooses ``best.ckpt``.

    Raises:
        InputError: a number is out of range; or, during training, the metric is not logged or
            nothing is validated.
    """

    def __init__(
        self, patience: int = 5, factor: float = 0.5, trials: int = 5, monitor: str | None = None
    ) -> None:
        check_least(_KEY, patience=patience, trials=trials)
        if not 0 < factor <= 1:
            raise InputError(f"must be in (0, 1], got {factor}", key=f"{_KEY}: factor")
        self.patience, self.factor, self.trials, self.monitor = patience, factor, trials, monitor
        self._best: dict[str, Any] = {}
        self._waited = self._tried = 0
        self._due = False  # a reload, with the next batch

    def state_dict(self) -> dict[str, Any]:
        """Return the best weights and the counts."""
        counts = {"waited": self._waited, "tried": self._tried, "due": self._due}
        return {"best": self._best, **counts}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore the best weights and the counts."""
        self._best, self._due = state_dict["best"], state_dict["due"]
        self._waited, self._tried = state_dict["waited"], state_dict["tried"]

    def on_fit_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Reject a run without validation."""
        if trainer.limit_val_batches == 0:
            remedy = "give a development set, or remove ReloadBest"
            raise InputError("0, and ReloadBest needs a score", key=_LIMIT, remedy=remedy)

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """End at once if the resumed run had ended."""
        trainer.should_stop = trainer.should_stop or self._tried >= self.trials

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Keep the weights if the score is higher; after ``patience`` others, stop or reload."""
        if trainer.sanity_checking or trainer.state.fn != TrainerFn.FITTING:
            return
        score = self._score(trainer, pl_module)
        if not self._best or score > self._best["score"]:
            optimizers = [optimizer.state_dict() for optimizer in trainer.optimizers]
            kept = {"weights": pl_module.state_dict(), "optimizers": optimizers}
            self._best, self._waited = {"score": score, **copy.deepcopy(kept)}, 0
            return
        self._waited += 1
        if self._waited < self.patience:
            return
        self._waited, self._tried = 0, self._tried + 1
        if self._tried >= self.trials:
            trainer.should_stop = True
        else:
            # Checkpoints written after this validation must hold the validated weights.
            self._due = True

    def on_train_batch_start(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, batch: Any, batch_idx: int
    ) -> None:
        """Reload if a reload is due."""
        if self._due:
            self._reload(trainer, pl_module)
            self._due = False

    def _score(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> float:
        monitor = self.monitor
        if monitor is None and isinstance(pl_module, Model):
            monitor = f"val/{pl_module.task.scores.headline}"
        if monitor not in trainer.callback_metrics:
            known = ", ".join(sorted(trainer.callback_metrics))
            raise InputError(f"{monitor!r} is not logged", key=f"{_KEY}: monitor", expected=known)
        return float(trainer.callback_metrics[monitor])

    def _reload(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        pl_module.load_state_dict(self._best["weights"])
        for optimizer, saved in zip(trainer.optimizers, self._best["optimizers"], strict=True):
            rates = [group["lr"] for group in optimizer.param_groups]
            optimizer.load_state_dict(copy.deepcopy(saved))
            for group, rate in zip(optimizer.param_groups, rates, strict=True):
                group["lr"] = rate * self.factor
        for config in trainer.lr_scheduler_configs:
            # Our schedules, and most of PyTorch's, compute each step's rate from these.
            bases = getattr(config.scheduler, "base_lrs", [])
            config.scheduler.base_lrs = [base * self.factor for base in bases]
