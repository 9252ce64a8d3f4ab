"""Answers of services by the digests of their requests, in memory or in one SQLite file."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from robustparse.attacks.disk_cache import DiskCache

Value = list[Any]
"""What is kept of a reply, in JSON."""


def request_key(url: str, body: Any) -> bytes:
    """Return the SHA-256 of a request; neither headers nor the key are part of it."""
    content = json.dumps([url, body], sort_keys=True, ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(content.encode()).digest()


class AnswerCache:
    """A table of values by keys.

    Args:
        path: the file, which processes may share; None keeps the values in memory.
    """

    def __init__(self, path: str | Path | None) -> None:
        self._file = None if path is None else DiskCache(Path(path).expanduser(), "answer")
        self._memory: dict[bytes, Value] = {}

    def read(self, keys: Sequence[bytes]) -> dict[bytes, Value]:
        """Return the values of those keys that have one.

        Raises:
            InputError: the file cannot be used.
        """
        if self._file is not None:
            return self._file.read(keys)
        return {key: self._memory[key] for key in keys if key in self._memory}

    def write(self, values: Mapping[bytes, Value]) -> None:
        """Add values; in a file, they are on disk when this returns.

        Raises:
            InputError: the file cannot be written.
        """
        if self._file is None:
            self._memory.update(values)
        elif values:
            self._file.write(values)
