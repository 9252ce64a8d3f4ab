"""``robustparse merge``: join what the shards of a run wrote into what one process writes."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from robustparse.api.augment import attack_folder, check_copies, report, summary_beside
from robustparse.errors import InputError
from robustparse.evaluation.accumulator import Sums, added
from robustparse.evaluation.attack_processes import Speed
from robustparse.evaluation.attack_summary import AttackSummary
from robustparse.evaluation.certificate_folder import speed_summary
from robustparse.evaluation.certificate_records import CERTIFICATES, CertificateRun
from robustparse.evaluation.certified_scores import CertifiedScores
from robustparse.evaluation.claim import claim
from robustparse.evaluation.evaluated import evaluated
from robustparse.evaluation.records import EXAMPLES, SCORES, SUMMARY, RunRecord, read_record
from robustparse.evaluation.shards import (
    SHARD,
    ShardRecord,
    StoredShard,
    join,
    read_shards,
    record_file,
    remove_record,
)
from robustparse.files import (
    as_written,
    check_no_input,
    check_output_file,
    locked,
    make_folder,
    write_text,
)
from robustparse.tasks.registry import named
from robustparse.tasks.task import Task


def merge(out: Path, paths: Sequence[Path]) -> None:
    """Join the folders or files of all shards of a run.

    Memory does not grow with the number of sentences. Times are summed over the shards.

    Args:
        out: the folder or file to write.
        paths: the folders or files that a command wrote with ``--shard``, in any order; records and
            summaries next to files are left out.

    Raises:
        InputError: a shard is missing, doubled, unfinished, damaged, or of another run; or the
            output cannot be written.
    """
    shards = read_shards([path for path in paths if not path.name.endswith(_BESIDE)])
    record = shards[0].record
    with as_written(record_file(shards[0].path), record["command"]):
        sums = added(shard.record["sums"] for shard in shards)
        summary = _SUMMARIES[record["command"]](record, sums)
    if (reach := summary.get("reach")) and reach["attacked"] and not reach["changeable"]:
        problem = f"the attack could change none of {reach['attacked']} sentences"
        raise InputError(problem, remedy="attack some of them without --shard, to learn the reason")
    if "" in record["files"]:
        _merge_files(out, shards, summary)
    else:
        _merge_folders(out, shards, summary)


def _merge_folders(out: Path, shards: Sequence[StoredShard], summary: Mapping[str, Any]) -> None:
    """Join folders of `attack`, `certify` or `evaluate`."""
    record = shards[0].record
    check_no_input(make_folder(out), [str(shard.path) for shard in shards])
    with locked(out, "merge", "OUT"):
        if record["command"] in _CLAIMS:
            lines, kind = _CLAIMS[record["command"]]
            claim(out, record["run"], kind, lines, begun=(out / lines).exists())
        remove_record(out)
        for name in record["files"]:
            join(out / name, shards, name)
        _write(out / (SCORES if record["command"] == "evaluate" else SUMMARY), summary)


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
        _write(summary_beside(out), summary)


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


def _copies_summary(record: ShardRecord, sums: Sums) -> Mapping[str, Any]:
    return report(record["run"]["made"], record["run"]["drawn"], sums)


_SUMMARIES: dict[str, Callable[[ShardRecord, Sums], Mapping[str, Any]]] = {
    "attack": _attack_summary,
    "certify": _certified_summary,
    "evaluate": _scores,
    "augment": _copies_summary,
    "predict": lambda _, __: {},
}
_BESIDE = (f".{SHARD}", ".summary.json")
_CLAIMS: dict[str, tuple[str, type[Any]]] = {
    "attack": (EXAMPLES, RunRecord),
    "certify": (CERTIFICATES, CertificateRun),
}


def _task(record: ShardRecord) -> Task:
    return named(record["task"], record["language"])


def _write(path: Path, content: Mapping[str, Any]) -> None:
    write_text(path, json.dumps(content, indent=2) + "\n")
