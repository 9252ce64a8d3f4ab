"""Worst of attacks: what a system answers rightly under every one of several attacks.

A part of an answer (a word of a tree with its head and label, a label, a logical form) counts if it
is right under all attacks, sentence by sentence, as robust accuracy does for images (Croce and Hein
2020; RobustBench, Croce et al. 2021). This is at most the lowest score under a single attack, and
at least the score that is certified for all edits that these attacks may make.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from robustparse.evaluation.comparison import (
    SentenceCounts,
    check_same_sentences,
    is_evaluated,
    read_counts,
)
from robustparse.evaluation.finished_folders import read_run
from robustparse.evaluation.record_files import REMEDY
from robustparse.evaluation.records import EXAMPLES, WHEN, RunRecord, When
from robustparse.evaluation.significance import (
    Interval,
    counts_of,
    paired_bootstrap,
    score_in_percent,
)
from robustparse.files.json_text import as_written
from robustparse.files.paths import check_folder
from robustparse.tasks.task import Task

Seen = Literal["seen", "candidates seen", "unseen", "unknown"]
"""Whether a system was trained against an attack: against its candidates in its search, against
some of its candidates, or against none; ``unknown`` if its training is not known."""

_SYSTEM = ("victim", "decoder", "beam", "mean", "precision")  # besides the weights


@dataclass(frozen=True)
class AttackScores:
    """A system's scores under one attack.

    Args:
        folder: the folder of the attack.
        run: the content of its ``run.json``.
        attacked: the scores under the attack, in percent.
        seen: whether the system was trained against this attack.
    """

    folder: Path
    run: RunRecord
    attacked: dict[str, float]
    seen: Seen = "unknown"

    @property
    def attack(self) -> str:
        """The name of the attack."""
        return self.run.get("attack", "unknown")


@dataclass(frozen=True)
class WorstOfAttacks:
    """A system's scores under several attacks on the same sentences, and under all of them.

    Args:
        name: the name of the system.
        task: the task of the system.
        n_sentences: the number of sentences.
        clean: the scores on the original sentences, in percent.
        attacks: the attacks, at least two, in the order of their folders.
        worst: the share of what is right under every attack, for each score, in percent, with a
            95 % interval (bootstrap over sentences).
        right: the counts behind these scores, for each sentence; see `counts_of`.
    """

    name: str
    task: Task
    n_sentences: int
    clean: dict[str, float]
    attacks: tuple[AttackScores, ...]
    worst: dict[str, Interval]
    right: dict[str, Sequence[Any]] = field(default_factory=dict)

    @property
    def victims(self) -> list[str]:
        """The checkpoints of the system, or the class of another victim."""
        return self.attacks[0].run.get("victims", [])


def read_worst_of_attacks(folders: Sequence[Path]) -> list[WorstOfAttacks]:
    """Compute the worst of attacks for each system that was attacked at least twice.

    Folders belong to one system if their ``run.json`` has the same digests of checkpoints (or the
    same ``--victim``), decoder and precision. Folders without digests, of functions that were
    attacked in Python, and folders of `evaluate` are left out.

    Args:
        folders: folders of finished attacks, in any order.

    Returns:
        The systems in the order of their first folder, named by their checkpoints.

    Raises:
        InputError: a file is missing or damaged, or two attacks on a system have other sentences,
            gold answers or punctuation.
    """
    systems: dict[str, list[tuple[Path, RunRecord]]] = {}
    for folder in folders:
        check_folder(folder, remedy=REMEDY)
        run: RunRecord = {} if is_evaluated(folder) else read_run(folder)
        if (system := system_of(run)) is not None:
            systems.setdefault(system, []).append((folder, run))
    return [_worst(attacks) for attacks in systems.values() if len(attacks) > 1]


def system_of(run: Mapping[str, Any]) -> str | None:
    """Identify the system that was attacked; None if the run does not tell."""
    digests = run.get("sha256", {})
    if not digests.get("checkpoint") and "victim" not in run:
        return None
    identity = [digests.get("checkpoint"), digests.get("victim"), *map(run.get, _SYSTEM)]
    return json.dumps(identity, sort_keys=True)


def _worst(attacks: Sequence[tuple[Path, RunRecord]]) -> WorstOfAttacks:
    """Read the attacks on one system."""
    folders = [folder for folder, _ in attacks]
    counts = [read_counts(folder) for folder in folders]
    check_same_sentences(counts, folders)
    task, counted = counts[0].task, counts[0].counted
    names = task.scores.names
    clean, worst = sums_in_all(counts, folders)
    right = {name: counts_of(task.scores, name, worst) for name in names}

    def scores(sums: Mapping[str, list[int]]) -> dict[str, float]:
        by_score = ((name, counts_of(task.scores, name, sums)) for name in names)
        return {name: score_in_percent(of_score, counted) for name, of_score in by_score}

    return WorstOfAttacks(
        name=" + ".join(attacks[0][1].get("victims", [])),
        task=task,
        n_sentences=len(counted),
        clean=scores(clean),
        attacks=tuple(
            AttackScores(folder, run, scores(each.sums("attacked")))
            for (folder, run), each in zip(attacks, counts, strict=True)
        ),
        worst={
            name: paired_bootstrap(lambda scores: scores[0], [of_score], counted, seed=0)
            for name, of_score in right.items()
        },
        right=right,
    )


def sums_in_all(
    counts: Sequence[SentenceCounts], folders: Sequence[Path]
) -> tuple[dict[str, list[int]], dict[str, list[int]]]:
    """Return the sums of each sentence over the parts that are right in every folder.

    Args:
        counts: the sentences of attacks on one system, the same in all folders.
        folders: the folders, for messages.

    Returns:
        The sums of the answers to the originals, and of those under attack.

    Raises:
        InputError: an answer does not have the correct parts that its line counts.
    """
    counted, scores = counts[0].counted, counts[0].task.scores
    clean, worst = {"counted": counted}, {"counted": counted}
    # Answers to the originals are those of one system, but may differ between batches on a GPU.
    for when, sums in zip(WHEN, (clean, worst), strict=True):
        right = [[*_right_parts(each, at, when)] for each, at in zip(counts, folders, strict=True)]
        for name in scores.sums:
            sums[name] = [
                int(np.logical_and.reduce([parts[name] for parts in of_sentence]).sum())
                for of_sentence in zip(*right, strict=True)
            ]
    further = scores.sums[len(scores.names) :]
    return clean, worst | {name: clean[name] for name in further}  # no parts of gold answers


def _right_parts(
    counts: SentenceCounts, folder: Path, when: When
) -> Iterator[dict[str, NDArray[np.bool_]]]:
    """Yield which parts of the answer to each sentence are right; see `Scores.right`."""
    for record in counts.records:
        with as_written(folder / EXAMPLES, "attack", key=f"sentence {record['id']}"):
            parts = counts.task.scores.right(record, when)
            for name, right in parts.items():
                if right.size != record["counted"] or right.sum() != record[when][name]:
                    raise ValueError(f"{name} of {when} is not that of its answer")
        yield parts
