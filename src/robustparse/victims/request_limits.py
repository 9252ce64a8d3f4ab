"""Limits on what is sent to a service: units per minute, and the budget of a run."""

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from robustparse.errors import InputError

_MINUTE = 60.0


@dataclass(eq=False, slots=True)
class Taken:
    """Units that were taken at a time; `counted` as long as they are in the last minute."""

    at: float
    amount: int
    counted: bool = True


class PerMinute:
    """At most a number of units, such as requests or tokens, in any 60 seconds.

    Args:
        limit: the number; None is unlimited. A larger amount waits until nothing else counts.
        clock: returns the time in seconds.
    """

    def __init__(self, limit: int | None, clock: Callable[[], float] = time.monotonic) -> None:
        self.limit, self._clock = limit, clock
        self._taken: deque[Taken] = deque()  # oldest first
        self._sum = 0

    def delay(self, amount: int) -> float:
        """Return in how many seconds the amount may be taken; 0 if now."""
        now = self._clock()
        while self._taken and self._taken[0].at + _MINUTE <= now:
            oldest = self._taken.popleft()
            oldest.counted = False
            self._sum -= oldest.amount
        left, until = self._sum, now
        for taken in self._taken:
            if self.limit is None or left == 0 or left + amount <= self.limit:
                break
            left -= taken.amount
            until = taken.at + _MINUTE
        return until - now

    def take(self, amount: int) -> Taken:
        """Take an amount now."""
        taken = Taken(self._clock(), amount)
        self._taken.append(taken)
        self._sum += amount
        return taken

    def correct(self, taken: Taken, amount: int) -> None:
        """Replace an estimated amount by the true one."""
        if taken.counted:
            self._sum += amount - taken.amount
        taken.amount = amount


class Budget:
    """The requests and tokens that a run may use.

    The tokens of a request are known when its reply arrives. Until then, an upper bound is
    reserved, so that the budget is never exceeded.

    Args:
        max_requests: None is unlimited.
        max_tokens: None is unlimited.

    Attributes:
        requests: requests sent.
        tokens: tokens of the replies, and those reserved.
    """

    def __init__(self, max_requests: int | None, max_tokens: int | None) -> None:
        self.max_requests, self.max_tokens = max_requests, max_tokens
        self.requests = self.tokens = 0

    def allows(self, tokens: int) -> bool:
        """Tell whether another request with so many tokens may be sent."""
        within = self.max_tokens is None or self.tokens + tokens <= self.max_tokens
        return within and not self.requests_spent

    @property
    def requests_spent(self) -> bool:
        """Whether no further request is allowed, whatever its tokens."""
        return self.max_requests is not None and self.requests >= self.max_requests

    def take(self, tokens: int) -> None:
        """Count a request, and reserve its tokens."""
        self.requests += 1
        self.tokens += tokens

    def settle(self, reserved: int, used: int) -> None:
        """Replace reserved tokens by the used ones."""
        self.tokens += used - reserved

    def spent(self) -> InputError:
        """Return the error that ends the run."""
        key = "max_requests" if self.requests_spent else "max_tokens"
        limit = getattr(self, key)
        return InputError(
            f"the budget of {limit} is spent, by {self.requests} requests",
            key=f"victim: {key}",
            remedy="finished work is kept: run again with a new budget of this size, or raise it",
        )
