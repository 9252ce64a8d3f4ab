"""``robustparse.merge``: join what the shards of a run wrote into what one process writes."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from robustparse.errors import InputError
from robustparse.evaluation.accumulator import Sums, added
from robustparse.evaluation.attack_processes import Speed
from robustparse.evaluation.attack_summary import AttackSummary
from robustparse.evaluation.certificate_folder import speed_summary
from robustparse.evaluation.certificate_records import CERTIFICATES, CertificateRun
from robustparse.evaluation.certified_scores import CertifiedScores
from robustparse.evaluation.claim import claim
from robustparse.evaluation.records import EXAMPLES, SUMMARY, RunRecord
from robustparse.evaluation.shards import ShardRecord, join, read_shards
from robustparse.files import as_written, locked, make_folder, write_text
from robustparse.tasks.registry import named


def merge(out: str | Path, shards: Sequence[str | Path]) -> dict[str, Any]:
    """Join the folders or files of all shards of a run.

    Times are summed over the shards.

    Args:
        out: the folder or file to write.
        shards: the folders or files that a command wrote with ``--shard``, in any order.

    Returns:
        The merged scores, as the command writes them; empty for `predict`.

    Raises:
        InputError: a shard is missing, doubled, unfinished, damaged, or of another run; or the
            output cannot be written.
    """
    stored = read_shards([Path(shard) for shard in shards])
    out, first = Path(out), stored[0].record
    sums = added(shard.record["sums"] for shard in stored)
    folder = make_folder(out)
    with locked(folder, "merge", "OUT"):
        if first["command"] in _CLAIMS:
            kind, lines = _CLAIMS[first["command"]]
            claim(folder, first["run"]["run"], kind, lines, begun=(folder / lines).exists())
        for name in first["files"]:
            join(folder / name, stored, name)
        with as_written(stored[0].path, first["command"]):
            summary = _SUMMARIES[first["command"]](first, sums)
        write_text(folder / SUMMARY, json.dumps(summary, indent=2) + "\n")
    return summary


def _attack_summary(record: ShardRecord, sums: Sums) -> dict[str, Any]:
    run = record["run"]
    totals = AttackSummary(named(run["task"], run["language"]))
    totals.add_counts(sums["attack"])
    if (reach := totals.changeable).attacked and not reach.changeable:
        problem = f"the attack could change none of {reach.attacked} sentences"
        raise InputError(problem, remedy="attack a few of them without --shard, which says why")
    speed = Speed(**sums["speed"]).summary(sums["pending"])
    return dict(totals.summary(run["run"], run["budget"], speed, record["versions"]))


def _certified_summary(record: ShardRecord, sums: Sums) -> dict[str, Any]:
    run = record["run"]
    scores = CertifiedScores(named(run["task"], run["language"]), run["run"]["edits"])
    scores.add_counts(sums["certified"])
    return dict(scores.summary(run["run"], speed_summary(sums), record["versions"]))


_CLAIMS: dict[str, tuple[type[Any], str]] = {
    "attack": (RunRecord, EXAMPLES),
    "certify": (CertificateRun, CERTIFICATES),
}
_SUMMARIES: dict[str, Callable[[ShardRecord, Sums], dict[str, Any]]] = {
    "attack": _attack_summary,
    "certify": _certified_summary,
}
