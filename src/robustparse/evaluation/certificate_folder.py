"""The output folder of `certify`: written sentence by sentence, resumed after any interruption.

Each finished sentence adds a line to ``certificates.jsonl``, which is sorted by id at the end. A
run that was killed continues with the sentences that have no line. ``run.json`` describes the run
(`claim`).
"""

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from robustparse.attacks.engine.statistics import Statistics
from robustparse.certificates.exhaustion import Exhaustive
from robustparse.errors import InputError
from robustparse.evaluation.accumulator import Sums
from robustparse.evaluation.certificate_records import (
    CERTIFICATES,
    CertificateRecord,
    CertificateRun,
    CertifiedSummary,
    certificate_record,
    check_certificate,
)
from robustparse.evaluation.certified_scores import CertifiedScores
from robustparse.evaluation.claim import claim
from robustparse.evaluation.clean import AnsweringVictim
from robustparse.evaluation.record_files import RecordFile, read_record, stored_records
from robustparse.evaluation.records import SUMMARY, versions
from robustparse.evaluation.shards import record_file, remove_record, write_shard
from robustparse.files.json_text import as_written
from robustparse.files.output_folders import locked, make_folder
from robustparse.files.writing import write_json, written
from robustparse.types import Example

_REMEDY = "give a folder that `robustparse certify --out` wrote, or run certify again"


def certify_into(
    folder: Path,
    exhaustive: Exhaustive,
    examples: Sequence[Example],
    victim: AnsweringVictim,
    run: CertificateRun,
    on_sentence: Callable[[CertifiedScores], None] = lambda _: None,
) -> CertifiedSummary:
    """Write the certificates of sentences into a folder, or resume an earlier run in it.

    Args:
        folder: is made if it does not exist, and continued if it holds the same run.
        exhaustive: makes the certificates.
        examples: sentences with distinct ids.
        victim: the model.
        run: what distinguishes this run from others.
        on_sentence: called after every sentence with the scores so far.

    Returns:
        The summary.

    Raises:
        InputError: the folder is not writable, in use, damaged, or holds another run.
    """
    with locked(make_folder(folder), "certify", "--out"):
        scores = CertifiedScores(victim.task, exhaustive.edits)
        records = RecordFile(folder / CERTIFICATES, CertificateRecord)
        _add_earlier(records, exhaustive, examples, run, scores)
        pending = [example for example in examples if example.id not in records.positions]
        last = record_file(folder) if "shard" in run else folder / SUMMARY
        if not pending and last.exists():
            return read_certified_summary(folder)
        remove_record(folder)
        begin, statistics = time.perf_counter(), Statistics()
        with closing(exhaustive.certificates(pending, victim, statistics)) as certificates:
            for certificate in certificates:
                record = certificate_record(victim.task, victim, certificate, exhaustive.edits)
                records.append(record)
                scores.add(record)
                on_sentence(scores)
        seconds = time.perf_counter() - begin
        with written(records.path) as file:
            for _ in records.sorted_into(file):
                pass
        sums = {
            "certified": scores.counts(),
            "pending": len(pending),
            "speed": {
                "victim_forwards": statistics.forwards,
                "seconds": round(seconds, 3),
                "victim_seconds": round(statistics.victim_seconds, 3),
            },
        }
        summary = scores.summary(run, speed_summary(sums), versions())
        write_json(folder / SUMMARY, summary)
        if "shard" in run:
            heads = {CERTIFICATES: ""}
            write_shard(folder, "certify", run["shard"], victim.task, run, sums, heads)
        return summary


def speed_summary(sums: Sums) -> dict[str, Any]:
    """Return the keys of ``summary.json`` about speed; None if nothing was pending."""
    speed: dict[str, Any] = sums["speed"]
    return speed if sums["pending"] else dict.fromkeys(speed)


def read_certified_summary(folder: Path) -> CertifiedSummary:
    """Read the summary of finished certificates.

    Raises:
        InputError: it is missing or damaged.
    """
    return read_record(folder / SUMMARY, CertifiedSummary, _REMEDY)


def read_certificates(folder: Path) -> list[CertificateRecord]:
    """Read the lines of ``certificates.jsonl``.

    Raises:
        InputError: the file is missing, or a line is damaged.
    """
    path = folder / CERTIFICATES
    if not path.exists():
        raise InputError("no such file", path=path, remedy=_REMEDY)
    return [stored.record for stored in stored_records(path, CertificateRecord)]


def _add_earlier(
    records: RecordFile[CertificateRecord],
    exhaustive: Exhaustive,
    examples: Sequence[Example],
    run: CertificateRun,
    scores: CertifiedScores,
) -> None:
    """Keep the lines of an earlier run, and add them to the scores."""
    by_id = {example.id: example for example in examples}
    earlier = [*stored_records(records.path, CertificateRecord)]
    claim(records.path.parent, run, CertificateRun, CERTIFICATES, begun=bool(earlier))
    for stored in earlier:
        record = stored.record
        with as_written(records.path, "certify", line=stored.line):
            if record["id"] not in by_id:
                raise ValueError(f"no sentence {record['id']} in the data")
            check_certificate(scores.task, record, by_id[record["id"]], exhaustive.edits)
            scores.add(record)
        records.keep(stored)
    records.cut_off()
