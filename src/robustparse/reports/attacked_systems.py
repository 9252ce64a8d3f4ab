"""Read the output folder of `robustparse attack`: scores, curves and sentences.

An unfinished or damaged folder is read as far as possible. Every `InputError` names the file and
the line or key.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import TypedDict, cast

from robustparse.errors import InputError
from robustparse.evaluation.attack_summary import AttackSummary
from robustparse.evaluation.comparison import SentenceCounts
from robustparse.evaluation.example_records import all_records, edited_positions
from robustparse.evaluation.finished_folders import check_count, read_run, read_summary
from robustparse.evaluation.record_files import REMEDY, converted, read_record
from robustparse.evaluation.records import (
    EXAMPLES,
    SUMMARY,
    WHEN,
    ExampleRecord,
    RunRecord,
    Summary,
)
from robustparse.evaluation.significance import AttackedCounts
from robustparse.files.json_text import as_written
from robustparse.files.paths import check_folder
from robustparse.reports.plots import Curve, Plot
from robustparse.tasks.registry import named, task_of_answer
from robustparse.tasks.task import Task

CURVES = "curves.json"
_FOLDERS = "give a folder that attack, certify, evaluate, transfer or fit wrote, or run it again"
SUCCEEDED, FAILED, SKIPPED = OUTCOMES = ("succeeded", "failed", "skipped")
# Systems are compared if these settings and the data's content are equal; decoding belongs to the
# system.
_DECODED = ("decoder", "beam")
_COMPARED = ("attack", "settings", "seed", "limit", "fraction", "fraction_of")


@dataclass(frozen=True, slots=True)
class AttackedSentence:
    """One attacked sentence.

    Args:
        record: its line of ``examples.jsonl``.
        changed: units of the answer that the attack changed, except those of substituted words.
        wrong_before: wrong units of the answer to the original sentence.
        wrong_after: wrong units of the answer to the perturbed sentence.
        scores: the headline score before and after; None if nothing was counted.
    """

    record: ExampleRecord
    changed: int
    wrong_before: int
    wrong_after: int
    scores: tuple[float | None, ...]

    @property
    def outcome(self) -> str:
        """The outcome of the attack: one of `OUTCOMES`."""
        if self.record["success"]:
            return SUCCEEDED
        return SKIPPED if self.record["skipped"] else FAILED

    @property
    def words(self) -> tuple[str, ...]:
        """The words of the original sentence."""
        return tuple(self.record["tokens"])

    @property
    def swaps(self) -> list[tuple[str, str]]:
        """The substituted words and their substitutes."""
        return [
            (self.words[i], self.record["adversarial_tokens"][i]) for i in self.record["edited"]
        ]


@dataclass(frozen=True, slots=True)
class AttackedSystem:
    """The scores and sentences of one system.

    Args:
        name: the name of the system in the report.
        task: the task of the system.
        summary: the content of ``summary.json``; a score that was not computed is None.
        counts: correct units of each sentence, by the headline score.
        path: the folder.
        run: the content of ``run.json``; empty if it is missing.
        plots: the plot of ``curves.json``, or none.
        sentences: all attacked sentences.
        compared: the settings of the attack, except for the model; None if they are not known.
        model: identifies the model by its weights; None if they are not known.
    """

    name: str
    task: Task
    summary: Summary
    counts: AttackedCounts
    path: Path
    run: RunRecord = field(default_factory=RunRecord)
    plots: tuple[Plot, ...] = ()
    sentences: tuple[AttackedSentence, ...] = ()
    compared: str | None = None
    model: str | None = None

    @property
    def before(self) -> float | None:
        """The headline score on the original sentences."""
        return self.summary["clean"][self.task.scores.headline]

    @property
    def after(self) -> float | None:
        """The headline score on the perturbed sentences."""
        return self.summary["attacked"][self.task.scores.headline]

    @property
    def strict(self) -> dict[str, float]:
        """The strict success rates by score, empty if the task has none."""
        return self.summary.get("strict_success_rate") or {}

    @property
    def successes(self) -> list[AttackedSentence]:
        """The sentences that the attack succeeded on."""
        return [sentence for sentence in self.sentences if sentence.outcome == SUCCEEDED]


def read_folder(folder: Path, name: str) -> AttackedSystem:
    """Read the complete output folder of an attack; see `read_partly`.

    Raises:
        InputError: the folder or a file is missing or damaged.
    """
    unread: list[InputError] = []
    system = read_partly(folder, name, unread)
    if unread or system is None:
        raise unread[0]
    return system


def read_partly(folder: Path, name: str, unread: list[InputError]) -> AttackedSystem | None:
    """Read the output folder of an attack, even if it is unfinished or damaged.

    A missing summary is computed from the sentences, which are read up to the first damaged one.

    Args:
        folder: the output folder of an attack.
        name: the name of the system in the report.
        unread: gets an error for everything that cannot be read, the most informative one first.

    Returns:
        The system; None if neither a summary nor a sentence can be read.

    Raises:
        InputError: there is no such folder.
    """
    check_folder(folder, remedy=_FOLDERS)
    summary: Summary | None = None
    run: RunRecord = {}
    records: list[ExampleRecord] = []
    plots: tuple[Plot, ...] = ()
    with noting(unread):
        stored = read_summary(folder, _FOLDERS)
        with as_written(folder / SUMMARY, "attack"):
            for when, score in product(WHEN, named(stored["task"]).scores.names):
                stored[when][score]  # raises an error if it is missing
        summary = stored
    with noting(unread):
        run = read_run(folder)
    with noting(unread):
        records.extend(stored.record for stored in all_records(folder))
        if summary is not None and (folder / EXAMPLES).exists():
            check_count(folder, summary, records)
    if records and summary is None:
        with noting(unread):
            summary = _so_far(folder, records, run, unread)
    if summary is None:
        return None
    task = named(summary["task"])
    sentences = _sentences(folder, records, task, unread)
    if (folder / CURVES).exists():
        with noting(unread):
            plots = (_read_plot(folder / CURVES),)
    counts = SentenceCounts(task, [sentence.record for sentence in sentences])
    digests = run.get("sha256", {})
    weights = digests.get("checkpoint")
    compared = json.dumps([digests.get("data"), *map(run.get, _COMPARED)], sort_keys=True)
    return AttackedSystem(
        name=name,
        task=task,
        summary=summary,
        counts=counts.by_score(task.scores.headline),
        path=folder,
        run=run,
        plots=plots,
        sentences=tuple(sentences),
        compared=compared if run else None,
        model=None if weights is None else json.dumps([weights, *map(run.get, _DECODED)]),
    )


def names_of(folders: Sequence[Path]) -> list[str]:
    """Return a different name for each folder: the shortest end of its path that is unique.

    A common end is left out: ``one/attacked`` and ``two/attacked`` become ``one`` and ``two``.

    Raises:
        InputError: a folder is given twice.
    """
    whole = [folder.resolve().parts for folder in folders]
    while len(whole) > 1 and all(whole) and len({parts[-1] for parts in whole}) == 1:
        whole = [parts[:-1] for parts in whole]
    for depth in range(1, max(map(len, whole), default=0) + 1):
        names = ["/".join(parts[-depth:]) for parts in whole]
        if len(set(names)) == len(names):
            return names
    raise InputError("the same folder is given twice", remedy="give each folder once")


@contextmanager
def noting(unread: list[InputError]) -> Iterator[None]:
    """Collect an `InputError` instead of raising it."""
    try:
        yield
    except InputError as error:
        unread.append(error)


def most_telling(
    systems: Sequence[AttackedSystem], count: int = 3
) -> list[tuple[AttackedSystem, AttackedSentence]]:
    """Choose the successes that show best what an attack does, each original once.

    Sentences of 6 to 14 words with one or two edits come first; then those in which the attack
    changed most besides the substituted words; then those with fewest edits and words.
    """

    def rank(success: tuple[AttackedSystem, AttackedSentence]) -> tuple[bool, int, int, int]:
        _, sentence = success
        length, edits = len(sentence.words), len(sentence.record["edited"])
        return not (edits in (1, 2) and 6 <= length <= 14), -sentence.changed, edits, length

    best: dict[tuple[str, ...], tuple[AttackedSystem, AttackedSentence]] = {}
    successes = [(system, sentence) for system in systems for sentence in system.successes]
    for system, sentence in sorted(successes, key=rank):
        best.setdefault(sentence.words, (system, sentence))
    return list(best.values())[:count]


def _so_far(
    folder: Path, records: list[ExampleRecord], run: RunRecord, unread: list[InputError]
) -> Summary:
    """Compute the summary of an unfinished attack, and note that sentences are missing."""
    with as_written(folder / EXAMPLES, "attack"):
        figures = AttackSummary(task_of_answer(records[0]["gold"])).over(records).figures()
    n = len(records)
    unread.append(
        InputError(
            f"its scores are those of the {n} sentence{'s' * (n > 1)} that the attack finished",
            path=folder,
            remedy="run the same attack again, which attacks the others",
        )
    )
    return cast(Summary, {"attack": run.get("attack", "unknown"), **figures})


def _sentences(
    folder: Path, records: Sequence[ExampleRecord], task: Task, unread: list[InputError]
) -> list[AttackedSentence]:
    """Return the sentences, up to the first record that does not fit its task."""
    sentences: list[AttackedSentence] = []
    with noting(unread):
        if not records and not (folder / EXAMPLES).exists():
            raise InputError("no such file", path=folder / EXAMPLES, remedy=REMEDY)
        for record in records:
            with as_written(folder / EXAMPLES, "attack", key=f"sentence {record['id']}"):
                sums = [record[when][name] for when in WHEN for name in task.scores.sums]
                if not 0 <= min(sums) <= max(sums) <= record["counted"]:
                    raise ValueError(f"{sums} correct of {record['counted']}")
                changed = edited_positions(record["tokens"], record["adversarial_tokens"])
                if record["edited"] != changed:
                    raise ValueError("edited are not the positions of the changed words")
                scores = converted(
                    [record[when].get(task.scores.headline) for when in WHEN], list[float | None]
                )
                sentences.append(
                    AttackedSentence(record, *task.answers.changes(record), tuple(scores))
                )
    return sentences


class _CurveRecord(TypedDict):
    name: str
    x: list[float | None]
    y: list[float | None]


class _PlotRecord(TypedDict):
    title: str
    x_label: str
    y_label: str
    curves: list[_CurveRecord]


def _read_plot(path: Path) -> Plot:
    """Read the plot of quickstart; points that were not computed are left out."""
    record = read_record(path, _PlotRecord, "run quickstart again")
    curves = []
    with as_written(path, "quickstart"):
        for each in record["curves"]:
            both = zip(each["x"], each["y"], strict=True)
            known = [(x, y) for x, y in both if x is not None and y is not None]
            curves.append(Curve(each["name"], *zip(*known, strict=True)))
        return Plot(record["title"], record["x_label"], record["y_label"], tuple(curves))
