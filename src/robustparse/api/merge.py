"""``robustparse merge``: combine the outputs of all shards into that of an unsharded run."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

from robustparse.api.copies_file import attack_folder, check_copies, copies_summary, summary_beside
from robustparse.errors import InputError
from robustparse.evaluation.accumulator import Sums, added
from robustparse.evaluation.attack_processes import Speed
from robustparse.evaluation.attack_summary import AttackSummary
from robustparse.evaluation.certificate_folder import speed_summary
from robustparse.evaluation.certificate_records import CERTIFICATES, CertificateRun
from robustparse.evaluation.certified_scores import CertifiedScores
from robustparse.evaluation.claim import check_unclaimed, claim
from robustparse.evaluation.evaluated import evaluated
from robustparse.evaluation.record_files import read_record
from robustparse.evaluation.records import EXAMPLES, SCORES, SUMMARY, RunRecord
from robustparse.evaluation.shards import (
    ShardRecord,
    StoredShard,
    join,
    read_shards,
    record_file,
    remove_record,
)
from robustparse.files.json_text import as_written
from robustparse.files.output_folders import check_no_input, check_output_file, locked, make_folder
from robustparse.files.writing import write_json
from robustparse.tasks.registry import named
from robustparse.tasks.task import Task


class _Command(NamedTuple):
    """How the outputs of a command are merged.

    Attributes:
        summary: computes the scores from the added sums.
        file: the file of the scores in a folder; empty for a command that writes a file.
        lines: the file of a folder that a run claims, see `claim`; empty if it claims none.
        run: the type of ``run.json``.
    """

    summary: Callable[[ShardRecord, Sums], Mapping[str, Any]]
    file: str = ""
    lines: str = ""
    run: type[Any] = dict


def merge(out: Path, paths: Sequence[Path]) -> int:
    """Join the folders or files of all shards of a run.

    Memory does not grow with the number of sentences. Times are summed over the shards.

    Args:
        out: the folder or file to write.
        paths: the folders or files that a command wrote with ``--shard``, in any order; what
            commands write next to these files is left out: records, summaries, and the folders of
            the attacks of `augment`.

    Returns:
        The number of shards.

    Raises:
        InputError: a shard is missing, doubled, unfinished, damaged, or of another run; or the
            output cannot be written.
    """
    shards = read_shards(_without_sidecars(paths))
    record = shards[0].record
    with as_written(record_file(shards[0].path), record["command"]):
        command = _COMMANDS[record["command"]]
        if ("" in record["files"]) == bool(command.file):
            raise ValueError("files: a folder where the command writes a file, or the reverse")
        sums = added(shard.record["sums"] for shard in shards)
        summary = command.summary(record, sums)
    _check_changeable(summary)
    if command.file:
        _merge_folders(out, shards, summary, command)
    else:
        _merge_files(out, shards, summary)
    return len(shards)


def check_free(command: str, out: Path) -> None:
    """Check, before the shards of a command are made, that `merge` can write their output.

    Args:
        command: the name of the command.
        out: the folder or file to write.

    Raises:
        InputError: it is a file instead of a folder or the reverse, cannot be written, or holds a
            run.
    """
    how = _COMMANDS[command]
    if not how.file:
        check_output_file(out, (), key="--out")
    elif out.exists():
        make_folder(out)
    if how.lines or command == "augment":
        check_unclaimed(out if how.lines else attack_folder(out))


def _without_sidecars(paths: Sequence[Path]) -> list[Path]:
    """Leave out what commands write next to the files of shards, as a shell lists it for ``*``."""
    sidecars = set[Path]()
    for path in paths:
        if path.name and not path.is_dir():
            sidecars |= {record_file(path), summary_beside(path), attack_folder(path)} - {path}
    return [path for path in paths if path not in sidecars]


def _check_changeable(summary: Mapping[str, Any]) -> None:
    """Check that an attack could change a sentence of any shard."""
    reach = summary.get("reach")
    if reach and reach["attacked"] and not reach["changeable"]:
        problem = f"the attack could change none of {reach['attacked']} sentences"
        remedy = "attack a few of them without --shard; the error then names the reason"
        raise InputError(problem, remedy=remedy)


def _merge_folders(
    out: Path, shards: Sequence[StoredShard], summary: Mapping[str, Any], command: _Command
) -> None:
    """Join folders of `attack`, `certify` or `evaluate`."""
    record = shards[0].record
    check_no_input(make_folder(out), [str(shard.path) for shard in shards])
    with locked(out, "merge", "OUT"):
        if command.lines:
            begun = (out / command.lines).exists()
            claim(out, record["run"], command.run, command.lines, begun)
        remove_record(out)
        for name in record["files"]:
            join(out / name, shards, name)
        write_json(out / command.file, summary)


def _merge_files(out: Path, shards: Sequence[StoredShard], summary: Mapping[str, Any]) -> None:
    """Join files of `predict` or `augment`, and the folders of the attacks of `augment`."""
    record = shards[0].record
    check_output_file(out, [str(shard.path) for shard in shards])
    if record["command"] == "augment":
        check_copies(out, summary["n_copies"])
        if record["run"]["attack"]:
            attacked = attack_folder(out)
            merge(attacked, [attack_folder(shard.path) for shard in shards])
            summary = {**read_record(attacked / SUMMARY, dict[str, Any]), **summary}
    remove_record(out)
    join(out, shards, "")
    if summary:
        write_json(summary_beside(out), summary)


def _attack_summary(record: ShardRecord, sums: Sums) -> Mapping[str, Any]:
    run, totals = cast(RunRecord, record["run"]), AttackSummary(_task(record))
    totals.add_counts(sums["attack"])
    budget = run["settings"]["init_args"].get("budget")
    speed = Speed(**sums["speed"]).summary(sums["pending"])
    return totals.summary(run, budget, speed, record["versions"])


def _certified_summary(record: ShardRecord, sums: Sums) -> Mapping[str, Any]:
    run = cast(CertificateRun, record["run"])
    scores = CertifiedScores(_task(record), run["edits"])
    scores.add_counts(sums["certified"])
    return scores.summary(run, speed_summary(sums), record["versions"])


def _scores(record: ShardRecord, sums: Sums) -> Mapping[str, Any]:
    scores = evaluated(_task(record), record["run"], sums)
    return {**scores, "versions": record["versions"]}


_COMMANDS = {
    "attack": _Command(_attack_summary, SUMMARY, EXAMPLES, RunRecord),
    "certify": _Command(_certified_summary, SUMMARY, CERTIFICATES, CertificateRun),
    "evaluate": _Command(_scores, SCORES),
    "augment": _Command(
        lambda record, sums: copies_summary(record["run"]["made"], record["run"]["drawn"], sums)
    ),
    "predict": _Command(lambda _, __: {}),
}


def _task(record: ShardRecord) -> Task:
    return named(record["task"], record["language"])
