"""A disk cache around any candidate generator, in one SQLite file.

SQLite commits atomically: a run killed while writing loses only that batch, and several processes
may share the file. Values are JSON text and its checksum.
"""

import hashlib
import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from zlib import crc32

from robustparse.attacks.candidates.generator import CandidateGenerator, Slot
from robustparse.attacks.victim import Victim
from robustparse.errors import InputError
from robustparse.files import decode_json
from robustparse.types import Example

_KEYS_PER_QUERY = 500  # SQLite allows 999 parameters in older builds


class CachedCandidates(CandidateGenerator):
    """Asks the wrapped generator only for slots it has not answered before.

    The key is a hash of the generator's settings and files, the words, the tags and the position,
    and, where the generator draws at random, of the seed and the example's id.

    Args:
        generator: what to cache.
        path: the cache file, made if missing.
    """

    CACHES = ("path",)

    def __init__(self, generator: CandidateGenerator, path: str) -> None:
        self.generator = generator
        self.path = Path(path).expanduser()
        self.draws, self.is_model = generator.draws, generator.is_model
        self.verbatim = generator.verbatim

    def for_victim(self, victim: Victim) -> CandidateGenerator:
        """See `CandidateGenerator.for_victim`."""
        return CachedCandidates(self.generator.for_victim(victim), str(self.path))

    def name(self) -> str:
        """Return the name of the wrapped generator."""
        return self.generator.name()

    def check(self, examples: Sequence[Example]) -> None:
        """See `CandidateGenerator.check`."""
        self.generator.check(examples)

    def warnings(self, examples: Sequence[Example]) -> Iterator[str]:
        """See `CandidateGenerator.warnings`."""
        return self.generator.warnings(examples)

    def propose(self, slots: Sequence[Slot], seed: int) -> list[list[str]]:
        """See `CandidateGenerator.propose`."""
        if not slots:
            return []
        keys = self._keys(slots, seed)
        with self._database() as database:
            rows = _read(database, keys)
        known = {
            key: self._words(key, rows[key], slot.word)
            for key, slot in zip(keys, slots, strict=True)
            if key in rows
        }
        missing = [index for index, key in enumerate(keys) if key not in known]
        if missing:
            fresh = self.generator.propose([slots[index] for index in missing], seed)
            found = {keys[index]: words for index, words in zip(missing, fresh, strict=True)}
            with self._database() as database, database:
                database.executemany(
                    "INSERT OR IGNORE INTO candidates VALUES (?, ?)",
                    [(key, _with_checksum(json.dumps(words))) for key, words in found.items()],
                )
            known |= found
        return [list(known[key]) for key in keys]

    def _words(self, key: bytes, text: object, original: str) -> list[str]:
        """Read a row, which may come from anywhere.

        Raises:
            InputError: names the row that holds no candidates.
        """
        row = f"key X'{key.hex()}'"
        remedy = "delete the file, and it is made again"
        if not isinstance(text, str):
            raise InputError("no text", path=self.path, key=row, remedy=remedy)
        content, blank, checksum = text.rpartition(" ")
        if not blank or checksum.endswith("]"):
            content = text  # of an older version, which wrote no checksums
        elif _with_checksum(content) != text:
            raise InputError("damaged", path=self.path, key=row, remedy=remedy)
        try:
            words = decode_json(content, list, path=self.path, remedy=remedy)
        except InputError as error:
            raise InputError(error.found, path=self.path, key=row, remedy=remedy) from None
        for word in words:
            if not isinstance(word, str) or not word or _blanks(word) != _blanks(original):
                found = f"candidate {word!r:.60}"
                raise InputError(
                    found, path=self.path, key=row, expected="single words", remedy=remedy
                )
        return words

    def fingerprint(self) -> str:
        """See `CandidateGenerator.fingerprint`."""
        return self.generator.fingerprint()

    def _keys(self, slots: Sequence[Slot], seed: int) -> list[bytes]:
        settings = self.generator.fingerprint()
        keys = []
        for slot in slots:
            drawn = [seed, slot.id] if self.draws else []
            tags = [slot.tagged("upos"), slot.tagged("xpos")]
            content = json.dumps([settings, slot.sentence.words, tags, slot.position, drawn])
            keys.append(hashlib.sha256(content.encode()).digest())
        return keys

    @contextmanager
    def _database(self) -> Iterator[sqlite3.Connection]:
        """Open the file and close it again; SQLite's errors become the user's."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self.path, timeout=60.0)) as database:
                database.execute(
                    "CREATE TABLE IF NOT EXISTS candidates (key BLOB PRIMARY KEY, words TEXT)"
                )
                yield database
        except (OSError, sqlite3.Error, UnicodeDecodeError) as error:
            raise InputError(
                f"cannot be used as a candidate cache ({error})",
                path=self.path,
                remedy="give a path in a writable folder, or delete the file if it is no cache",
            ) from error


def _with_checksum(content: str) -> str:
    return f"{content} {crc32(content.encode()):08x}"


def _blanks(word: str) -> list[str]:
    return [character for character in word if character.isspace()]


def _read(database: sqlite3.Connection, keys: Sequence[bytes]) -> dict[bytes, object]:
    known: dict[bytes, object] = {}
    for begin in range(0, len(keys), _KEYS_PER_QUERY):
        part = keys[begin : begin + _KEYS_PER_QUERY]
        marks = ",".join("?" * len(part))
        rows = database.execute(f"SELECT key, words FROM candidates WHERE key IN ({marks})", part)
        known.update((bytes(key), words) for key, words in rows)
    return known
