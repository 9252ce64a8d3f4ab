"""An append-only tidy table ``step,name,value`` that knows what it holds.

One row a figure, so a new figure needs no new column and nothing written is rewritten. A row
reaches the operating system in one write: a killed process leaves at most one torn last line, which
the next one cuts off. Asking whether (step, name) is there already is what keeps a resumed run,
which repeats the steps after its checkpoint, from logging them twice.
"""

import csv
import io
from collections.abc import Iterable, Mapping
from pathlib import Path

from robustparse.errors import InputError
from robustparse.files import write_text

HEADER = ("step", "name", "value")

Row = tuple[int, str, str]


class Ledger:
    """Rows on disk, and the set of (step, name) in them.

    Args:
        path: the file.
        keep: go on with what it holds; otherwise it is started over at the first row.
        before: go on with rows of earlier steps than this alone; the others are taken out of the
            file at the first row.

    Raises:
        InputError: ``keep`` is set and the file is something else than such a table.
    """

    def __init__(self, path: Path, keep: bool, before: int | None = None) -> None:
        self.path = path
        keep = keep and path.exists()
        self.rows = read_ledger(path) if keep else []
        found = len(self.rows)
        self.rows = [row for row in self.rows if before is None or row[0] < before]
        self._to_cut = len(self.rows) < found
        self._logged = {(step, name) for step, name, _ in self.rows}
        self._length = _sound_length(path) if keep else 0

    def missing(self, step: int, values: Mapping[str, object]) -> dict[str, object]:
        """Those of the values that are not logged yet."""
        return {name: value for name, value in values.items() if (step, name) not in self._logged}

    def append(self, step: int, values: Mapping[str, object]) -> None:
        """Write values, on disk when this returns.

        Raises:
            OSError: they cannot be written; the next call cuts off what stands half written.
        """
        if self._to_cut:
            self._cut()
        added = [(step, name, as_text(value)) for name, value in values.items()]
        content = _table([*([] if self._length else [HEADER]), *added]).encode()
        with open(self.path, "ab", buffering=0) as file:
            file.truncate(self._length)
            written = file.write(content)
        if written < len(content):
            raise OSError(f"{written} of {len(content)} bytes written")
        self._length += len(content)
        self.rows += added
        self._logged |= {(step, name) for name in values}

    def _cut(self) -> None:
        """Leave the rows alone that are gone on with, or the file as it is."""
        try:
            write_text(self.path, _table([HEADER, *self.rows]))
        except InputError as error:
            raise OSError(str(error)) from None
        self._to_cut, self._length = False, self.path.stat().st_size

    def forget(self, step: int, name: str) -> None:
        """Let (step, name) be logged again."""
        self._logged.discard((step, name))


def _table(rows: Iterable[Iterable[object]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def as_text(value: object) -> str:
    """Return a number as Python prints it, ``nan`` and ``inf`` included; else its type."""
    return repr(float(value)) if isinstance(value, int | float) else type(value).__name__


def read_ledger(path: Path) -> list[Row]:
    """Return the rows of a file, without a torn last line.

    Raises:
        InputError: it has another header.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    lines = content[: _sound_length(path)].decode("utf-8", "replace").split("\n")
    if content and lines[0] != ",".join(HEADER):
        if len(content) < len(",".join(HEADER)) + 1:
            return []
        raise InputError(
            f"{path}: not a table of {','.join(HEADER)}; move the file away to go on in this folder"
        )
    return [row for line in lines[1:] if (row := _row(line)) is not None]


def _row(line: str) -> Row | None:
    try:
        (fields,) = csv.reader([line])
        step, name, value = fields
        return int(step), name, value
    except (ValueError, csv.Error):
        return None


def _sound_length(path: Path) -> int:
    """Return the file's length in bytes without lines at its end that are no rows."""
    content = path.read_bytes()
    end = content.rfind(b"\n") + 1
    while end:
        start = content.rfind(b"\n", 0, end - 1) + 1
        if start == 0 or _row(content[start:end].decode("utf-8", "replace")) is not None:
            return end
        end = start
    return 0
