"""How one request travels to a service and back: by the `openai` client, or by plain HTTP."""

import os
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol
from urllib.parse import urlsplit

from robustparse.errors import InputError, optional_library, reason, root_cause

LIBRARIES = "run `pip install robustparse[llm]`"

Body = dict[str, Any] | list[Any]
"""The JSON body of a request."""

Value = list[Any]
"""What is kept of a reply, in JSON."""


class Reply(NamedTuple):
    """The reply to a request.

    Args:
        status: the HTTP status.
        headers: by lower-cased names.
        content: the body.
    """

    status: int
    headers: Mapping[str, str]
    content: bytes


class NoReplyError(Exception):
    """A connection that failed, or timed out, before the reply was complete."""


class Transport(Protocol):
    """Sends one request; it is used from one event loop only."""

    async def post(self, body: Body) -> Reply:
        """Send a request once.

        Raises:
            NoReplyError: the reply did not arrive.
        """

    async def close(self) -> None:
        """Close all connections."""


class OpenAITransport:
    """Sends chat completions with the `openai` client, whose own retries are off.

    Args:
        url: the base URL of the server.
        key: the key; None sends a placeholder, for servers that need none.
        timeout: seconds.
        connections: the most connections at once.
    """

    def __init__(self, url: str, key: str | None, timeout: float, connections: int) -> None:
        self._openai = optional_library("openai", "victim", LIBRARIES)
        self._httpx = optional_library("httpx2", "victim", LIBRARIES)
        client = _client(self._httpx, timeout, connections)
        self._client = self._openai.AsyncOpenAI(
            base_url=url,
            api_key=key or "none",
            timeout=timeout,
            max_retries=0,
            http_client=client,
        )

    async def post(self, body: Body) -> Reply:
        """See `Transport.post`."""
        try:
            response = await self._client.post(
                "/chat/completions", cast_to=self._httpx.Response, body=body
            )
        except self._openai.APIStatusError as error:
            response = error.response
        except (self._openai.APIConnectionError, self._httpx.HTTPError) as error:
            raise NoReplyError(_cause(error)) from None
        return Reply(response.status_code, response.headers, response.content)

    async def close(self) -> None:
        """See `Transport.close`."""
        await self._client.close()


class HttpTransport:
    """Posts JSON.

    Args:
        url: where to.
        headers: of every request, with the key.
        timeout: seconds.
        connections: the most connections at once.
    """

    def __init__(
        self, url: str, headers: Mapping[str, str], timeout: float, connections: int
    ) -> None:
        self._httpx = optional_library("httpx2", "victim", LIBRARIES)
        self._url, self._headers = url, dict(headers)
        self._client = _client(self._httpx, timeout, connections)

    async def post(self, body: Body) -> Reply:
        """See `Transport.post`."""
        try:
            response = await self._client.post(self._url, json=body, headers=self._headers)
        except self._httpx.HTTPError as error:
            raise NoReplyError(_cause(error)) from None
        return Reply(response.status_code, response.headers, response.content)

    async def close(self) -> None:
        """See `Transport.close`."""
        await self._client.aclose()


def key_named(variable: str) -> str | None:
    """Return the key in an environment variable; None if it is not set or empty."""
    return os.environ.get(variable) or None


def check_url(url: str) -> None:
    """Reject what is not an address, and addresses that hold a password.

    Raises:
        InputError: the message does not repeat a password.
    """
    expected = "an address, such as http://localhost:8000/v1"
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise InputError(reason(error), key="victim: url", expected=expected) from None
    if parts.username is not None or parts.password is not None:
        problem = "holds a user name or password, which run.json would show"
        remedy = "leave them out; the key is read from an environment variable (`key_variable`)"
        raise InputError(problem, key="victim: url", remedy=remedy)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InputError(f"got {url!r:.80}", key="victim: url", expected=expected)


def _client(httpx: Any, timeout: float, connections: int) -> Any:
    """Return a client that follows no redirections, which could lead the key elsewhere."""
    limits = httpx.Limits(max_connections=connections, max_keepalive_connections=connections)
    return httpx.AsyncClient(limits=limits, timeout=timeout)


def _cause(error: BaseException) -> str:
    """Return the class and the message of the innermost cause."""
    cause = root_cause(error)
    return f"{type(cause).__name__}: {reason(cause)}"
