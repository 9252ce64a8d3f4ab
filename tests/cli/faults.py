"""What goes wrong in a run, as callbacks that a configuration can name."""

import math
import os
import signal
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

import pytorch_lightning as pl


class Fault(pl.Callback, ABC):
    """Strikes on one process, when the first batch of certain optimiser steps starts.

    Args:
        steps: which.
        rank: of the process.
    """

    def __init__(self, steps: list[int], rank: int = 0) -> None:
        self.steps, self.rank = list(steps), rank

    def on_train_batch_start(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, batch: Any, batch_idx: int
    ) -> None:
        if trainer.global_step in self.steps and trainer.global_rank == self.rank:
            self.strike(batch)

    @abstractmethod
    def strike(self, batch: Any) -> None:
        """Do it."""


class NoNumber(Fault):
    """The loss is NaN, or another number that is none."""

    def __init__(self, steps: list[int], rank: int = 0, loss: float = math.nan) -> None:
        super().__init__(steps, rank)
        self.loss = loss

    def strike(self, batch: Any) -> None:
        batch.weight.fill_(math.nan if math.isnan(self.loss) else 1.0 / self.loss)


class Signal(Fault):
    """The process gets a signal, once; ``mark`` is a file that remembers it."""

    def __init__(self, steps: list[int], mark: str, name: str = "SIGKILL", rank: int = 0) -> None:
        super().__init__(steps, rank)
        self.mark, self.name = mark, name

    def strike(self, batch: Any) -> None:
        if not Path(self.mark).exists():
            Path(self.mark).touch()
            os.kill(os.getpid(), signal.Signals[self.name])


class TimeIsUp(pl.Callback):
    """The run ends after a batch, as Lightning's own callbacks end it; counted from 1."""

    def __init__(self, batch: int) -> None:
        self.batch = batch

    def on_train_batch_end(
        self,
        trainer: pl.Trainer,
        pl_module: pl.LightningModule,
        outputs: Any,
        batch: Any,
        batch_idx: int,
    ) -> None:
        if batch_idx + 1 == self.batch:
            trainer.should_stop = True


class Crash(Fault):
    """The run dies, and saves nothing."""

    def strike(self, batch: Any) -> None:
        raise RuntimeError("crashed")


class KillService(Fault):
    """The processes that this one has started are killed, wandb's service among them."""

    def __init__(self, steps: list[int], mark: str) -> None:
        super().__init__(steps)
        self.mark = mark

    def strike(self, batch: Any) -> None:
        for status in Path("/proc").glob("[0-9]*/status"):
            try:
                held = f"PPid:\t{os.getpid()}\n" in status.read_text()
                command = (status.parent / "cmdline").read_text().replace("\0", " ")
            except (FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
                continue
            if held:  # its own child: what has ended can still be killed
                with Path(self.mark).open("a") as mark:
                    mark.write(command + "\n")
                os.kill(int(status.parent.name), signal.SIGKILL)
