"""The record that a shard leaves for `merge`: its settings, its sums and its files.

A run with ``--shard`` writes ``shard.json`` into its folder, or next to its file, after all other
files. Shards of the same run have equal settings; their files are joined byte by byte, and scores
are computed from the added sums.
"""

from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, NamedTuple, NotRequired, TextIO, TypedDict

import msgspec

from robustparse.data.shard import Shard
from robustparse.errors import InputError
from robustparse.evaluation.accumulator import Sums
from robustparse.evaluation.claim import differences
from robustparse.evaluation.record_files import read_record
from robustparse.evaluation.records import Count, versions
from robustparse.files.paths import in_short
from robustparse.files.writing import write_json, written
from robustparse.tasks.task import Task

SHARD = "shard.json"
_REMEDY = "name an output of a command with --shard, or run that command again"
_CHUNK = 1 << 20  # bytes
_SHOWN = 10  # shards in a message


class ShardFile(TypedDict):
    """A file of a shard.

    Attributes:
        head: what every shard's file starts with, such as the header of a table.
        size: its bytes.
        block: the lines for each operation in a file of several operations, such as
            ``perturbed.jsonl``, with a line for each sentence.
    """

    head: str
    size: Count
    block: NotRequired[Annotated[int, msgspec.Meta(ge=1)]]


class ShardRecord(TypedDict):
    """The content of ``shard.json``.

    Attributes:
        command: the command that wrote it.
        shard: such as ``2/4``.
        task: the task of the answers.
        language: the language of logical forms, see `Answers.language`.
        run: the settings that must be equal in all shards.
        versions: the versions of the libraries.
        sums: what is added up over the shards.
        files: the files to join, by name; the name of a single file is empty.
    """

    command: str
    shard: str
    task: str
    language: str | None
    run: dict[str, Any]
    versions: dict[str, str]
    sums: Sums
    files: dict[str, ShardFile]


class StoredShard(NamedTuple):
    """A shard's folder or file, and its record."""

    path: Path
    record: ShardRecord

    @property
    def shard(self) -> Shard:
        """The number of the shard and how many there are."""
        return Shard.parse(self.record["shard"])

    def file(self, name: str) -> Path:
        """Return a file of the shard."""
        return self.path / name if name else self.path


def record_file(out: Path) -> Path:
    """Return the path of the record that belongs to an output."""
    return out / SHARD if out.is_dir() else out.with_name(f"{out.name}.{SHARD}")


def remove_record(out: Path) -> None:
    """Remove the record of an earlier run, before its files are written again."""
    record_file(out).unlink(missing_ok=True)


def write_shard(
    out: Path,
    command: str,
    shard: str,
    task: Task,
    run: Mapping[str, Any],
    sums: Sums,
    heads: Mapping[str, str],
    blocks: Mapping[str, int] = {},
) -> None:
    """Write the record of a finished shard.

    Args:
        out: its folder or file.
        command: the command.
        shard: such as ``2/4``.
        task: the task of the answers.
        run, sums: see `ShardRecord`; the shard is left out of the settings.
        heads: the heads of its files by name.
        blocks: the lines of a block by name, of files with several blocks.
    """
    files = {
        name: {
            "head": head,
            "size": (out / name if name else out).stat().st_size,
            **({"block": blocks[name]} if name in blocks else {}),
        }
        for name, head in heads.items()
    }
    answers = {"task": task.name, "language": task.answers.language}
    about = {"command": command, "shard": shard, **answers}
    settings = {key: value for key, value in run.items() if key != "shard"}
    record = {**about, "run": settings, "versions": versions(), "sums": sums, "files": files}
    write_json(record_file(out), record)


def read_shards(paths: Sequence[Path]) -> list[StoredShard]:
    """Read the records of all shards of a run, and check their files; return them by number.

    Raises:
        InputError: a shard is missing, doubled, unfinished, damaged, or of another run.
    """
    _check_finished(paths)
    by_number: dict[int, StoredShard] = {}
    all_stored = [_read(path) for path in paths]
    first = all_stored[0]
    count = first.shard.count
    for stored in all_stored:
        path, shard = stored.path, stored.shard
        if difference := next(differences(_settings(first), _settings(stored)), None):
            problem = f"belongs to another run than {first.path} ({difference})"
            raise InputError(problem, path=path, remedy="give the shards of one run")
        if shard.number in by_number:
            problem = f"is shard {shard}, as {by_number[shard.number].path} is"
            raise InputError(problem, path=path, remedy="give each shard once")
        by_number[shard.number] = stored
    if missing := [
        f"{number}/{count}" for number in range(1, count + 1) if number not in by_number
    ]:
        problem = f"{len(missing)} of {count} shards are missing: {in_short(missing, _SHOWN)}"
        raise InputError(problem, remedy="run their commands, and give all shards")
    return [by_number[number] for number in sorted(by_number)]


def _check_finished(paths: Sequence[Path]) -> None:
    if not paths:
        raise InputError("no shard is given", expected="the folders or files of all shards")
    for path in paths:
        if not path.exists():
            raise InputError("no such shard", path=path, remedy=_REMEDY)
    if unfinished := [str(path) for path in paths if not record_file(path).exists()]:
        name = record_file(Path(unfinished[0])).name
        problem = f"{len(unfinished)} of {len(paths)} shards are not finished, or were not written "
        problem += f"with --shard: {in_short(unfinished, _SHOWN)} (no {name})"
        remedy = "run their commands again"
        raise InputError(problem, path=unfinished[0], remedy=remedy)


def _read(path: Path) -> StoredShard:
    """Read the record of a shard and check its files.

    Raises:
        InputError: the record is damaged, names a file outside the shard's folder, or a file is
            missing or has another size.
    """
    stored = StoredShard(path, read_record(record_file(path), ShardRecord, _REMEDY))
    files = stored.record["files"]
    for name, each in files.items():
        # A shard that is a file has the empty name; all other names are of files in its folder.
        if name != Path(name).name or "\\" in name or name == ".." or (not name and len(files) > 1):
            problem, expected = f"names the file {name!r}", "the name of a file in this folder"
            record = record_file(path)
            raise InputError(problem, path=record, key="files", expected=expected, remedy=_REMEDY)
        _check_size(stored.file(name), each["size"])
    return stored


def _settings(stored: StoredShard) -> dict[str, Any]:
    """Return what all shards of a run have in common."""
    common = {**stored.record, **stored.record["run"], "shards": stored.shard.count}
    common["blocks"] = {name: "block" in file for name, file in stored.record["files"].items()}
    left_out = ("shard", "run", "sums", "files")
    return {key: value for key, value in common.items() if key not in left_out}


def join(out: Path, shards: Sequence[StoredShard], name: str) -> None:
    """Join a file of all shards into the file that one process writes, byte by byte.

    Args:
        out: the file to write.
        shards: all shards, in order.
        name: the name of the file in a shard's folder; empty if a shard is a file.
    """
    with written(out) as text:
        if "block" in shards[0].record["files"][name]:
            _join_blocks(text, shards, name)
        else:
            _join_bodies(text, shards, name)


def _check_size(path: Path, size: int) -> None:
    if not path.is_file():
        raise InputError("no such file", path=path, remedy="run the same command again")
    if (current := path.stat().st_size) != size:
        problem = f"has {current} bytes, but {size} were written"
        raise InputError(problem, path=path, remedy="copy it again, or run the command again")


def _join_bodies(text: TextIO, shards: Sequence[StoredShard], name: str) -> None:
    """Write the common head once, then the rest of each file; a JSON list ends once, too."""
    heads = [shard.record["files"][name]["head"] for shard in shards]
    head = next(filter(None, heads), "")
    end, between = ("\n]\n", ",\n") if head == "[\n" else ("", "")
    text.write(head)
    first = True
    for shard, own_head in zip(shards, heads, strict=True):
        size = shard.record["files"][name]["size"]
        with shard.file(name).open("rb") as file:
            file.seek(len(own_head.encode()))
            left = size - len(own_head.encode()) - len(end)
            if left <= 0:
                continue
            text.write("" if first else between)
            text.flush()
            first = False
            while left > 0 and (chunk := file.read(min(left, _CHUNK))):
                left -= text.buffer.write(chunk)
    text.write("" if first else end)


def _join_blocks(text: TextIO, shards: Sequence[StoredShard], name: str) -> None:
    """Write the first block of each file, then the second ones, and so on."""
    positions, copied = [0] * len(shards), True
    while copied:
        copied = False
        for index, shard in enumerate(shards):
            with shard.file(name).open("rb") as file:
                file.seek(positions[index])
                for line in islice(file, shard.record["files"][name]["block"]):
                    text.buffer.write(line)
                    copied = True
                positions[index] = file.tell()
