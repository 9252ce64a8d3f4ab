"""Stop on SIGTERM, or on the SIGUSR1 that a cluster sends before the time limit.

Lightning's handlers communicate or save inside the signal handler: in the middle of a step, or
while another process waits in another collective operation. Here a handler only records the signal.
When a batch starts, the processes compare what they received, so that a signal to one of them stops
all at the same step, after the same checkpoint.
"""

import signal
import threading
from types import FrameType

import pytorch_lightning as pl
import torch

from robustparse.lightning import after_signal_handlers

SIGNALS = (signal.SIGTERM, signal.SIGUSR1)


class StopRequest:
    """Records the signals of one run."""

    def __init__(self) -> None:
        self._received = 0

    def install_with(self, trainer: pl.Trainer) -> None:
        """Handle the signals of the next run instead of Lightning.

        Lightning restores the earlier handlers at the end of the run.

        Args:
            trainer: the trainer, before it runs.
        """
        after_signal_handlers(trainer, self._install)

    def _install(self) -> None:
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                signal.signal(number, self._record)

    def agreed(self, trainer: pl.Trainer) -> int:
        """Return the number of a signal that any process received, or 0; all processes call it."""
        if trainer.world_size == 1:
            return self._received
        highest = torch.tensor(self._received, device=trainer.strategy.root_device)
        torch.distributed.all_reduce(highest, torch.distributed.ReduceOp.MAX)
        return int(highest)

    def _record(self, number: int, _: FrameType | None) -> None:
        self._received = number
