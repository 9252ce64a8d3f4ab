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
from robustparse.evaluation.lines import EXAMPLES, SCORES, SUMMARY, each_line, read_summary
from robustparse.evaluation.rows import ANSWERS, read_rows, right_parts
from robustparse.evaluation.significance import (
    AttackedCounts,
    Interval,
    holm,
    paired_bootstrap,
    paired_permutation,
)
from robustparse.evaluation.tally import WHEN
from robustparse.files import as_written, read_json
from robustparse.tasks.task import Task, named

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
    found = [
        (points, paired_permutation(*of_sentences, seed=0))
        for first, other in pairs
        for points, of_sentences in _differences(first, other)
    ]
    adjusted = holm([p for _, p in found])
    tested = [Tested(*one, value) for one, value in zip(found, adjusted, strict=True)]
    size = len(MEASURES)
    rows = [tested[start : start + size] for start in range(0, len(tested), size)]
    return [dict(zip(MEASURES, row, strict=True)) for row in rows]


def _differences(
    first: AttackedCounts, other: AttackedCounts
) -> list[tuple[Interval, tuple[Sequence[int], Sequence[int]]]]:
    """Return the difference in each of `MEASURES`, and both systems' values per sentence."""
    lost = tuple(
        [clean - attacked for clean, attacked in zip(one.clean, one.attacked, strict=True)]
        for one in (first, other)
    )
    clean, fooled = (first.clean, other.clean), (first.fooled(), other.fooled())
    ones = [1] * len(first.counted)
    return [
        (paired_bootstrap(_difference, clean, first.counted, seed=0), clean),
        (other.gained(first), (first.attacked, other.attacked)),
        (other.lost_beyond(first), (lost[0], lost[1])),
        (paired_bootstrap(_difference, fooled, ones, seed=0), fooled),
    ]


@dataclass(frozen=True)
class _Counts:
    """Texts and gold answer, counted parts, and right parts by (when, sum) of each sentence."""

    task: Task
    sentences: list[Any]
    counted: list[int]
    right: dict[tuple[str, str], list[int]]

    def of(self, part: str) -> AttackedCounts:
        """Return the counts behind one score."""
        return AttackedCounts(self.counted, *(self.right[when, part] for when in WHEN))


def compare(folders: Sequence[Path]) -> list[Difference]:
    """Compare systems with the first one.

    Args:
        folders: at least two folders of finished attacks on the same sentences (the attacks may
            differ), or of `evaluate` on the same sentences with the same operations.

    Raises:
        InputError: there is only one folder, a folder is malformed or has other sentences, or the
            folders come from both attacks and `evaluate`.
    """
    if len(folders) < 2:
        given = f"{len(folders)} folder" if folders else "no folder"
        raise InputError(given, key="--compare", expected="two or more folders")
    scored = [folder for folder in folders if is_evaluated(folder)]
    if len(scored) == len(folders):
        return _compare_evaluated(folders)
    if scored:
        other = next(folder for folder in folders if folder not in scored)
        found = f"was written by evaluate, but {other} was not"
        expected = "only folders of attacks, or only folders of evaluate"
        raise InputError(found, path=scored[0], key="--compare", expected=expected)
    systems = [_counts(folder) for folder in folders]
    _check(systems, folders)
    first, *others = systems
    scores = [*zip(first.task.scores, first.task.sums, strict=True)]
    rows = [(place, *score) for place in range(len(others)) for score in scores]
    tested = compare_counts([(first.of(part), others[place].of(part)) for place, _, part in rows])
    return [
        Difference(place, measure, score, _percent(first.of(part), measure), one)
        for (place, score, part), found in zip(rows, tested, strict=True)
        for measure, one in found.items()
    ]


def _percent(counts: AttackedCounts, measure: str) -> float:
    """Return one of `MEASURES` of a system."""
    if measure == "fooled":
        return 100 * sum(counts.fooled()) / len(counts.counted)
    clean, attacked = (
        100 * sum(right) / sum(counts.counted) for right in (counts.clean, counts.attacked)
    )
    return {"clean": clean, "attacked": attacked, "lost": clean - attacked}[measure]


def _difference(scores: Any) -> Any:
    return scores[1] - scores[0]


def _counts(folder: Path) -> _Counts:
    summary = read_summary(folder)
    with as_written(folder, "attack"):
        task = named(summary["task"])
    keys = [(when, part) for when in WHEN for part in task.sums]
    counts = _Counts(task, [], [], {key: [] for key in keys})
    for line in each_line(folder / EXAMPLES):
        with as_written(folder / EXAMPLES, "attack", key=f"sentence {line['id']}"):
            counts.sentences.append((line["tokens"], line.get("context"), line["gold"]))
            counts.counted.append(operator.index(line["counted"]))
            for when, part in keys:
                right = operator.index(line[when][part])
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
    scores = [*zip(task.scores, task.sums, strict=True)]
    rows = []
    for system, (other, folder) in enumerate(zip(systems[1:], folders[1:], strict=True)):
        if other[0].name != task.name or other[1].keys() != first.keys():
            found = f"has the scores {', '.join(other[1])} of the task {other[0].name}"
            expected = f"{', '.join(first)} of the task {task.name}, as {folders[0]} has"
            raise InputError(found, path=folder, key="--compare", expected=expected)
        for measure, counts in first.items():
            if not counts.same_sentences(other[1][measure]):
                found = f"{measure!r}: other sentences, gold answers or punctuation"
                remedy = "evaluate the same data, with the same --seed and settings"
                expected = f"those of {folders[0]}"
                raise InputError(found, path=folder, expected=expected, remedy=remedy)
            rows += [(system, measure, *score) for score in scores]
    tested, percents = [], []
    for system, measure, _, part in rows:
        counts = first[measure]
        both = counts.right[part], systems[1 + system][1][measure].right[part]
        points = paired_bootstrap(_difference, both, counts.counted, seed=0)
        tested.append((points, paired_permutation(*both, seed=0)))
        percents.append(100 * sum(both[0]) / sum(counts.counted))
    adjusted = holm([p for _, p in tested])
    return [
        Difference(system, measure, score, percent, Tested(*pair, value))
        for (system, measure, score, _), percent, pair, value in zip(
            rows, percents, tested, adjusted, strict=True
        )
    ]


@dataclass(frozen=True)
class _RowCounts:
    """Texts and gold answer, counted parts, and right parts by sum of each row of an operation."""

    sentences: list[Any]
    counted: list[int]
    right: dict[str, list[int]]

    def same_sentences(self, other: "_RowCounts") -> bool:
        return self.sentences == other.sentences and self.counted == other.counted


def _evaluated(folder: Path) -> tuple[Task, dict[str, _RowCounts]]:
    """Read the rows of a folder of `evaluate`: those of `CLEAN` and of each operation."""
    remedy = "give a folder that `robustparse evaluate --out` wrote, or run it again"
    with as_written(folder / SCORES, "evaluate"):
        task = named(read_json(folder / SCORES, dict, remedy)["task"])
    if not (folder / ANSWERS).exists():
        missing = f"no {ANSWERS}, which holds the answer to each row"
        raise InputError(missing, path=folder, remedy="run evaluate again with the same --out")
    measures: dict[str, _RowCounts] = {}
    for path, line, row in read_rows(folder):
        parts = right_parts(task, row, path, line)
        measure = str(row.get("operation", CLEAN))
        counts = measures.setdefault(measure, _RowCounts([], [], {name: [] for name in task.sums}))
        with as_written(path, "evaluate", line=line):
            original = row["original"]["tokens"] if "operation" in row else None
            texts = (original, row["tokens"], row.get("context"))
            counts.sentences.append((row["row"], *texts, row["gold"]))
        counts.counted.append(parts["counted"])
        for name, values in counts.right.items():
            values.append(parts[name])
    for measure, counts in measures.items():
        if not any(counts.counted):
            raise InputError(f"nothing was counted in {measure!r}", path=folder)
    return task, measures


def _check(systems: Sequence[_Counts], folders: Sequence[Path]) -> None:
    """Check that all systems were attacked on the sentences of the first one."""
    first = systems[0]
    for system, folder in zip(systems[1:], folders[1:], strict=True):
        same = system.sentences == first.sentences and system.counted == first.counted
        if system.task.name != first.task.name or not same:
            found = "an attack on other sentences, or with other gold answers or punctuation"
            raise InputError(found, path=folder, expected=f"the sentences of {folders[0]}")
