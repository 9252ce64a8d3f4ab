"""Compare attacked or evaluated systems on the same sentences by every score.

Each difference from the first system has a 95 % interval from the paired bootstrap, a p-value from
the paired permutation test, and a p-value adjusted for the number of differences (Holm 1979).
"""

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from robustparse.errors import InputError
from robustparse.evaluation.records import (
    EXAMPLES,
    SCORES,
    SUMMARY,
    WHEN,
    ExampleRecord,
    When,
    read_finished,
    read_scores,
)
from robustparse.evaluation.rows import ANSWERS, PERTURBED, read_rows, right_parts
from robustparse.evaluation.significance import (
    AttackedCounts,
    Interval,
    correct_parts,
    counts_of,
    holm,
    paired_bootstrap,
    paired_permutation,
    score_in_percent,
)
from robustparse.files import as_written, check_folder
from robustparse.tasks.registry import named
from robustparse.tasks.task import Task

MEASURES = ("clean", "attacked", "lost", "fooled")
"""Score before and after the attack, points lost to it, and percentage of fooled sentences."""
CLEAN = MEASURES[0]


@dataclass(frozen=True)
class Tested:
    """The difference of one score between two systems.

    Args:
        points: the difference, in percentage points, with a 95 % interval.
        p: probability of a difference at least as large if the systems are equivalent.
        adjusted: p after Holm's correction for all computed differences.
    """

    points: Interval
    p: float
    adjusted: float


@dataclass(frozen=True)
class Difference:
    """The difference between a system and the first one in one measure of one score.

    Args:
        system: index of the system among all but the first, from 0.
        measure: one of `MEASURES`; for evaluated systems `CLEAN` or the name of an operation.
        score: name of the score.
        first: the value of the first system, in percent.
        tested: the system's value minus that of the first one.
    """

    system: int
    measure: str
    score: str
    first: float
    tested: Tested


def compare_counts(
    pairs: Sequence[tuple[AttackedCounts, AttackedCounts]],
) -> list[Mapping[str, Tested]]:
    """Compare the two systems of each pair by the counts of their sentences.

    Returns:
        For each pair, the second system's value minus the first one's: ``clean`` and ``attacked``
        are scores, ``lost`` the points lost to the attack, and ``fooled`` the percentage of fooled
        sentences. Holm's correction covers all of these together.

    Raises:
        ValueError: the systems of a pair were not scored on the same sentences.
    """
    differences = [
        (points, paired_permutation(*of_sentences, seed=0))
        for first, second in pairs
        for points, of_sentences in _differences(first, second)
    ]
    adjusted = holm([p for _, p in differences])
    tested = [
        Tested(*difference, value) for difference, value in zip(differences, adjusted, strict=True)
    ]
    size = len(MEASURES)
    rows = [tested[start : start + size] for start in range(0, len(tested), size)]
    return [dict(zip(MEASURES, row, strict=True)) for row in rows]


def _differences(
    first: AttackedCounts, other: AttackedCounts
) -> list[tuple[Interval, tuple[Sequence[int], Sequence[int]]]]:
    """Return the difference in each of `MEASURES`, and both systems' values per sentence."""
    clean, attacked = (
        (correct_parts(getattr(first, when)), correct_parts(getattr(other, when))) for when in WHEN
    )
    lost = [
        [old - new for old, new in zip(*each, strict=True)]
        for each in zip(clean, attacked, strict=True)
    ]
    fooled = (first.fooled(), other.fooled())
    ones = [1] * len(first.counted)
    return [
        (paired_bootstrap(_difference, [first.clean, other.clean], first.counted, seed=0), clean),
        (other.gained(first), attacked),
        (other.lost_beyond(first), (lost[0], lost[1])),
        (paired_bootstrap(_difference, fooled, ones, seed=0), fooled),
    ]


@dataclass(frozen=True)
class SentenceCounts:
    """The sentences of an attack with their counts.

    Args:
        task: the task of the answers.
        records: the lines of ``examples.jsonl``.
        sentences: their texts and gold answers.
        counted: counted units of each sentence.
        right: correct units of each sentence by (when, sum).
    """

    task: Task
    records: list[ExampleRecord]
    sentences: list[Any]
    counted: list[int]
    right: dict[tuple[When, str], list[int]]

    def of(self, score: str) -> AttackedCounts:
        """Return the counts behind one score."""
        clean, attacked = (self.sums(when) for when in WHEN)
        return AttackedCounts.of(self.task.scores, score, clean, attacked)

    def sums(self, when: When) -> dict[str, list[int]]:
        """Return the sums of each sentence by name, and the counted units."""
        scores = self.task.scores
        return {"counted": self.counted, **{name: self.right[when, name] for name in scores.sums}}


def compare(folders: Sequence[Path]) -> list[Difference]:
    """Compare systems with the first one.

    Args:
        folders: at least two folders of finished attacks on the same sentences (the attacks may
            differ), or of `evaluate` on the same sentences with the same operations.

    Raises:
        InputError: there is only one folder, a folder is missing, malformed or has other sentences,
            or the folders come from both attacks and `evaluate`.
    """
    if len(folders) < 2:
        given = f"{len(folders)} folder" if folders else "no folder"
        raise InputError(given, key="--compare", expected="two or more folders")
    for folder in folders:
        check_folder(Path(folder), key="--compare")
    scored = [folder for folder in folders if is_evaluated(folder)]
    if len(scored) == len(folders):
        return _compare_evaluated(folders)
    if scored:
        other = next(folder for folder in folders if folder not in scored)
        message = f"was written by evaluate, but {other} was not"
        expected = "only folders of attacks, or only folders of evaluate"
        raise InputError(message, path=scored[0], key="--compare", expected=expected)
    systems = [read_counts(folder) for folder in folders]
    check_same_sentences(systems, folders)
    first, *others = systems
    scores = first.task.scores.names
    rows = [(index, score) for index in range(len(others)) for score in scores]
    tested = compare_counts([(first.of(score), others[index].of(score)) for index, score in rows])
    return [
        Difference(index, measure, score, _percent(first.of(score), measure), difference)
        for (index, score), measures in zip(rows, tested, strict=True)
        for measure, difference in measures.items()
    ]


def _percent(counts: AttackedCounts, measure: str) -> float:
    """Return one of `MEASURES` of a system."""
    if measure == "fooled":
        return 100 * sum(counts.fooled()) / len(counts.counted)
    clean, attacked = (
        score_in_percent(right, counts.counted) for right in (counts.clean, counts.attacked)
    )
    return {"clean": clean, "attacked": attacked, "lost": clean - attacked}[measure]


def _difference(scores: Any) -> Any:
    return scores[1] - scores[0]


def read_counts(folder: Path) -> SentenceCounts:
    """Read the counts of a finished attack.

    Raises:
        InputError: a file is missing or damaged, or nothing was counted.
    """
    summary, records = read_finished(folder)
    with as_written(folder / SUMMARY, "attack"):
        task = named(summary["task"])
    keys = [(when, part) for when in WHEN for part in task.scores.sums]
    counts = SentenceCounts(task, records, [], [], {key: [] for key in keys})
    for record in records:
        with as_written(folder / EXAMPLES, "attack", key=f"sentence {record['id']}"):
            counts.sentences.append((record["tokens"], record.get("context"), record["gold"]))
            counts.counted.append(record["counted"])
            for when, part in keys:
                right = operator.index(record[when][part])
                if not 0 <= right <= counts.counted[-1]:
                    raise ValueError(f"{right} right parts of {counts.counted[-1]}")
                counts.right[when, part].append(right)
    if not any(counts.counted):
        raise InputError("nothing was counted", path=folder / EXAMPLES)
    return counts


def is_evaluated(folder: Path) -> bool:
    """Tell whether a folder was written by `evaluate` rather than by an attack."""
    return (folder / SCORES).exists() and not (folder / SUMMARY).exists()


def _compare_evaluated(folders: Sequence[Path]) -> list[Difference]:
    systems = [_evaluated(folder) for folder in folders]
    task, first = systems[0]
    rows = []
    for system, (other, folder) in enumerate(zip(systems[1:], folders[1:], strict=True)):
        if other[0].name != task.name or other[1].keys() != first.keys():
            problem = f"has the scores {', '.join(other[1])} of the task {other[0].name}"
            expected = f"{', '.join(first)} of the task {task.name}, as {folders[0]} has"
            raise InputError(problem, path=folder, key="--compare", expected=expected)
        for measure, counts in first.items():
            same = other[1][measure]
            if counts.sentences != same.sentences or counts.counted != same.counted:
                problem = f"{measure!r}: other sentences, gold answers or punctuation"
                remedy = "evaluate the same data, with the same --seed and settings"
                expected = f"those of {folders[0]}"
                raise InputError(problem, path=folder, expected=expected, remedy=remedy)
            rows += [(system, measure, score) for score in task.scores.names]
    tested, percents = [], []
    for system, measure, score in rows:
        counts = first[measure]
        both = [
            counts_of(task.scores, score, {"counted": counts.counted, **each.right})
            for each in (counts, systems[1 + system][1][measure])
        ]
        points = paired_bootstrap(_difference, both, counts.counted, seed=0)
        tested.append((points, paired_permutation(*map(correct_parts, both), seed=0)))
        percents.append(score_in_percent(both[0], counts.counted))
    adjusted = holm([p for _, p in tested])
    return [
        Difference(system, measure, score, percent, Tested(*pair, value))
        for (system, measure, score), percent, pair, value in zip(
            rows, percents, tested, adjusted, strict=True
        )
    ]


@dataclass(frozen=True)
class _RowCounts:
    """Texts with gold answers, counted and correct units of each row of an operation."""

    sentences: list[Any]
    counted: list[int]
    right: dict[str, list[int]]


def _evaluated(folder: Path) -> tuple[Task, dict[str, _RowCounts]]:
    """Read the rows of a folder of `evaluate`: those of `CLEAN` and of each operation."""
    scores = read_scores(folder)
    task = scores.task
    if not (folder / ANSWERS).exists():
        missing = f"no {ANSWERS}, which holds the answer to each row"
        raise InputError(missing, path=folder, remedy="run evaluate again with the same --out")
    measures: dict[str, _RowCounts] = {}
    files = [one for one in (folder / ANSWERS, folder / PERTURBED) if one.exists()]
    for path, (line, row) in ((one, each) for one in files for each in read_rows(one)):
        parts = right_parts(task, row, path, line)
        measure = str(row.get("operation", CLEAN))
        counts = measures.setdefault(
            measure, _RowCounts([], [], {name: [] for name in task.scores.sums})
        )
        with as_written(path, "evaluate", line=line):
            original = row["original"]["tokens"] if "operation" in row else None
            texts = (original, row["tokens"], row.get("context"))
            counts.sentences.append((row["row"], *texts, row["gold"]))
        counts.counted.append(parts["counted"])
        for name, values in counts.right.items():
            values.append(parts[name])
    rows = len(measures[CLEAN].counted) if CLEAN in measures else 0
    if scores.sentences not in (None, rows):
        raise InputError(
            f"has {rows} rows of unchanged sentences",
            path=folder / ANSWERS,
            expected=f"{scores.sentences}, as in {SCORES}",
            remedy="run evaluate again with the same --out",
        )
    for measure, counts in measures.items():
        if not any(counts.counted):
            raise InputError(f"nothing was counted in {measure!r}", path=folder)
    return task, measures


def check_same_sentences(systems: Sequence[SentenceCounts], folders: Sequence[Path]) -> None:
    """Check that all systems were attacked on the sentences of the first one.

    Raises:
        InputError: names the first folder with other sentences.
    """
    first = systems[0]
    for system, folder in zip(systems[1:], folders[1:], strict=True):
        same = system.sentences == first.sentences and system.counted == first.counted
        if system.task.name != first.task.name or not same:
            problem = "an attack on other sentences, or with other gold answers or punctuation"
            raise InputError(problem, path=folder, expected=f"the sentences of {folders[0]}")
