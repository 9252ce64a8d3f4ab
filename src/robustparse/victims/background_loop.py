"""An event loop in a thread of its own, so that a notebook, which runs one, can use it too."""

import asyncio
from collections.abc import Coroutine
from threading import Event, Thread
from typing import Any, TypeVar

T = TypeVar("T")

_SECONDS_TO_END = 10.0


class BackgroundLoop:
    """Runs coroutines for callers that are not asynchronous."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, daemon=True, name="robustparse victim")
        self._thread.start()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Wait for a coroutine; an interruption, such as Ctrl-C, cancels it and lets it end."""
        ended = Event()

        async def whole() -> T:
            try:
                return await coroutine
            finally:
                ended.set()

        future = asyncio.run_coroutine_threadsafe(whole(), self._loop)
        try:
            return future.result()
        except BaseException:
            if future.cancel():
                ended.wait(_SECONDS_TO_END)
            raise

    def close(self) -> None:
        """Stop the loop and end its thread."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
