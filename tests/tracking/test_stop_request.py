"""Signals are recorded in the run that asked for it, and in no other one."""

import signal

import pytorch_lightning as pl

from robustparse.tracking.last_checkpoint import SIGNALS, StopRequest


def test_signals_are_those_of_one_run() -> None:
    before = [signal.getsignal(number) for number in SIGNALS]
    trainer = pl.Trainer(accelerator="cpu", logger=False, enable_checkpointing=False)
    connector = trainer._signal_connector  # as `robustparse.lightning` knows it
    StopRequest().install_with(trainer)
    recorded = []
    for _ in range(2):  # a fit, then a test with the same trainer
        connector.register_signal_handlers()
        handlers = [signal.getsignal(number) for number in SIGNALS]
        recorded.append(
            [getattr(each, "__func__", None) is StopRequest._record for each in handlers]
        )
        connector.teardown()
    assert recorded == [[True] * len(SIGNALS), [False] * len(SIGNALS)]
    assert [signal.getsignal(number) for number in SIGNALS] == before
