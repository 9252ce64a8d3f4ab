"""Compare attacked or evaluated systems on the same sentences by every score.

Each difference from the first system has a 95 % interval from the paired bootstrap, a p-value from
the paired permutation test, and a p-value adjusted for the number of differences (Holm 1979).
"""

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from robustparse.errors import InputError
from robustparse.evaluation.finished_folders import read_finished, read_scores
from robustparse.evaluation.records import EXAMPLES, SCORES, SUMMARY, WHEN, ExampleRecord, When
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
from robustparse.files.json_text import as_written
from robustparse.files.paths import check_folder
from robustparse.tasks.registry import named
from robustparse.tasks.task import Task

MEASURES = ("clean", "attacked", "lost", "fooled")
"""Score before and after the attack, points lost to it, and percentage of fooled sentences."""
CLEAN = MEASURES[0]


@dataclass(frozen=True)
class Difference:
    """The difference between a system and the first one in one measure of one score.

    Args:
        system: index of the system among all but the first, from 0.
        measure: one of `MEASURES`; for evaluated systems `CLEAN` or the name of an operation.
        score: name of the score.
        first: the value of the first system, in percent.
        points: the system's value minus that of the first one, with a 95 % interval.
        p: probability of a difference at least as large if the systems are equivalent.
        adjusted: p after Holm's correction for all computed differences.
    """

    system: int
    measure: str
    score: str
    first: float
    points: Interval
    p: float
    adjusted: float


class Measured(NamedTuple):
    """One measure of two systems.

    Attributes:
        first: the value of the first system, in percent.
        points: the value of the second system minus that of the first one.
        values: the values of each sentence, of both systems.
    """

    first: float
    points: Interval
    values: Sequence[Sequence[int]]


def measured(first: AttackedCounts, second: AttackedCounts) -> dict[str, Measured]:
    """Compare two systems in each of `MEASURES`, by the counts of their sentences.

    Raises:
        ValueError: the systems were not scored on the same sentences.
    """
    counted, fooled = first.counted, [first.fooled(), second.fooled()]
    before, after = (score_in_percent(getattr(first, when), counted) for when in WHEN)
    clean, attacked = (
        [correct_parts(getattr(system, when)) for system in (first, second)] for when in WHEN
    )
    lost = [
        [old - new for old, new in zip(*each, strict=True)]
        for each in zip(clean, attacked, strict=True)
    ]
    return {
        "clean": Measured(before, _gained([first.clean, second.clean], counted), clean),
        "attacked": Measured(after, second.gained(first), attacked),
        "lost": Measured(before - after, second.lost_beyond(first), lost),
        "fooled": Measured(
            100 * sum(fooled[0]) / len(counted), _gained(fooled, [1] * len(counted)), fooled
        ),
    }


def _gained(counts: Sequence[Sequence[Any]], counted: Sequence[int]) -> Interval:
    """Estimate how many points more than the first system the second one scores."""
    return paired_bootstrap(lambda scores: scores[1] - scores[0], counts, counted, seed=0)


def differences(rows: Mapping[tuple[int, str, str], Measured]) -> list[Difference]:
    """Test the differences of systems from the first one; Holm's correction covers all of them.

    Args:
        rows: the differences by the index of the system, the measure and the score.
    """
    p_values = [paired_permutation(*each.values, seed=0) for each in rows.values()]
    return [
        Difference(*key, each.first, each.points, p, adjusted)
        for (key, each), p, adjusted in zip(rows.items(), p_values, holm(p_values), strict=True)
    ]


@dataclass(frozen=True)
class SentenceCounts:
    """The sentences of an attack with their counts.

    Args:
        task: the task of the answers.
        records: the lines of ``examples.jsonl``.
    """

    task: Task
    records: Sequence[ExampleRecord]

    @property
    def sentences(self) -> list[Any]:
        """The texts and the gold answers."""
        return [(each["tokens"], each.get("context"), each["gold"]) for each in self.records]

    @property
    def counted(self) -> list[int]:
        """The counted units of each sentence."""
        return [record["counted"] for record in self.records]

    def by_score(self, score: str) -> AttackedCounts:
        """Return the counts behind one score."""
        both = (counts_of(self.task.scores, score, self.sums(when)) for when in WHEN)
        return AttackedCounts(self.counted, *both)

    def sums(self, when: When) -> dict[str, list[int]]:
        """Return the sums of each sentence by name, and the counted units."""
        right = {
            name: [each[when][name] for each in self.records] for name in self.task.scores.sums
        }
        return {"counted": self.counted, **right}


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
    return differences(
        {
            (system, measure, score): each
            for system, other in enumerate(others)
            for score in first.task.scores.names
            for measure, each in measured(first.by_score(score), other.by_score(score)).items()
        }
    )


def read_counts(folder: Path) -> SentenceCounts:
    """Read the counts of a finished attack.

    Raises:
        InputError: a file is missing or damaged, or nothing was counted.
    """
    summary, records = read_finished(folder)
    with as_written(folder / SUMMARY, "attack"):
        task = named(summary["task"])
    counts = SentenceCounts(task, records)
    for record in records:
        with as_written(folder / EXAMPLES, "attack", key=f"sentence {record['id']}"):
            for when, name in product(WHEN, task.scores.sums):
                right = operator.index(record[when][name])
                if not 0 <= right <= record["counted"]:
                    raise ValueError(f"{right} right parts of {record['counted']}")
    if not any(counts.counted):
        raise InputError("nothing was counted", path=folder / EXAMPLES)
    return counts


def is_evaluated(folder: Path) -> bool:
    """Tell whether a folder was written by `evaluate` rather than by an attack."""
    return (folder / SCORES).exists() and not (folder / SUMMARY).exists()


def _compare_evaluated(folders: Sequence[Path]) -> list[Difference]:
    systems = [_evaluated(folder) for folder in folders]
    task, first = systems[0]
    rows: dict[tuple[int, str, str], Measured] = {}
    for system, ((other_task, others), folder) in enumerate(
        zip(systems[1:], folders[1:], strict=True)
    ):
        if other_task.name != task.name or others.keys() != first.keys():
            problem = f"has the scores {', '.join(others)} of the task {other_task.name}"
            expected = f"{', '.join(first)} of the task {task.name}, as {folders[0]} has"
            raise InputError(problem, path=folder, key="--compare", expected=expected)
        for measure, counts in first.items():
            same = others[measure]
            counted = counts.sums["counted"]
            if counts.sentences != same.sentences or counted != same.sums["counted"]:
                problem = f"{measure!r}: other sentences, gold answers or punctuation"
                remedy = "evaluate the same data, with the same --seed and settings"
                expected = f"those of {folders[0]}"
                raise InputError(problem, path=folder, expected=expected, remedy=remedy)
            for score in task.scores.names:
                right = [counts_of(task.scores, score, each.sums) for each in (counts, same)]
                rows[system, measure, score] = Measured(
                    score_in_percent(right[0], counted),
                    _gained(right, counted),
                    [*map(correct_parts, right)],
                )
    return differences(rows)


@dataclass(frozen=True)
class _RowCounts:
    """Texts with gold answers, and the sums of each row of an operation, by name."""

    sentences: list[Any]
    sums: dict[str, list[int]]


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
        counts = measures.setdefault(measure, _RowCounts([], {name: [] for name in parts}))
        with as_written(path, "evaluate", line=line):
            original = row["original"]["tokens"] if "operation" in row else None
            texts = (original, row["tokens"], row.get("context"))
            counts.sentences.append((row["row"], *texts, row["gold"]))
        for name, values in counts.sums.items():
            values.append(parts[name])
    rows = len(measures[CLEAN].sentences) if CLEAN in measures else 0
    if scores.sentences not in (None, rows):
        raise InputError(
            f"has {rows} rows of unchanged sentences",
            path=folder / ANSWERS,
            expected=f"{scores.sentences}, as in {SCORES}",
            remedy="run evaluate again with the same --out",
        )
    for measure, counts in measures.items():
        if not any(counts.sums["counted"]):
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
