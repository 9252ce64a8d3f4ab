"""Read the output folder of `robustparse certify`: scores and sentences.

As with attacks, an unfinished or damaged folder is read as far as possible.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from robustparse.errors import InputError
from robustparse.evaluation.certificate_folder import read_certified_summary
from robustparse.evaluation.certificate_records import (
    CERTIFICATES,
    CertificateRecord,
    CertificateRun,
    CertifiedSummary,
)
from robustparse.evaluation.certified_scores import CertifiedScores
from robustparse.evaluation.record_files import read_record, stored_records
from robustparse.evaluation.records import RUN, SUMMARY
from robustparse.files.json_text import as_written
from robustparse.reports.attacked_systems import noting
from robustparse.tasks.certificate_drawing import CERTIFIED, REFUTED, UNDECIDED, most_edits
from robustparse.tasks.registry import named, task_of_answer
from robustparse.tasks.task import Task

_REMEDY = "run the same certify again"


@dataclass(frozen=True, slots=True)
class CertifiedSentence:
    """A sentence with its certificate.

    Args:
        record: its line of ``certificates.jsonl``.
        outcome: certified as a whole, refuted, or undecided, at the largest number of edits.
        scores: the headline score on the original, and the certified one; None if no part of the
            answer is counted.
        picture: the drawn certificate, HTML.
    """

    record: CertificateRecord
    outcome: str
    scores: tuple[float | None, float | None]
    picture: str

    @property
    def words(self) -> dict[str, str]:
        """The changed words of the witness with the fewest edits, by position; empty if none."""
        changed = (witness["words"] for witness in self.record["witnesses"])
        return next(filter(None, changed), {})


@dataclass(frozen=True, slots=True)
class CertifiedSystem:
    """The scores and sentences of a certified system.

    Args:
        name: the name of the system in the report.
        task: the task of the system.
        summary: the content of ``summary.json``.
        sentences: the certified sentences.
    """

    name: str
    task: Task
    summary: CertifiedSummary
    sentences: tuple[CertifiedSentence, ...] = ()


def read_certified(folder: Path, name: str, unread: list[InputError]) -> CertifiedSystem | None:
    """Read the output folder of `certify`, even if it is unfinished or damaged.

    A missing summary is computed from the sentences, which are read up to the first damaged one.

    Args:
        folder: the folder, which holds ``certificates.jsonl``.
        name: the name of the system in the report.
        unread: gets an error for everything that cannot be read.

    Returns:
        The system; None if neither a summary nor a sentence can be read.

    Raises:
        InputError: there is no summary, and the sentences or ``run.json`` are damaged.
    """
    summary: CertifiedSummary | None = None
    path, records = folder / CERTIFICATES, list[CertificateRecord]()
    if (folder / SUMMARY).exists():
        with noting(unread):
            stored = read_certified_summary(folder)
            with as_written(folder / SUMMARY, "certify"):
                _check_scores(stored)
            summary = stored
    damage = list[InputError]()
    with noting(damage):
        records.extend(stored.record for stored in stored_records(path, CertificateRecord))
    if summary is None and not records:
        unread += damage
        return None
    with as_written(path, "certify"):
        task = named(summary["task"]) if summary else task_of_answer(records[0]["gold"])
    edits: Any = [*(summary or records[0])["certified"]]
    scores, sentences = CertifiedScores(task, edits), list[CertifiedSentence]()
    with noting(damage):
        for record in records:
            with as_written(path, "certify", key=f"sentence {record['id']}"):
                scores.add(record)
                sentences.append(_sentence(task, record))
    unread += damage
    if summary is None:
        summary = _so_far(folder, scores, unread)
    elif not damage:
        figures = scores.figures()
        for key in ("n_sentences", "clean", "certified"):
            if figures[key] != summary[key]:
                problem = f"does not follow from {CERTIFICATES}"
                remedy = "delete it, and run certify again"
                unread.append(InputError(problem, path=folder / SUMMARY, key=key, remedy=remedy))
                break
    return CertifiedSystem(name, task, summary, tuple(sentences))


def most_telling(
    systems: Sequence[CertifiedSystem], count: int = 3
) -> list[tuple[CertifiedSystem, CertifiedSentence]]:
    """Choose the sentences that show best what a certificate is.

    Sentences with certified and refuted parts come first, then those of 6 to 14 words, then those
    with the fewest witnesses and words.
    """

    def rank(pair: tuple[CertifiedSystem, CertifiedSentence]) -> tuple[bool, bool, int, int]:
        _, sentence = pair
        record, length = sentence.record, len(sentence.record["tokens"])
        certified = any(record["certified"][most_edits(record)].values())
        mixed = bool(sentence.words) and (certified or record["counted"] == 1)
        return not mixed, not 6 <= length <= 14, len(record["witnesses"]), length

    pairs = [(system, sentence) for system in systems for sentence in system.sentences]
    return sorted(pairs, key=rank)[:count]


def _sentence(task: Task, record: CertificateRecord) -> CertifiedSentence:
    scores, edits = task.scores, most_edits(record)
    certified = {name: len(record["certified"][edits][name]) for name in scores.names}
    counted, last = record["counted"], certified[scores.names[-1]]
    outcome = CERTIFIED if last == counted else REFUTED
    if edits in record["undecided"]:
        outcome = UNDECIDED
    clean = {name: record["clean"][name] for name in scores.sums}
    right = clean | dict(zip(scores.sums, certified.values(), strict=False))
    before, after = (
        scores.score({"counted": counted, **sums})[scores.headline] if counted else None
        for sums in (clean, right)
    )
    return CertifiedSentence(record, outcome, (before, after), task.pictures.certificate(record))


def _check_scores(summary: CertifiedSummary) -> None:
    """Check that a summary has the scores of its task at every number of edits."""
    names = [*named(summary["task"]).scores.names, *summary["clean"]]
    for edits, bounds in summary["certified"].items():
        if edits != "all":
            int(edits)
        for scores in (summary["clean"], bounds["lower"], bounds["upper"]):
            for name in names:
                scores[name]


def _so_far(folder: Path, scores: CertifiedScores, unread: list[InputError]) -> CertifiedSummary:
    """Compute the summary of an unfinished run, and note that sentences are missing."""
    n, run = scores.sentences, CertificateRun()
    if (folder / RUN).exists():
        run = read_record(folder / RUN, CertificateRun, _REMEDY)
    problem = f"its scores are those of the {n} sentence{'s' * (n != 1)} that certify finished"
    remedy = f"{_REMEDY}, which certifies the others"
    unread.append(InputError(problem, path=folder, remedy=remedy))
    return cast(CertifiedSummary, {**scores.figures(), **run})
