"""Files of JSON records: one record, or one a line that is appended while a command runs.

The decoder checks the type of every field and drops unknown fields; a damaged line or file is one
`InputError`.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Generic, NamedTuple, TextIO, TypeVar

import msgspec

from robustparse.errors import InputError
from robustparse.files.reading import read_text
from robustparse.files.writing import writing

T = TypeVar("T")
Row = TypeVar("Row", bound=Mapping[str, Any])
"""The type of the lines of a file, each with the id of its sentence."""

REMEDY = "give a folder that `robustparse attack --out` wrote, or run the attack again"
_LINE_REMEDY = "remove the line and run the same command again"


def decode(
    content: bytes | str,
    kind: type[T],
    path: Path,
    line: int | None = None,
    remedy: str | None = None,
) -> T:
    """Decode a JSON text into a typed record.

    Args:
        content: the text.
        kind: the type of the record.
        path: the file that the text comes from.
        line: the line of the file, if the text is only that line.
        remedy: what the user can do about a damaged file.

    Raises:
        InputError: the text is not JSON, a field is missing or has another type.
    """
    try:
        return msgspec.json.decode(content, type=kind)
    except msgspec.ValidationError as error:
        problem, _, key = str(error).partition(" - at `$")
        key = key.rstrip("`").lstrip(".")
        raise InputError(problem, path=path, line=line, key=key or None, remedy=remedy) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        if line is None:
            at = re.search(r"\(byte (\d+)\)", str(error))
            before = content[: int(at[1])] if at else content.rstrip()
            line = 1 + before.count(b"\n" if isinstance(before, bytes) else "\n")  # type: ignore[arg-type]
        raise InputError(f"not JSON ({error})", path=path, line=line, remedy=remedy) from None


def converted(value: Any, kind: type[T]) -> T:
    """Return a decoded value as a more specific type.

    Raises:
        TypeError: it has another type.
    """
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise TypeError(str(error)) from None


def read_record(path: Path, kind: type[T], remedy: str | None = REMEDY) -> T:
    """Read a file that holds one JSON record.

    Raises:
        InputError: see `read_text` and `decode`.
    """
    return decode(read_text(path), kind, path, remedy=remedy)


def encode_record(record: Mapping[str, Any]) -> bytes:
    """Encode a record as a line of a file such as ``examples.jsonl``."""
    return msgspec.json.encode(record) + b"\n"


def append_record(path: Path, record: Mapping[str, Any]) -> int:
    """Append a record to a file; return the position of its first byte.

    The file is opened for each record: if it is deleted meanwhile, only earlier records are lost.

    Raises:
        InputError: the file cannot be written; the next reader ignores a half-written line.
    """
    content = memoryview(encode_record(record))
    size = len(content)
    with writing(path, "the sentences finished so far are kept"), path.open("ab", 0) as file:
        while content:  # a disk that fills up takes a part, and refuses the rest
            content = content[file.write(content) :]
        return file.tell() - size


class StoredRecord(NamedTuple, Generic[Row]):
    """A record with its file, its line (from 1), and its first and last byte (exclusive)."""

    record: Row
    path: Path
    line: int
    begin: int
    end: int


def stored_records(path: Path, kind: type[Row], begin: int = 0) -> Iterator[StoredRecord[Row]]:
    """Yield the records of a growing file; a last line torn by a kill is ignored.

    Args:
        path: the file, such as ``examples.jsonl``; a missing file has no records.
        kind: the type of the records.
        begin: the byte to start from; lines are counted from there.

    Raises:
        InputError: a complete line is not a record, or has the id of an earlier line.
    """
    if not path.exists():
        return
    lines: dict[int, int] = {}
    with path.open("rb") as file:
        file.seek(begin)
        # Split bytes, not text: U+2028 does not end a line, and a kill may tear a character.
        for line, row in enumerate(file, start=1):
            end = begin + len(row)
            if row.strip(b"\n"):
                try:
                    record = decode(row, kind, path, line, _LINE_REMEDY)
                except InputError:
                    if not row.endswith(b"\n"):
                        return
                    raise
                if (first := lines.setdefault(record["id"], line)) != line:
                    problem = f"repeats the sentence {record['id']} of line {first}"
                    raise InputError(problem, path=path, line=line, key="id", remedy=_LINE_REMEDY)
                yield StoredRecord(record, path, line, begin, end)
            begin = end


class RecordFile(Generic[Row]):
    """The records of a run, which are appended as sentences finish and sorted by id at the end.

    Args:
        path: the file, such as ``examples.jsonl``; it need not exist yet.
        kind: the type of the records.

    Attributes:
        positions: the first byte of each record by id.
    """

    def __init__(self, path: Path, kind: type[Row]) -> None:
        self.path, self.kind = path, kind
        self.positions: dict[int, int] = {}
        self._end = 0  # of the last record

    def keep(self, stored: StoredRecord[Row]) -> None:
        """Keep a record that stands in the file; records are kept in the order of the file."""
        self.positions[stored.record["id"]], self._end = stored.begin, stored.end

    def new_records(self) -> Iterator[Row]:
        """Yield the complete records that another process has appended since the last call."""
        for stored in stored_records(self.path, self.kind, self._end):
            self.keep(stored)
            yield stored.record

    def cut_off(self) -> None:
        """Remove the incomplete line that a killed run may have left at the end of the file."""
        if self.path.exists():
            with self.path.open("rb+") as file:
                if self._end < self.path.stat().st_size:
                    file.truncate(self._end)
                file.seek(max(0, self._end - 1))
                if file.read(1) not in (b"", b"\n"):
                    file.write(b"\n")

    def append(self, record: Row) -> None:
        """Append a record, which is on disk when this returns.

        Raises:
            InputError: see `append_record`.
        """
        self.positions[record["id"]] = append_record(self.path, record)

    def sorted_into(self, text: TextIO) -> Iterator[Row]:
        """Write all records by id into another file; yield each of them.

        Raises:
            InputError: records are gone, because another program changed the file; raised at the
                end.
        """
        lost = 0
        self.path.touch()  # nothing may have been written, or another program deleted the file
        with self.path.open("rb") as file:
            for id_, position in sorted(self.positions.items()):
                file.seek(position)
                try:
                    record = decode(file.readline(), self.kind, self.path)
                except InputError:
                    record = None
                if record is None or record["id"] != id_:
                    lost += 1
                    continue
                text.write(encode_record(record).decode())
                yield record
        if lost:
            raise InputError(
                f"lacks {lost} of {len(self.positions)} sentences: another program changed it "
                "during the run",
                path=self.path,
                remedy="run the same command again, which does them again",
            )
