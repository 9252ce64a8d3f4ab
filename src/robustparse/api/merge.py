"""``robustparse merge``: join what the shards of a run wrote into what one process writes."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

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
from robustparse.evaluation.records import EXAMPLES, SCORES, SUMMARY, RunRecord
from robustparse.evaluation.shards import StoredShard, join, read_shards, remove_record
from robustparse.files import (
    as_written,
    check_output_file,
    locked,
    make_folder,
    write_text,
)
from robustparse.tasks.registry import named


def merge(out: Path, paths: Sequence[Path]) -> None:
    """Join the folders or files of all shards of a run.

    Memory does not grow with the number of sentences. Times are summed over the shards.

    Args:
        out: the folder or file to write.
        paths: the folders or files that a command wrote with ``--shard``, in any order.

    Raises:
        InputError: a shard is missing, doubled, unfinished, damaged, or of another run; or the
            output cannot be written.
    """
    shards = read_shards(paths)
    command = shards[0].record["command"]
    with as_written(paths[0], command):
        sums = added(shard.record["sums"] for shard in shards)
        _MERGES[command](out, shards, sums)


def _merge_files(folder: Path, shards: Sequence[StoredShard]) -> None:
    for name in shards[0].record["files"]:
        join(folder / name, shards, name)


def _merge_attack(folder: Path, shards: Sequence[StoredShard], sums: Sums) -> None:
    """Join folders of `attack`."""
    record = shards[0].record
    run, totals = record["run"], AttackSummary(_task(record["run"]))
    totals.add_counts(sums["attack"])
    if (reach := totals.changeable).attacked and not reach.changeable:
        problem = f"the attack could change none of {reach.attacked} sentences"
        raise InputError(problem, remedy="attack some of them without --shard, to learn the reason")
    speed = Speed(**sums["speed"]).summary(sums["pending"])
    with locked(make_folder(folder), "merge", "OUT"):
        begun = (folder / EXAMPLES).exists()
        claim(folder, run["run"], RunRecord, EXAMPLES, begun)
        _merge_files(folder, shards)
        summary = totals.summary(run["run"], run["budget"], speed, record["versions"])
        _write(folder / SUMMARY, summary)


def _merge_certificates(folder: Path, shards: Sequence[StoredShard], sums: Sums) -> None:
    """Join folders of `certify`."""
    record = shards[0].record
    run = record["run"]
    scores = CertifiedScores(_task(run), run["run"]["edits"])
    scores.add_counts(sums["certified"])
    with locked(make_folder(folder), "merge", "OUT"):
        begun = (folder / CERTIFICATES).exists()
        claim(folder, run["run"], CertificateRun, CERTIFICATES, begun)
        _merge_files(folder, shards)
        summary = scores.summary(run["run"], speed_summary(sums), record["versions"])
        _write(folder / SUMMARY, summary)


def _merge_scores(folder: Path, shards: Sequence[StoredShard], sums: Sums) -> None:
    """Join folders of `evaluate`."""
    record = shards[0].record
    remove_record(make_folder(folder))
    _merge_files(folder, shards)
    scores = evaluated(_task(record["run"]), record["run"], sums)
    _write(folder / SCORES, {**scores, "versions": record["versions"]})


def _merge_copies(out: Path, shards: Sequence[StoredShard], sums: Sums) -> None:
    """Join files of `augment`, and the folders of the attacks that made the copies."""
    run = shards[0].record["run"]
    made = run["made"]
    check_copies(out, sums["copies"]["n_copies"])
    if run["attack"]:
        folder = attack_folder(out)
        merge(folder, [attack_folder(shard.path) for shard in shards])
        made = json.loads((folder / SUMMARY).read_text("utf-8"))
    _merge_answers(out, shards, sums)
    _write(summary_beside(out), report(made, run["drawn"], sums))


def _merge_answers(out: Path, shards: Sequence[StoredShard], _: Sums) -> None:
    """Join files of `predict`."""
    check_output_file(out, [str(shard.path) for shard in shards])
    remove_record(out)
    join(out, shards, "")


_MERGES: dict[str, Callable[[Path, Sequence[StoredShard], Sums], None]] = {
    "attack": _merge_attack,
    "certify": _merge_certificates,
    "evaluate": _merge_scores,
    "augment": _merge_copies,
    "predict": _merge_answers,
}


def _task(run: dict[str, Any]) -> Any:
    return named(run["task"], run["language"])


def _write(path: Path, content: Any) -> None:
    write_text(path, json.dumps(content, indent=2) + "\n")
