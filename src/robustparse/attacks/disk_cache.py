"""A cache of model outputs in one SQLite file.

SQLite commits atomically: a run that is killed while writing loses only that batch, and several
processes may share the file. Each value is a JSON list followed by its checksum.
"""

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from zlib import crc32

from robustparse.errors import InputError
from robustparse.files.json_text import decode_json

_KEYS_PER_QUERY = 500  # SQLite allows 999 parameters in older builds
_REMEDY = "delete the file; it will be made again"


class DiskCache:
    """A table from keys to lists of JSON values.

    Args:
        path: the file, created if missing.
        kind: the kind of values, for messages: ``candidate`` or ``translation``.
    """

    def __init__(self, path: Path, kind: str) -> None:
        self.path, self.kind = path, kind

    def read(self, keys: Sequence[bytes]) -> dict[bytes, list[Any]]:
        """Return the values of those keys that are stored.

        Raises:
            InputError: the file is not a cache, or a row is damaged.
        """
        known: dict[bytes, object] = {}
        with self._database() as database:
            for begin in range(0, len(keys), _KEYS_PER_QUERY):
                chunk = keys[begin : begin + _KEYS_PER_QUERY]
                marks = ",".join("?" * len(chunk))
                known.update(
                    (bytes(key), text)
                    for key, text in database.execute(
                        f"SELECT key, words FROM candidates WHERE key IN ({marks})", chunk
                    )
                )
        return {key: self._value(key, text) for key, text in known.items()}

    def write(self, values: Mapping[bytes, list[Any]]) -> None:
        """Add values; keys that are already stored keep their values.

        Raises:
            InputError: the file cannot be written, or is not a cache.
        """
        with self._database() as database, database:
            database.executemany(
                "INSERT OR IGNORE INTO candidates VALUES (?, ?)",
                [(key, _with_checksum(json.dumps(value))) for key, value in values.items()],
            )

    def row_error(self, key: bytes, problem: str, expected: str | None = None) -> InputError:
        """Return the error for a row with an unusable value."""
        row = f"key X'{key.hex()}'"
        return InputError(problem, path=self.path, key=row, expected=expected, remedy=_REMEDY)

    def _value(self, key: bytes, text: object) -> list[Any]:
        """Decode a row; its content is not trusted."""
        if not isinstance(text, str):
            raise self.row_error(key, "not text")
        content = text.rpartition(" ")[0]
        if _with_checksum(content) != text:
            raise self.row_error(key, "damaged")
        try:
            return decode_json(content, list, path=self.path, remedy=_REMEDY)
        except InputError as error:
            raise self.row_error(key, error.found) from None

    @contextmanager
    def _database(self) -> Iterator[sqlite3.Connection]:
        """Open the file and close it afterwards; turn SQLite's errors into `InputError`s."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self.path, timeout=60.0)) as database:
                # The names date from the first version, which stored only candidates.
                database.execute(
                    "CREATE TABLE IF NOT EXISTS candidates (key BLOB PRIMARY KEY, words TEXT)"
                )
                yield database
        except (OSError, sqlite3.Error, UnicodeDecodeError) as error:
            raise InputError(
                f"cannot be used as a {self.kind} cache ({error})",
                path=self.path,
                remedy="give a path in a writable folder, or delete the file if it is not a cache",
            ) from error


def _with_checksum(content: str) -> str:
    return f"{content} {crc32(content.encode()):08x}"
