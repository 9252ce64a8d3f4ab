"""``examples.jsonl``: a line a finished sentence, read back however the run ended."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from robustparse.errors import InputError
from robustparse.files import written

EXAMPLES, SUMMARY, RUN = "examples.jsonl", "summary.json", "run.json"
"""What an attack writes into its folder: its sentences, its scores, and of which run they are."""


def json_line(line: dict[str, Any]) -> str:
    """Encode a sentence as a line of the file."""
    return json.dumps(line, ensure_ascii=False) + "\n"


def part_file(folder: Path, rank: int) -> Path:
    """Name the file where one of several ranks keeps its lines until they are collected."""
    return folder / f"examples.{rank}.jsonl"


def held_lines(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the lines of a folder, those in parts included, each sentence once.

    Raises:
        InputError: see `read_lines`.
    """
    for _, _, line in _held(folder):
        yield line


def tidy(folder: Path) -> None:
    """Put the lines of a folder into ``examples.jsonl``, by id; nothing is left in parts.

    Raises:
        InputError: see `read_lines`; the folder is not writable.
    """
    places = sorted((line["id"], path, offset) for path, offset, line in _held(folder))
    with ExitStack() as stack:
        paths = {path for _, path, _ in places}
        files = {path: stack.enter_context(path.open("rb")) for path in paths}
        file = stack.enter_context(written(folder / EXAMPLES))
        for _, path, offset in places:
            files[path].seek(offset)
            file.write(files[path].readline().decode("utf-8").rstrip("\n") + "\n")
    for path in _parts(folder):
        path.unlink()


def _parts(folder: Path) -> list[Path]:
    return sorted(folder.glob("examples.[0-9]*.jsonl"))


def _held(folder: Path) -> Iterator[tuple[Path, int, dict[str, Any]]]:
    """Yield file and place of each sentence's first line, and the line."""
    known = set()
    for path in (folder / EXAMPLES, *_parts(folder)):
        for offset, _, line in _lines_at(path):
            if line["id"] not in known:
                known.add(line["id"])
                yield path, offset, line


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Read the whole lines of an ``examples.jsonl``; a last line torn by a kill is left out.

    Raises:
        InputError: a whole line is no JSON object with an id.
    """
    return list(each_line(path))


def each_line(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the same, one at a time."""
    for _, _, line in _lines_at(path):
        yield line


class GrowingFile:
    """A file to which another process adds lines.

    Args:
        path: of the file, which need not be there yet.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._read = path, 0

    def new_lines(self) -> Iterator[dict[str, Any]]:
        """Yield the whole lines that were added since the last call."""
        for _, end, line in _lines_at(self._path, self._read):
            self._read = end
            yield line


def _lines_at(path: Path, begin: int = 0) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """Yield where each line begins and ends, and the line."""
    if not path.exists():
        return
    offset = begin
    with path.open("rb") as file:
        file.seek(begin)
        # Bytes, since a kill may have torn a character too; U+2028 is no end of a line.
        for number, row in enumerate(file, start=1):
            if row.strip(b"\n"):
                try:
                    line = json.loads(row.decode("utf-8"))
                except ValueError:
                    if not row.endswith(b"\n"):
                        return
                    line = None
                if not isinstance(line, dict) or "id" not in line:
                    raise InputError(
                        "no sentence as an attack writes it",
                        path=path,
                        line=number,
                        remedy="remove the line and run the attack again",
                    )
                yield offset, offset + len(row), line
            offset += len(row)
