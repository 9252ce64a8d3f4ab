"""What the run of a shard tells `merge`: its settings, its sums and its files.

A run with ``--shard`` writes ``shard.json`` into its folder, or next to its file, when everything
else is written. Shards of the same run have equal settings; their files are joined byte by byte,
and their scores follow from the sum of their sums.
"""

import json
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, NotRequired, TextIO, TypedDict

import torch

from robustparse import __version__
from robustparse.data.shard import Shard
from robustparse.errors import InputError
from robustparse.evaluation.accumulator import Sums
from robustparse.evaluation.claim import differences
from robustparse.evaluation.records import Count, read_record
from robustparse.files import write_text, written
from robustparse.tasks.task import Task

SHARD = "shard.json"
_REMEDY = "give what a command wrote with --shard, or run it again"
_CHUNK = 1 << 20  # bytes
_SHOWN = 10  # shards in a message


class ShardFile(TypedDict):
    """A file of a shard.

    Attributes:
        head: what every shard's file starts with, such as the header of a table.
        size: its bytes.
        block: the lines of a block, if the file has several blocks with a line for each sentence.
    """

    head: str
    size: Count
    block: NotRequired[Count]


class ShardRecord(TypedDict):
    """The content of ``shard.json``.

    Attributes:
        command: the command that wrote it.
        shard: such as ``2/4``.
        task: the task of the answers.
        language: the language of logical forms, see `Answers.language`.
        run: what distinguishes the run from others, and is the same in all of its shards.
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

    def file(self, name: str) -> Path:
        """Return a file of the shard."""
        return self.path / name if name else self.path


def versions() -> dict[str, str]:
    """Return the versions of the libraries that results depend on."""
    return {"robustparse": __version__, "torch": str(torch.__version__)}


def record_file(out: Path) -> Path:
    """Return the file of the record of a folder or a file."""
    return out / SHARD if out.is_dir() else out.with_name(f"{out.name}.{SHARD}")


def remove_record(out: Path) -> None:
    """Remove the record of an earlier run, before its files are written again."""
    record_file(out).unlink(missing_ok=True)


def write_shard(
    out: Path,
    command: str,
    shard: Shard,
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
        shard: the shard.
        task: the task of the answers.
        run, sums: see `ShardRecord`.
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
    about = {"command": command, "shard": str(shard), **answers}
    record = {**about, "run": run, "versions": versions(), "sums": sums, "files": files}
    write_text(record_file(out), json.dumps(record, indent=2) + "\n")


def read_shards(paths: Sequence[Path]) -> list[StoredShard]:
    """Read the records of all shards of a run, and check their files; return them by number.

    Raises:
        InputError: a shard is missing, doubled, unfinished, damaged, or of another run.
    """
    _check_finished(paths)
    found: dict[int, StoredShard] = {}
    first = _read(paths[0])
    count = Shard.parse(first.record["shard"]).count
    for path in paths:
        stored = _read(path)
        shard = Shard.parse(stored.record["shard"])
        for difference in differences(_settings(first, count), _settings(stored, shard.count)):
            problem = f"belongs to another run than {first.path} ({difference})"
            raise InputError(problem, path=path, remedy="give the shards of one run")
        if shard.number in found:
            problem = f"is shard {shard}, as {found[shard.number].path} is"
            raise InputError(problem, path=path, remedy="give each shard once")
        found[shard.number] = stored
    if missing := [f"{number}/{count}" for number in range(1, count + 1) if number not in found]:
        problem = f"{len(missing)} of {count} shards are missing: {_listed(missing)}"
        raise InputError(problem, remedy="run their commands, and give all shards")
    return [found[number] for number in sorted(found)]


def _check_finished(paths: Sequence[Path]) -> None:
    if not paths:
        raise InputError("no shard is given", expected="the folders or files of all shards")
    for path in paths:
        if not path.exists():
            raise InputError("no such shard", path=path, remedy=_REMEDY)
    if unfinished := [str(path) for path in paths if not record_file(path).exists()]:
        name = record_file(Path(unfinished[0])).name
        problem = f"{len(unfinished)} of {len(paths)} shards are not finished, or were not written "
        problem += f"with --shard: {_listed(unfinished)} (no {name})"
        remedy = "run their commands again, which resumes them"
        raise InputError(problem, path=unfinished[0], remedy=remedy)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (", …" if len(names) > _SHOWN else "")


def _read(path: Path) -> StoredShard:
    stored = StoredShard(path, read_record(record_file(path), ShardRecord, _REMEDY))
    for name, each in stored.record["files"].items():
        _check_size(stored.file(name), each["size"])
    return stored


def _settings(stored: StoredShard, count: int) -> dict[str, Any]:
    """Return what all shards of a run have in common."""
    common = {**stored.record, **stored.record["run"], "shards": count}
    common["files"] = [*stored.record["files"]]
    return {key: value for key, value in common.items() if key not in ("shard", "run", "sums")}


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
    if (found := path.stat().st_size) != size:
        problem = f"has {found} bytes, and its run wrote {size}"
        raise InputError(problem, path=path, remedy="copy it again, or run the command again")


def _join_bodies(text: TextIO, shards: Sequence[StoredShard], name: str) -> None:
    """Write the common head once, then the rest of each file; a JSON list ends once, too."""
    heads = [shard.record["files"][name]["head"] for shard in shards]
    head = next(filter(None, heads), "")
    end, between = ("\n]\n", ",\n") if head == "[\n" else ("", "")
    text.write(head)
    first = True
    for shard, own in zip(shards, heads, strict=True):
        size = shard.record["files"][name]["size"]
        with shard.file(name).open("rb") as file:
            file.seek(len(own.encode()))
            left = size - len(own.encode()) - len(end)
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
    at = [0] * len(shards)
    while any(at[i] < shards[i].record["files"][name]["size"] for i in range(len(shards))):
        for index, shard in enumerate(shards):
            with shard.file(name).open("rb") as file:
                file.seek(at[index])
                for line in islice(file, shard.record["files"][name].get("block")):
                    text.buffer.write(line)
                at[index] = file.tell()
