"""The files of certificates: the types of what they hold, and how a line is made and checked.

`certify` writes ``certificates.jsonl`` (a `CertificateRecord` a line), ``summary.json``
(`CertifiedSummary`) and ``run.json`` (`CertificateRun`).
"""

from collections.abc import Sequence
from math import inf
from typing import Any, NotRequired, Required, TypedDict

import numpy as np

from robustparse.attacks.victim import Victim, joined
from robustparse.certificates.allowed_inputs import Edits
from robustparse.certificates.exhaustion import Certificate
from robustparse.evaluation.records import Count, Percentages, VictimRun, Word
from robustparse.tasks.task import Task, scored_parts
from robustparse.types import Example, Mask

CERTIFICATES = "certificates.jsonl"
"""The file with a line for each sentence."""

_EXACT = 2**53  # the largest integer that every JSON reader reads exactly

Parts = dict[str, list[Count]]
"""Parts of an answer by score: positions of words, from 0; 0 for a whole answer."""


class WitnessRecord(TypedDict):
    """An allowed input on which the victim is wrong.

    Attributes:
        words: the changed words by their position in the text, from 0; empty for the original.
        edits: the number of words that the victim reads differently.
        answer: the victim's answer (`Answers.to_record`).
        refutes: the parts of the answer that no input with fewer edits refutes.
    """

    words: dict[str, Word]
    edits: Count
    answer: dict[str, Any]
    refutes: Parts


class CertificateRecord(TypedDict):
    """The certificate of a sentence, a line of ``certificates.jsonl``.

    Attributes:
        id: the example's id.
        context: words of the other text of a pair; left out if there is none.
        tokens: the words of the text.
        read: the words that the victim reads; left out if it reads the tokens.
        gold: the gold answer.
        clean: the answer to the original, with the number of its right parts (`Scores.sums`).
        counted: parts of an answer that enter the scores.
        uncounted: positions of words that do not enter the scores; left out if all do.
        certified: by number of edits, the parts that are right on every allowed input.
        survived: by undecided number of edits, the parts that were right on all inputs tried.
        undecided: the numbers of edits at which a part is neither certified nor refuted.
        inputs: by number of edits, the allowed inputs that differ for the victim, the original
            included; null above 2^53.
        tried: by number of edits, the inputs tried.
        witnesses: an input for each refuted part, which may refute several.
    """

    id: Count
    context: NotRequired[list[str]]
    tokens: list[Word]
    read: NotRequired[list[str]]
    gold: dict[str, Any]
    clean: dict[str, Any]
    counted: Count
    uncounted: NotRequired[list[Count]]
    certified: dict[str, Parts]
    survived: dict[str, Parts]
    undecided: list[str]
    inputs: dict[str, Count | None]
    tried: dict[str, Count]
    witnesses: list[WitnessRecord]


class Bounds(TypedDict):
    """Certified scores at a number of edits.

    Attributes:
        lower: percent certified; undecided parts count as wrong.
        upper: percent that survived all inputs tried; undecided parts count as right.
        undecided: sentences with an undecided part.
        inputs: inputs tried.
    """

    lower: Percentages
    upper: Percentages
    undecided: Count
    inputs: Count


class CertificateRun(VictimRun, total=False):
    """What answers were certified with, ``run.json``: what distinguishes it from other runs."""

    edits: list[int | str]
    cap: Count
    punctuation: str
    substitutes: str
    substitutes_settings: dict[str, Any]


class CertifiedSummary(CertificateRun, total=False):
    """The certified scores of a run, ``summary.json``, with what it was run with.

    Attributes:
        n_changeable: sentences with more than one allowed input.
        clean: percentages by score; ``tree`` is the share of trees that are right as a whole.
        certified: by number of edits.
        inputs: inputs tried in all.
        victim_forwards, seconds, victim_seconds: forward passes and time of the last uninterrupted
            stretch of the run; None if it had nothing left to certify.
    """

    task: Required[str]
    n_sentences: Required[Count]
    n_words: Count
    n_changeable: Required[Count]
    clean: Required[Percentages]
    certified: Required[dict[str, Bounds]]
    inputs: Count
    victim_forwards: Count | None
    seconds: float | None
    victim_seconds: float | None
    versions: dict[str, str]


def certificate_record(
    task: Task, victim: Victim, certificate: Certificate, edits: Sequence[Edits]
) -> CertificateRecord:
    """Return the line of a certificate, with the numbers of edits that were asked for."""
    problem, example = certificate.problem, certificate.problem.example
    states = [certificate.clean, *(witness.predictions for witness in certificate.witnesses)]
    clean, *answers = victim.answers(joined(states), [len(problem)] * len(states))
    counted = np.zeros(len(task.scores.counted(example.sentence, "none")), dtype=np.bool_)
    counted[certificate.parts] = True
    right = task.scores.correct(clean, example, counted)
    names = task.scores.names

    def parts(mask: Mask) -> Parts:
        rows = (certificate.parts[column].tolist() for column in mask.T)
        return dict(zip(names, rows, strict=True))

    undecided = [each for each in edits if certificate.undecided(each)]
    counts = {str(each): certificate.allowed.count(each) for each in edits}
    record: CertificateRecord = {
        "id": example.id,
        "tokens": list(problem.sentence.words),
        "gold": task.answers.to_record(example.gold),
        "clean": {
            **task.answers.to_record(clean),
            **{name: right[name] for name in task.scores.sums},
        },
        "counted": right["counted"],
        "certified": {str(each): parts(certificate.certified(each)) for each in edits},
        "survived": {str(each): parts(certificate.survived(each)) for each in undecided},
        "undecided": [str(each) for each in undecided],
        "inputs": {name: count if count <= _EXACT else None for name, count in counts.items()},
        "tried": {
            str(each): sum(certificate.tried[: certificate.allowed.edits(each) + 1])
            for each in edits
        },
        "witnesses": [
            {
                "words": {
                    str(position): new
                    for position, (old, new) in enumerate(
                        zip(problem.sentence.words, problem.text(witness.state), strict=True)
                    )
                    if old != new
                },
                "edits": witness.edits,
                "answer": task.answers.to_record(answer),
                "refutes": {
                    name: refuted
                    for name, refuted in parts(certificate.refuted == number).items()
                    if refuted
                },
            }
            for number, (witness, answer) in enumerate(
                zip(certificate.witnesses, answers, strict=True)
            )
        ],
    }
    if example.sentence.context:
        record["context"] = list(example.sentence.context)
    if problem.sentence.words != example.sentence.words:
        record["read"] = list(example.sentence.words)
    if not counted.all():
        record["uncounted"] = np.flatnonzero(~counted).tolist()
    return record


def check_certificate(
    task: Task, record: CertificateRecord, example: Example, edits: Sequence[Edits]
) -> None:
    """Check that a line belongs to a sentence, and that it follows from its witnesses.

    Raises:
        Exception: the values do not fit together; see `as_written`.
    """
    if tuple(record["tokens"]) != task.files.surface(example).words:
        raise ValueError("tokens belong to another sentence")
    if record["gold"] != task.answers.to_record(example.gold):
        raise ValueError("gold belongs to another sentence")
    if [*record["certified"]] != [str(each) for each in edits]:
        raise ValueError("certified has other numbers of edits")
    counted = scored_parts(record, len(task.scores.counted(example.sentence, "none")))
    right = task.scores.correct(task.answers.from_record(record["clean"]), example, counted)
    for name in ("counted", *task.scores.sums):
        if right[name] != (record["counted"] if name == "counted" else record["clean"][name]):
            raise ValueError(f"{name} does not follow from the answer")
    parts = np.flatnonzero(counted).tolist()
    refuted = _refuted(task, record, example, len(counted))
    for each in edits:
        most = inf if each == "all" else each
        survived = {
            name: [at for at in parts if at not in fewest or fewest[at] > most]
            for name, fewest in refuted.items()
        }
        decided = str(each) not in record["undecided"]
        certified = survived if decided else {name: [] for name in survived}
        stored = record["certified"][str(each)], record["survived"].get(str(each))
        if stored != (certified, None if decided else survived):
            raise ValueError(f"certified: {each} does not follow from the witnesses")


def _refuted(
    task: Task, record: CertificateRecord, example: Example, size: int
) -> dict[str, dict[int, float]]:
    """Return by score, for each refuted part, how many edits refute it."""
    refuted: dict[str, dict[int, float]] = {name: {} for name in task.scores.names}
    sums = dict(zip(task.scores.names, task.scores.sums, strict=False))
    for witness in record["witnesses"]:
        answer = task.answers.from_record(witness["answer"])
        for name, parts in witness["refutes"].items():
            for part in parts:
                if task.scores.correct(answer, example, np.arange(size) == part)[sums[name]]:
                    raise ValueError(f"a witness does not refute {name} of part {part}")
                refuted[name][part] = witness["edits"]
    return refuted
