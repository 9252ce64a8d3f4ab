"""The base class of victims behind a service: concurrent requests, a cache of answers, limits."""

import hashlib
import json
import weakref
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from robustparse.attacks.disk_cache import DiskCache
from robustparse.attacks.victim import Scores
from robustparse.data.read_options import FileUse
from robustparse.errors import InputError, check_least
from robustparse.tasks.task import Task
from robustparse.types import Example
from robustparse.victims.background_loop import BackgroundLoop
from robustparse.victims.black_box import BlackBox
from robustparse.victims.request_limits import Budget, PerMinute
from robustparse.victims.retries import Dispatcher
from robustparse.victims.transports import Body, Transport, Value, check_url, key_named

_TEXTS_PER_CONNECTION = 32
"""At the end of a call, connections are idle for at most 1/32 of its time on average."""

REFUSED = "victim"
"""The key of errors about requests that the server does not accept."""


class Read(NamedTuple):
    """An answer as it was read from a reply.

    Args:
        answer: as `BlackBox.answer` returns it.
        readable: whether the reply named a label, or a form of the language.
    """

    answer: Any
    readable: bool

    @property
    def name(self) -> str:
        """The label or form, without probabilities."""
        return str(self.answer[0] if isinstance(self.answer, tuple) else self.answer)


class Service(BlackBox):
    """A victim that is asked one text per request, many at once.

    A request whose answer is in the cache is not sent, so that a run that was killed and resumed
    asks nothing twice.

    Args:
        url: the address.
        task: see `BlackBox`.
        labels: see `BlackBox`.
        training: see `BlackBox`.
        pairs: see `BlackBox`.
        language: see `BlackBox`.
        scores: see `BlackBox`.
        cache: the SQLite file of all answers, made if it is missing; None keeps them in memory,
            until the command ends.
        max_concurrent: the most requests at once.
        max_requests: the most requests of a run, repeated ones included. When they are spent, the
            command ends with status 2 and keeps the finished sentences; run it again to resume.
        max_tokens: the same for tokens, of requests and answers.
        requests_per_minute: the most requests in any 60 seconds.
        tokens_per_minute: the most tokens in any 60 seconds.
        retries: how often a request is repeated after a temporary failure.
        timeout: seconds until a request without a reply has failed.
        check_determinism: the first requests, as many as this, are sent twice, and the answers
            compared.
        key_variable: the environment variable that holds the key, if the service needs one.
    """

    CACHES: ClassVar[tuple[str, ...]] = ("cache",)
    PACKING: ClassVar[tuple[str, ...]] = (
        *("cache", "max_concurrent", "max_requests", "max_tokens", "requests_per_minute"),
        *("tokens_per_minute", "retries", "timeout", "check_determinism", "key_variable"),
    )
    answers_unreadable = True
    one_process = True

    def __init__(
        self,
        url: str,
        task: Task | str,
        *,
        labels: Sequence[str] | None = None,
        training: Sequence[Example] = (),
        pairs: bool = False,
        language: str | None = None,
        scores: Scores = "probabilities",
        cache: str | None = None,
        max_concurrent: int = 16,
        max_requests: int | None = None,
        max_tokens: int | None = None,
        requests_per_minute: int | None = None,
        tokens_per_minute: int | None = None,
        retries: int = 8,
        timeout: float = 60.0,
        check_determinism: int = 0,
        key_variable: str = "OPENAI_API_KEY",
    ) -> None:
        check_url(url)
        check_least(
            "victim",
            max_concurrent=max_concurrent,
            max_requests=max_requests,
            max_tokens=max_tokens,
            requests_per_minute=requests_per_minute,
            tokens_per_minute=tokens_per_minute,
        )
        check_least("victim", 0, retries=retries, check_determinism=check_determinism)
        if not timeout > 0:
            raise InputError(f"must be > 0, got {timeout}", key="victim: timeout")
        super().__init__(
            task,
            labels=labels,
            training=training,
            batch_texts=_TEXTS_PER_CONNECTION * max_concurrent,
            pairs=pairs,
            language=language,
            scores=scores,
        )
        self.url, self.cache, self.key_variable = url, cache, key_variable
        self.max_concurrent, self.retries, self.timeout = max_concurrent, retries, timeout
        self.check_determinism = check_determinism
        self._budget = Budget(max_requests, max_tokens)
        self._per_minute = PerMinute(requests_per_minute), PerMinute(tokens_per_minute)
        self._file = None if cache is None else DiskCache(Path(cache).expanduser(), "answer")
        self._memory: dict[bytes, Value] = {}  # the cache if there is no file
        self._from_cache = self._asked_twice = self._disagreements = 0
        self._unreadable: set[bytes] = set()

    @abstractmethod
    def transport(self) -> Transport:
        """Return the transport that sends the requests."""

    @abstractmethod
    def request(self, text: Any) -> Body:
        """Return the request about a text, or about a pair of texts."""

    @abstractmethod
    def accepted(self, content: Any) -> tuple[Value, int | None]:
        """See `Reader.accepted`."""

    @abstractmethod
    def expected(self) -> str:
        """See `Reader.expected`."""

    @abstractmethod
    def read(self, value: Value) -> Read:
        """Return the answer in what was kept of a reply.

        Raises:
            InputError: the reply lacks something that the settings ask for.
        """

    def most_tokens(self, body: Body) -> int:
        """See `Reader.most_tokens`; by default the service counts no tokens."""
        return 0

    def refused(self, status: int, said: str) -> InputError:
        """See `Reader.refused`."""
        if status in (401, 403):
            held = "set" if self._key else "not set"
            return InputError(
                f"the server answered {status}: it refuses the key",
                key="victim: key_variable",
                remedy=f"put a valid key into the environment variable {self.key_variable}, which "
                f"is {held}",
            )
        return InputError(
            f"the server answered {status} ({said})",
            key=REFUSED,
            remedy="check url and model, and what the server accepts in a request",
        )

    def hidden(self, text: str) -> str:
        """See `Reader.hidden`."""
        return text.replace(self._key, "***") if self._key else text

    @property
    def _key(self) -> str | None:
        return key_named(self.key_variable)

    def answer(self, texts: list[Any]) -> list[Any]:
        """Ask about texts; equal requests are sent once."""
        keys, values, new = self._values([self.request(text) for text in texts])
        read = {key: self.read(value) for key, value in values.items()}
        self._unreadable.update(key for key, each in read.items() if not each.readable)
        self._ask_twice(new, read)
        return [read[key].answer for key in keys]

    def values(self, requests: Sequence[Body]) -> list[Value]:
        """Return what is kept of the reply to each request; those in the cache are not sent."""
        keys, values, _ = self._values(requests)
        return [values[key] for key in keys]

    def keep(self, request: Body, value: Value) -> None:
        """Put a value for a request into the cache."""
        self._keep({self._request_key(request): value})

    def _values(
        self, requests: Sequence[Body]
    ) -> tuple[list[bytes], dict[bytes, Value], dict[bytes, Body]]:
        """Return the key of each request, the values by key, and the requests that were sent."""
        keys = [self._request_key(request) for request in requests]
        distinct = dict(zip(keys, requests, strict=True))
        known = self._memory if self._file is None else self._file.read([*distinct])
        values = {key: known[key] for key in distinct if key in known}
        self._from_cache += len(values)
        new = {key: body for key, body in distinct.items() if key not in values}
        if new:
            values |= self._send(new, self._keep)
        return keys, values, new

    def _request_key(self, request: Body) -> bytes:
        """Return the SHA-256 of a request; neither headers nor the key are part of it."""
        content = [self.url, request]
        text = json.dumps(content, sort_keys=True, ensure_ascii=False, allow_nan=False)
        return hashlib.sha256(text.encode()).digest()

    def _keep(self, values: Mapping[bytes, Value]) -> None:
        """Put values into the cache; in a file, they are on disk when this returns."""
        if self._file is None:
            self._memory.update(values)
        elif values:
            self._file.write(values)

    def counts(self) -> dict[str, int]:
        """Return what was sent, and how it was answered, since the victim was made."""
        repeated = self._dispatcher.repeated if "_dispatcher" in self.__dict__ else 0
        return {
            "requests": self._budget.requests,
            "repeated": repeated,
            "from_cache": self._from_cache,
            "unreadable": len(self._unreadable),
            "tokens": self._budget.tokens,
            "asked_twice": self._asked_twice,
            "disagreements": self._disagreements,
        }

    def warnings(self, examples: Sequence[Example], use: FileUse) -> Iterator[str]:
        """Warn of unknown labels, and if no file keeps the answers."""
        yield from super().warnings(examples, use)
        if self.cache is None:
            yield (
                "the answers of the service are not kept, so a resumed run asks again: name a file "
                "to keep them in, `cache`"
            )

    def _ask_twice(self, new: Mapping[bytes, Body], read: Mapping[bytes, Read]) -> None:
        """Send some new requests again, and compare the answers."""
        again = dict(islice(new.items(), self.check_determinism - self._asked_twice))
        if again:
            values = self._send(again, lambda _: None)
            self._asked_twice += len(values)
            second = {key: self.read(value) for key, value in values.items()}
            self._disagreements += sum(each.name != read[key].name for key, each in second.items())

    def _send(
        self, bodies: Mapping[bytes, Body], keep: Callable[[Mapping[bytes, Value]], None]
    ) -> dict[bytes, Value]:
        return self._loop.run(self._dispatcher.ask(bodies, keep))

    @cached_property
    def _loop(self) -> BackgroundLoop:
        return BackgroundLoop()

    @cached_property
    def _dispatcher(self) -> Dispatcher:
        transport, loop = self.transport(), self._loop

        def close() -> None:  # without a reference to this victim
            loop.run(transport.close())
            loop.close()

        weakref.finalize(self, close)
        limits = (self.max_concurrent, self.retries, self._budget, self._per_minute)
        return Dispatcher(transport, weakref.proxy(self), *limits)
