"""Keeps what a tracking service raises away from the run that it tracks."""

import functools
import logging
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from pytorch_lightning.utilities import rank_zero_only

from robustparse.errors import reason

_ATTEMPTS = 3

log = logging.getLogger(__name__)


class Failures:
    """What went wrong with a service, by what was tried: warned of once, given up in the end.

    Args:
        service: its name.
        vital: the action without which the service is of no use; where it fails, no other one is
            warned of.
    """

    def __init__(self, service: str, vital: str) -> None:
        self.service, self.vital = service, vital
        self._in_a_row: dict[str, int] = {}
        self._warned: set[str] = set()

    def gave_up(self, action: str) -> bool:
        """Whether it has failed three times in a row."""
        return self._in_a_row.get(action, 0) >= _ATTEMPTS

    def succeeded(self, action: str) -> None:
        """Take note that it went well."""
        self._in_a_row.pop(action, None)

    def add(self, action: str, error: Exception) -> None:
        """Take note of an error; the first of its kind is a warning."""
        self._in_a_row[action] = self._in_a_row.get(action, 0) + 1
        if not self._warned & {action, self.vital}:
            self._warned.add(action)
            said = "%s: %s failed, the run goes on without: %s"
            log.warning(said, self.service, action, reason(error, 200))


class Guarded(Protocol):
    """A logger whose methods are guarded."""

    failures: Failures

    @property
    def experiment(self) -> Any:
        """The service's run, or ``Silence``."""
        ...

    def failed(self, action: str, error: Exception) -> None:
        """Take note of an error."""
        ...


P = ParamSpec("P")
Self = TypeVar("Self", bound="Guarded")


def guarded(
    action: str, starts: bool = True
) -> Callable[[Callable[Concatenate[Self, P], None]], Callable[Concatenate[Self, P], None]]:
    """Whatever a method of the logger raises becomes one warning.

    Args:
        action: what it does, for the warning.
        starts: it needs a run, and does nothing where there is none to be had.
    """

    def guard(method: Callable[Concatenate[Self, P], None]) -> Callable[Concatenate[Self, P], None]:
        @rank_zero_only
        @functools.wraps(method)
        def attempt(self: Self, /, *args: P.args, **kwargs: P.kwargs) -> None:
            if self.failures.gave_up(action):
                return
            try:
                if not starts or not isinstance(self.experiment, Silence):
                    method(self, *args, **kwargs)
                self.failures.succeeded(action)
            except Exception as error:  # wandb's own errors share no base with what it lets through
                self.failed(action, error)

        return attempt

    return guard


class Silence:
    """Stands for a W&B run that is not to be had: takes every call, does nothing."""

    def __getattr__(self, name: str) -> "Silence":
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *args: object, **kwargs: object) -> "Silence":
        """Nothing, and the same again."""
        return self
