"""A stand-in for W&B's runs that shows what was logged, and fails where it is told to."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest


class Run:
    """A W&B run that keeps what it is given, and fails where it is told to.

    Args:
        fails: method -> whether a call with these values fails.
        given: the arguments of ``wandb.init``.
    """

    def __init__(self, fails: dict[str, Any], **given: Any) -> None:
        self.fails, self.given, self.config = fails, given, self
        self.logged: list[dict[str, Any]] = []
        self.axes: dict[str, dict[str, Any]] = {}
        self.settings: dict[str, Any] = {}
        self.exit_codes: list[int] = []

    def _call(self, name: str, values: Any) -> None:
        if name in self.fails and self.fails[name](values):
            raise OSError(28, "No space left on device")

    def define_metric(self, name: str, **settings: Any) -> None:
        self._call("define_metric", name)
        self.axes[name] = settings

    def log(self, values: dict[str, Any]) -> None:
        self._call("log", values)
        self.logged.append(values)

    def update(self, settings: dict[str, Any], allow_val_change: bool) -> None:
        self._call("config", settings)
        self.settings |= settings

    def finish(self, exit_code: int) -> None:
        self._call("finish", exit_code)
        self.exit_codes.append(exit_code)


class Runs(list[Run]):
    """The runs that ``wandb.init`` gave.

    Args:
        fails: for the runs to come, see `Run`.
    """

    def __init__(self) -> None:
        super().__init__()
        self.fails: dict[str, Any] = {}

    def init(self, **given: Any) -> Run:
        self.append(Run(self.fails, **given))
        return self[-1]


@contextmanager
def wandb_runs() -> Iterator[Runs]:
    """Let ``wandb.init`` give such runs."""
    runs = Runs()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("wandb.init", runs.init)
        yield runs
