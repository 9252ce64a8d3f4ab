"""Keep what a tracking service raises away from the run that it tracks."""

import logging
from collections import Counter
from collections.abc import Callable
from typing import TypeVar

from robustparse.errors import reason

T = TypeVar("T")

_ATTEMPTS = 3

log = logging.getLogger(__name__)


class Guard:
    """Turns all errors of a service into one warning.

    An action that has failed three times in a row is not tried again.

    Args:
        service: its name.
    """

    def __init__(self, service: str) -> None:
        self.service = service
        self._failures: Counter[str] = Counter()
        self._warned = False

    def gave_up(self, action: str) -> bool:
        """Tell whether an action is not tried any more."""
        return self._failures[action] >= _ATTEMPTS

    def attempt(self, action: str, call: Callable[[], T]) -> T | None:
        """Return the result of a call; None where it failed or is not tried any more.

        Args:
            action: what it does, for the warning.
            call: what may fail.
        """
        if self.gave_up(action):
            return None
        try:
            result = call()
        except Exception as error:  # wandb's own errors share no base with what it lets through
            self._failures[action] += 1
            self.warn(action, error)
            return None
        self._failures[action] = 0
        return result

    def warn(self, action: str, error: Exception) -> None:
        """Warn of an error, unless there was a warning before."""
        if not self._warned:
            message = "%s: %s failed, the run continues without: %s"
            log.warning(message, self.service, action, reason(error, 200))
        self._warned = True


class Silence:
    """Stands for the run of a service that cannot be had: accepts every call and does nothing."""

    def __getattr__(self, name: str) -> "Silence":
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *args: object, **kwargs: object) -> "Silence":
        """Do nothing."""
        return self
