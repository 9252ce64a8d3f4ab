"""How one request travels to a service and back."""

import os
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from robustparse.errors import InputError, optional_library, reason, root_cause

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


class Transport:
    """Posts JSON; it is used from one event loop only.

    Args:
        url: where to.
        headers: of every request, with the key.
        timeout: seconds.
        connections: the most connections at once.
    """

    def __init__(
        self, url: str, headers: Mapping[str, str], timeout: float, connections: int
    ) -> None:
        remedy = "run `pip install robustparse[llm]`"
        self._httpx = optional_library("httpx2", "victim", remedy)
        self._url, self._headers = url, headers
        limits = self._httpx.Limits(
            max_connections=connections, max_keepalive_connections=connections
        )
        # It follows no redirections, which could lead the key elsewhere.
        self._client = self._httpx.AsyncClient(limits=limits, timeout=timeout)

    async def post(self, body: Body) -> Reply:
        """Send a request once.

        Raises:
            NoReplyError: the reply did not arrive.
        """
        try:
            response = await self._client.post(self._url, json=body, headers=self._headers)
        except self._httpx.HTTPError as error:
            cause = root_cause(error)
            raise NoReplyError(f"{type(cause).__name__}: {reason(cause)}") from None
        return Reply(response.status_code, response.headers, response.content)

    async def close(self) -> None:
        """Close all connections."""
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
        found = "holds a user name or password, which run.json would show"
        remedy = "leave them out; the key is read from an environment variable (`key_variable`)"
        raise InputError(found, key="victim: url", remedy=remedy)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InputError(f"got {url!r:.80}", key="victim: url", expected=expected)
