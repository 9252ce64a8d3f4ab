"""What a model has made, kept in one SQLite file.

SQLite commits atomically: a run killed while writing loses only that batch, and several processes
may share the file. Values are lists as JSON text, with its checksum.
"""

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from zlib import crc32

from robustparse.errors import InputError
from robustparse.files import decode_json

_KEYS_PER_QUERY = 500  # SQLite allows 999 parameters in older builds
_REMEDY = "delete the file, and it is made again"


class DiskCache:
    """Lists of JSON values by keys.

    Args:
        path: the file, made if missing.
        kind: what it holds, for messages: ``candidate`` or ``translation``.
    """

    def __init__(self, path: Path, kind: str) -> None:
        self.path, self.kind = path, kind

    def read(self, keys: Sequence[bytes]) -> dict[bytes, list[Any]]:
        """Return the values of the keys that are there.

        Raises:
            InputError: the file is no cache, or names the damaged row.
        """
        known: dict[bytes, object] = {}
        with self._database() as database:
            for begin in range(0, len(keys), _KEYS_PER_QUERY):
                part = keys[begin : begin + _KEYS_PER_QUERY]
                marks = ",".join("?" * len(part))
                known.update(
                    (bytes(key), text)
                    for key, text in database.execute(
                        f"SELECT key, words FROM candidates WHERE key IN ({marks})", part
                    )
                )
        return {key: self._value(key, text) for key, text in known.items()}

    def write(self, values: Mapping[bytes, list[Any]]) -> None:
        """Add values; keys that are there keep theirs.

        Raises:
            InputError: the file cannot be written, or is no cache.
        """
        with self._database() as database, database:
            database.executemany(
                "INSERT OR IGNORE INTO candidates VALUES (?, ?)",
                [(key, _with_checksum(json.dumps(value))) for key, value in values.items()],
            )

    def refused(self, key: bytes, found: str, expected: str | None = None) -> InputError:
        """Return the error that names a row with an unusable value."""
        row = f"key X'{key.hex()}'"
        return InputError(found, path=self.path, key=row, expected=expected, remedy=_REMEDY)

    def _value(self, key: bytes, text: object) -> list[Any]:
        """Read a row, which may come from anywhere."""
        if not isinstance(text, str):
            raise self.refused(key, "no text")
        content = text.rpartition(" ")[0]
        if _with_checksum(content) != text:
            raise self.refused(key, "damaged")
        try:
            return decode_json(content, list, path=self.path, remedy=_REMEDY)
        except InputError as error:
            raise self.refused(key, error.found) from None

    @contextmanager
    def _database(self) -> Iterator[sqlite3.Connection]:
        """Open the file and close it again; SQLite's errors become the user's."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self.path, timeout=60.0)) as database:
                # Of any kind: the names are those of the first version, which kept candidates only.
                database.execute(
                    "CREATE TABLE IF NOT EXISTS candidates (key BLOB PRIMARY KEY, words TEXT)"
                )
                yield database
        except (OSError, sqlite3.Error, UnicodeDecodeError) as error:
            raise InputError(
                f"cannot be used as a {self.kind} cache ({error})",
                path=self.path,
                remedy="give a path in a writable folder, or delete the file if it is no cache",
            ) from error


def _with_checksum(content: str) -> str:
    return f"{content} {crc32(content.encode()):08x}"
