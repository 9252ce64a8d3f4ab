"""Sends many requests at once, retries those that fail, and keeps within limits.

Every request that is sent counts, retries too. Requests that fail temporarily are
retried after pauses that double; if a server names a pause (``Retry-After``), it gets no request
until the pause is over. After a permanent failure, such as a spent budget, nothing more is sent,
but replies to requests in flight are still awaited and kept: they have been paid for.
"""

import asyncio
import json
import random
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from email.utils import parsedate_to_datetime
from typing import Any, Protocol

from robustparse.errors import InputError
from robustparse.victims.request_limits import Budget, PerMinute, Taken
from robustparse.victims.transports import Body, NoReplyError, Reply, Transport, Value

FIRST_PAUSE = 0.5
"""Seconds before the first retry, without ``Retry-After``."""

_LONGEST_PAUSE = 60.0
_GATHERED = 0.02  # seconds for which answers are collected before they are written
_PASSING = frozenset({408, 409, 425, 429})  # and all from 500 on
_SHOWN = 200  # characters of a reply in messages

Keep = Callable[[Mapping[bytes, Value]], None]
"""Stores values by the keys of their requests."""


class Reader(Protocol):
    """What the dispatcher must know about a service."""

    def most_tokens(self, body: Body) -> int:
        """Return an upper bound of the tokens of a request and its answer."""

    def accepted(self, content: Any) -> tuple[Value, int | None]:
        """Return what is kept of a reply, and the tokens it used if it says so.

        Raises:
            ValueError, LookupError, TypeError: the reply is malformed.
        """

    def expected(self) -> str:
        """Return what a reply must have for `accepted`."""

    def refused(self, status: int, said: str) -> InputError:
        """Return the error for a request that the server refuses for a lasting reason."""

    def hidden(self, text: str) -> str:
        """Return a text without the key."""


class _PassingError(Exception):
    """A failure after which the request is sent again.

    Args:
        problem: what went wrong.
        pause_named: whether the server has said when to ask again.
        expected: what the reply lacks, if it is JSON.
    """

    def __init__(
        self, problem: str, pause_named: bool = False, expected: str | None = None
    ) -> None:
        super().__init__(problem)
        self.pause_named, self.expected = pause_named, expected


class Dispatcher:
    """Sends requests to one service.

    Args:
        transport: sends one request.
        reader: the service.
        max_concurrent: the most requests at once.
        retries: how often a request is repeated.
        budget: what may be sent.
        per_minute: the limits on requests and on tokens.
    """

    def __init__(
        self,
        transport: Transport,
        reader: Reader,
        max_concurrent: int,
        retries: int,
        budget: Budget,
        per_minute: tuple[PerMinute, PerMinute],
    ) -> None:
        self._transport, self._reader = transport, reader
        self._max_concurrent, self._retries = max_concurrent, retries
        self._budget, (self._requests, self._tokens) = budget, per_minute
        self._resume_at = 0.0  # no request is sent before this time
        self._in_flight = 0
        self._gate = asyncio.Lock()  # requests are admitted one by one, in their order
        self._landed = asyncio.Event()
        self._failed = False
        self.repeated = 0

    async def ask(self, bodies: Mapping[bytes, Body], keep: Keep) -> dict[bytes, Value]:
        """Send requests; return what is kept of their replies.

        Args:
            bodies: the requests by their keys.
            keep: is called with the values as they arrive, in another thread.

        Raises:
            InputError: the budget is spent, or a request failed for good. All other replies have
                been kept.
        """
        waiting = iter(bodies.items())
        values, arrived, ended = dict[bytes, Value](), dict[bytes, Value](), asyncio.Event()
        keeping = asyncio.create_task(_keep_arriving(arrived, ended, keep))
        self._failed = False

        async def work() -> None:
            for key, body in waiting:
                if self._failed or keeping.done():
                    return
                value = await self._answered(body)
                if value is not None:
                    values[key] = arrived[key] = value

        workers = [work() for _ in range(min(self._max_concurrent, len(bodies)))]
        try:
            ends = await asyncio.gather(*workers, return_exceptions=True)
        finally:
            ended.set()
            await keeping
        for end in ends:
            if end is not None:
                raise end
        return values

    async def _answered(self, body: Body) -> Value | None:
        """Send a request until it is answered; None if another request has failed meanwhile."""
        try:
            for attempt in range(self._retries + 1):
                self.repeated += attempt > 0
                try:
                    return await self._tried(body)
                except _PassingError as error:
                    failure = error
                if attempt < self._retries and not failure.pause_named:
                    longest = min(_LONGEST_PAUSE, FIRST_PAUSE * 2.0**attempt)
                    # Requests that failed together are not repeated together.
                    await asyncio.sleep(random.uniform(0.5, 1.0) * longest)
                if self._failed:
                    return None
            raise InputError(
                f"{failure}, after {self._retries} repetitions",
                key="victim: url",
                expected=failure.expected,
                remedy="run again when the server answers; what is finished is kept",
            )
        except BaseException:
            self._failed = True
            raise

    async def _tried(self, body: Body) -> Value:
        """Send a request once and return what is kept of its reply.

        Raises:
            _PassingError: it may succeed later.
            InputError: the budget is spent, or the server refuses for a lasting reason.
        """
        reserved = self._reader.most_tokens(body)
        taken = await self._admitted(reserved)
        used = reserved  # of a reply that is lost
        try:
            reply = await self._transport.post(body)
            used = 0
            if not 200 <= reply.status < 300:
                raise self._failure(reply)
            problem = f"the server sent {self._said(reply)!r}"
            try:
                content = json.loads(reply.content)
            except ValueError:
                raise _PassingError(problem) from None
            try:
                value, tokens = self._reader.accepted(content)
            except (ValueError, LookupError, TypeError):
                raise _PassingError(problem, expected=self._reader.expected()) from None
            used = reserved if tokens is None else tokens
            return value
        except NoReplyError as error:
            raise _PassingError(self._reader.hidden(f"no reply ({error})")) from None
        finally:
            self._budget.settle(reserved, used)
            self._tokens.correct(taken, used)
            self._in_flight -= 1
            self._landed.set()

    async def _admitted(self, tokens: int) -> Taken:
        """Wait until the limits admit a request of so many tokens, and count it.

        Raises:
            InputError: the budget is spent.
        """
        async with self._gate:
            while not self._budget.allows(tokens):
                # Replies on their way may use fewer tokens than are reserved for them.
                if self._budget.requests_spent or not self._in_flight:
                    raise self._budget.spent()
                self._landed.clear()
                await self._landed.wait()
            while (delay := self._delay(tokens)) > 0:
                await asyncio.sleep(delay)
            self._in_flight += 1
            self._budget.take(tokens)
            self._requests.take(1)
            return self._tokens.take(tokens)

    def _delay(self, tokens: int) -> float:
        paused = self._resume_at - time.monotonic()
        return max(paused, self._requests.delay(1), self._tokens.delay(tokens))

    def _failure(self, reply: Reply) -> Exception:
        """Return the error for a reply that is no answer; keep the pause that it names."""
        if reply.status not in _PASSING and reply.status < 500:
            return self._reader.refused(reply.status, self._said(reply))
        pause = retry_after(reply.headers, time.time())
        if pause is not None:
            self._resume_at = max(self._resume_at, time.monotonic() + pause)
        problem = f"the server answered {reply.status} ({self._said(reply)})"
        return _PassingError(problem, pause is not None)

    def _said(self, reply: Reply) -> str:
        """Return the beginning of a reply in one line, without the key."""
        text = self._reader.hidden(reply.content.decode(errors="replace"))
        return " ".join(text.split())[:_SHOWN]


async def _keep_arriving(arrived: dict[bytes, Value], ended: asyncio.Event, keep: Keep) -> None:
    """Keep values soon after they arrive, several at once, until no more can arrive."""
    last = False
    while not last:
        with suppress(TimeoutError):
            await asyncio.wait_for(ended.wait(), _GATHERED)
        last = ended.is_set()
        batch = dict(arrived)
        arrived.clear()
        if batch:
            await asyncio.to_thread(keep, batch)


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Return the seconds that a reply asks to wait; None if it names none.

    Args:
        headers: by lower-cased names; ``retry-after-ms`` is more exact than ``retry-after``, which
            has seconds or a date.
        now: seconds since 1970.
    """
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        value = headers.get(name, "")
        with suppress(ValueError):
            return max(0.0, float(value) / unit)
        with suppress(ValueError):
            return max(0.0, parsedate_to_datetime(value).timestamp() - now)
    return None
