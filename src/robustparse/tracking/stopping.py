"""A request to stop from outside: SIGTERM, or the SIGUSR1 that a cluster sends before its limit.

Lightning's handlers speak to the other processes, or save, from within the signal: amid a step, or
while another process waits in another collective operation. Here a handler only takes note. When a
batch starts all processes ask each other, so one of them may have got the signal for all, and they
stop at the same step, behind the same checkpoint.
"""

import signal
import threading
from types import FrameType

import pytorch_lightning as pl
import torch

SIGNALS = (signal.SIGTERM, signal.SIGUSR1)


class Stopped(SystemExit):
    """Ends the program as a shell reports a signal: 143 for SIGTERM, 138 for SIGUSR1.

    Args:
        number: of the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__(128 + number)


class StopRequest:
    """Takes note of the signals of one run."""

    def __init__(self) -> None:
        self._received = 0

    def install_with(self, trainer: pl.Trainer) -> None:
        """Handle the signals of the next run from the moment at which Lightning handles them.

        No hook stands between that and the reading of the training data, which may take long. At
        the run's end Lightning puts back all handlers of before it; what the trainer runs behind
        it, a test say, is Lightning's own to end.

        Args:
            trainer: about to run.
        """
        connector = trainer._signal_connector
        register = connector.register_signal_handlers

        def both() -> None:
            connector.register_signal_handlers = register  # type: ignore[method-assign]
            register()
            self._install()

        connector.register_signal_handlers = both  # type: ignore[method-assign]

    def _install(self) -> None:
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                signal.signal(number, self._note)

    def agreed(self, trainer: pl.Trainer) -> int:
        """Return the number of the signal that any process got, 0 for none; called by all."""
        if trainer.world_size == 1:
            return self._received
        highest = torch.tensor(self._received, device=trainer.strategy.root_device)
        torch.distributed.all_reduce(highest, torch.distributed.ReduceOp.MAX)
        return int(highest)

    def _note(self, number: int, _: FrameType | None) -> None:
        self._received = number
