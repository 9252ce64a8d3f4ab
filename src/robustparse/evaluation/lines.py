"""``examples.jsonl``: a line a finished sentence, read back however the run ended.

Each line ends in a checksum of what comes before it, so that no damage is taken for a result. A
line without one, as of another program, is taken as it is.
"""

import json
import re
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

from robustparse.data.columns import Known
from robustparse.errors import InputError
from robustparse.files import decode_json, read_json, writing, written
from robustparse.tasks.task import Task
from robustparse.types import Example

EXAMPLES, SUMMARY, RUN = "examples.jsonl", "summary.json", "run.json"
"""What an attack writes into its folder: its sentences, its scores, and of which run they are."""

SCORES = "scores.json"
"""What `evaluate` writes into its folder."""

REMEDY = "give a folder that `robustparse attack --out` wrote, or run the attack again"
_CHECKSUM = "crc32"
_CHECKED = re.compile(rb'(.*), "crc32": "([0-9a-f]{8})"}\n?', re.DOTALL)
_REMEDY = "remove the line and run the attack again"


def json_line(line: dict[str, Any]) -> str:
    """Encode a sentence as a line of the file."""
    body = json.dumps(line, ensure_ascii=False).removesuffix("}")
    return f'{body}, "{_CHECKSUM}": "{crc32(body.encode()):08x}"}}\n'


def append_line(path: Path, line: dict[str, Any]) -> None:
    """Write a sentence to the end of a file, which it reaches at once.

    The file is opened for each: one that is deleted loses the lines before, not those after.

    Raises:
        InputError: it cannot be written; the next reader leaves a half-written line out.
    """
    with writing(path, "the sentences finished so far are kept"), path.open("ab", 0) as file:
        content = memoryview(json_line(line).encode())
        while content:  # a disk that fills up takes a part, and refuses the rest
            content = content[file.write(content) :]


def part_file(folder: Path, rank: int) -> Path:
    """Name the file where one of several ranks keeps its lines until they are collected."""
    return folder / f"examples.{rank}.jsonl"


class Place(NamedTuple):
    """Where a line is: its file, its number there from 1, its first byte and that of the next."""

    path: Path
    number: int
    begin: int
    end: int


def held_lines(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the lines of a folder, those in parts included, each sentence once.

    Raises:
        InputError: see `each_line`.
    """
    for _, line in placed_lines(folder):
        yield line


def placed_lines(folder: Path) -> Iterator[tuple[Place, dict[str, Any]]]:
    """Yield the same, each with its place."""
    known = set()
    for path in (folder / EXAMPLES, *_parts(folder)):
        for place, line in _lines_at(path):
            if line["id"] not in known:
                known.add(line["id"])
                yield place, line


def tidy(folder: Path) -> None:
    """Put the lines of a folder into ``examples.jsonl``, by id; nothing is left in parts.

    Raises:
        InputError: see `each_line`; the folder is not writable.
    """
    places = {line["id"]: place for place, line in placed_lines(folder)}
    with ExitStack() as stack:
        paths = {place.path for place in places.values()}
        files = {path: stack.enter_context(path.open("rb")) for path in paths}
        file = stack.enter_context(written(folder / EXAMPLES))
        for _, place in sorted(places.items()):
            files[place.path].seek(place.begin)
            file.write(files[place.path].readline().decode("utf-8").rstrip("\n") + "\n")
    for path in _parts(folder):
        path.unlink()


def _parts(folder: Path) -> list[Path]:
    return sorted(folder.glob("examples.[0-9]*.jsonl"))


def each_line(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the whole lines of an ``examples.jsonl``; a last line torn by a kill is left out.

    Raises:
        InputError: a whole line is damaged, is no JSON object with an id, or has the id of one
            before.
    """
    for _, line in _lines_at(path):
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
        for place, line in _lines_at(self._path, self._read):
            self._read = place.end
            yield line


def _lines_at(path: Path, begin: int = 0) -> Iterator[tuple[Place, dict[str, Any]]]:
    """Yield each line with its place; numbers count from the first one that is read."""
    if not path.exists():
        return
    known: dict[int, int] = {}
    offset = begin
    with path.open("rb") as file:
        file.seek(begin)
        # Bytes, since a kill may have torn a character too; U+2028 is no end of a line.
        for number, row in enumerate(file, start=1):
            if row.strip(b"\n"):
                try:
                    line = _decoded(row, path, number)
                except InputError:
                    if not row.endswith(b"\n"):
                        return
                    raise
                if (first := known.setdefault(line["id"], number)) != number:
                    found = f"the sentence {line['id']} of line {first} again"
                    raise InputError(found, path=path, line=number, remedy=_REMEDY)
                yield Place(path, number, offset, offset + len(row)), line
            offset += len(row)


def _decoded(row: bytes, path: Path, number: int) -> dict[str, Any]:
    """Read a line; its checksum, which must hold, is left out.

    Raises:
        InputError: it is no sentence.
    """
    try:
        text = row.decode("utf-8")
    except UnicodeDecodeError:
        raise InputError("not UTF-8", path=path, line=number, remedy=_REMEDY) from None
    line = decode_json(text, dict, path=path, line=number, remedy=_REMEDY)
    checked = _CHECKED.fullmatch(row)
    if checked is not None and int(checked[2], 16) != crc32(checked[1]):
        found = "damaged: its checksum does not hold"
        raise InputError(found, path=path, line=number, remedy=_REMEDY)
    line.pop(_CHECKSUM, None)
    if type(line.get("id")) is not int:
        found = "no sentence as an attack writes it"
        raise InputError(found, path=path, line=number, key="id", remedy=_REMEDY)
    return line


def read_adversarial(folder: Path, task: Task) -> list[Example]:
    """Read the adversarial sentences of a finished attack, in the order of its lines.

    Raises:
        InputError: there is not one file of them, or it has not a sentence for each line.
    """
    paths = sorted(folder.glob("adversarial.*"))
    if len(paths) != 1:
        found = f"{len(paths)} files adversarial.*"
        raise InputError(found, path=folder, expected="one", remedy=REMEDY)
    lines = list(each_line(folder / EXAMPLES))
    columns = read_json(folder / RUN, dict).get("columns") if (folder / RUN).exists() else None
    labels = {label for line in lines if isinstance(label := line["gold"].get("label"), str)}
    copies = task.read(paths[0], known=Known(columns, labels or None))
    if len(copies) != len(lines):
        found = f"{len(copies)} sentences, and {len(lines)} lines in {EXAMPLES}"
        raise InputError(found, path=paths[0], remedy=REMEDY)
    return copies


@dataclass(frozen=True, slots=True)
class Pair:
    """A sentence before and after an attack.

    Args:
        id: the example's id.
        before: the original words.
        after: the adversarial words, as many.
        success: whether the attack succeeded.
        context: the words of the other text of a pair, or empty.
        before_read: what the victim reads of the original words.
        after_read: what it reads of the adversarial words, as many.
    """

    id: int
    before: tuple[str, ...]
    after: tuple[str, ...]
    success: bool
    context: tuple[str, ...] = ()
    before_read: tuple[str, ...] = ()
    after_read: tuple[str, ...] = ()

    @property
    def changed(self) -> list[int]:
        """Find the positions whose word was changed, from 0."""
        both = zip(self.before, self.after, strict=True)
        return [position for position, (old, new) in enumerate(both) if old != new]


def read_pairs(folder: Path) -> list[Pair]:
    """Read the sentences of a finished attack.

    Raises:
        InputError: no finished attack lies there, or a line is not as `attack` writes it.
    """
    read_summary(folder)
    return [pair_of(line, folder) for line in each_line(folder / EXAMPLES)]


def read_summary(folder: Path) -> dict[str, Any]:
    """Read the ``summary.json`` of a finished attack.

    Raises:
        InputError: see `summary_of`, or there is no ``examples.jsonl`` with it.
    """
    summary = summary_of(folder)
    if not (folder / EXAMPLES).exists():
        raise InputError("no such file", path=folder / EXAMPLES, remedy=REMEDY)
    return summary


def summary_of(folder: Path) -> dict[str, Any]:
    """Read the ``summary.json`` of a folder, whatever else is there.

    Raises:
        InputError: it is missing or no JSON object.
    """
    if not folder.is_dir():
        raise InputError("no such folder", path=folder, remedy=REMEDY)
    if not (folder / SUMMARY).exists():
        expected = "the output folder of an attack"
        raise InputError("no such file", path=folder / SUMMARY, expected=expected, remedy=REMEDY)
    return read_json(folder / SUMMARY, dict, REMEDY)


def pair_of(line: dict[str, Any], folder: Path) -> Pair:
    """Read the words of a line of a folder.

    Raises:
        InputError: it is not as `attack` writes it.
    """
    before: Any = line.get("tokens")
    after: Any = line.get("adversarial_tokens")
    context: Any = line.get("context") or []
    read: Any = line.get("read", before)
    read_after: Any = line.get("adversarial_read", after)
    success = line.get("success")
    for words in (before, after, context, read, read_after):
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            break
    else:
        as_many = len(before) == len(after) and len(read) == len(read_after)
        if as_many and isinstance(success, bool):
            texts = map(tuple, (context, read, read_after))
            return Pair(line["id"], tuple(before), tuple(after), success, *texts)
    raise InputError(
        "not as an attack writes it",
        path=folder / EXAMPLES,
        key=f"sentence {line['id']!r}",
        expected="tokens and adversarial_tokens, lists of as many words, and success, true or "
        "false",
        remedy=REMEDY,
    )
