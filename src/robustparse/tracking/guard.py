"""Keeps what a tracking service raises away from the run that it tracks."""

import functools
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from pytorch_lightning.utilities import rank_zero_only


class Guarded(Protocol):
    """A logger whose methods are guarded."""

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
            try:
                if not starts or not isinstance(self.experiment, Silence):
                    method(self, *args, **kwargs)
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
