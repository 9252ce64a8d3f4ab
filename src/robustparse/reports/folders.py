"""Read what `robustparse attack` wrote: scores, curves and the sentences worth showing.

A folder holds ``summary.json``, ``examples.jsonl`` and, optionally, ``run.json`` (what the attack
was run with) and ``curves.json``. Every `InputError` names the file and the line or key.
"""

import json
import math
import operator
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from robustparse.errors import InputError
from robustparse.evaluation.breakdown import breakdown
from robustparse.evaluation.lines import (
    EXAMPLES,
    REMEDY,
    RUN,
    SUMMARY,
    held_lines,
    pair_of,
    summary_of,
)
from robustparse.evaluation.significance import AttackedCounts
from robustparse.evaluation.tally import WHEN, Tally
from robustparse.files import as_written, read_json
from robustparse.reports.plots import Curve, Plot
from robustparse.tasks.task import Task, named, task_of_answer

Json = dict[str, Any]

CURVES = "curves.json"
SUCCEEDED, FAILED, SKIPPED = OUTCOMES = ("succeeded", "failed", "skipped")
# How a parser decodes belongs to the parser, which is what is compared; data are known by their
# content, not by their path.
_DECODED = ("decoder", "beam")
_COMPARED = ("attack", "settings", "seed", "limit", "fraction", "fraction_of")


@dataclass(frozen=True, slots=True)
class AttackedSentence:
    """One attacked sentence.

    Args:
        line: its line of ``examples.jsonl``.
        changed: parts of the answer that the attack changed, those of substituted words left out.
        wrong_before: wrong parts of the answer to the original sentence.
        wrong_after: wrong parts of the answer to the perturbed sentence.
        scores: the headline score before and after; None where nothing was counted.
    """

    line: Json
    changed: int
    wrong_before: int
    wrong_after: int
    scores: tuple[float | None, ...]

    @property
    def outcome(self) -> str:
        """What became of the attack: one of `OUTCOMES`."""
        if self.line["success"]:
            return SUCCEEDED
        return SKIPPED if self.line.get("skipped") else FAILED

    @property
    def words(self) -> tuple[str, ...]:
        """The words of the original sentence."""
        return tuple(self.line["tokens"])

    @property
    def swaps(self) -> list[tuple[str, str]]:
        """The substituted words and what became of them."""
        return [(self.words[i], self.line["adversarial_tokens"][i]) for i in self.line["edited"]]


@dataclass(frozen=True, slots=True)
class AttackFolder:
    """What one folder holds: the scores of one system, and its sentences.

    Args:
        name: of the system in the report.
        task: what the system answers.
        summary: all of ``summary.json``; a score that was not computed is None.
        counts: correct parts of each sentence, by the headline score.
        path: the folder.
        run: ``run.json``; empty where there is none.
        plots: the plot of ``curves.json``, or none.
        sentences: all that were attacked.
        compared: what the attack was run with, except for the model; None where that is not known.
        model: identifies the model by its weights; None where they are not known.
    """

    name: str
    task: Task
    summary: Json
    counts: AttackedCounts
    path: Path
    run: Json = field(default_factory=dict)
    plots: tuple[Plot, ...] = ()
    sentences: tuple[AttackedSentence, ...] = ()
    compared: str | None = None
    model: str | None = None

    @property
    def before(self) -> float | None:
        """The headline score on the original sentences."""
        score: float | None = self.summary["clean"][self.task.headline]
        return score

    @property
    def after(self) -> float | None:
        """The headline score on the perturbed sentences."""
        score: float | None = self.summary["attacked"][self.task.headline]
        return score

    @property
    def successes(self) -> list[AttackedSentence]:
        """The sentences that the attack succeeded on."""
        return [sentence for sentence in self.sentences if sentence.outcome == SUCCEEDED]


def read_folder(folder: Path, name: str) -> AttackFolder:
    """Read one attack's output folder.

    The report calls the system by ``name``.

    Raises:
        InputError: the folder or a file is missing or is not as `attack` writes it.
    """
    unread: list[InputError] = []
    found = read_partly(folder, name, unread)
    if unread or found is None:
        raise unread[0]
    return found


def read_partly(folder: Path, name: str, unread: list[InputError]) -> AttackFolder | None:
    """Read as much as there is of one attack's output folder, half-written or damaged.

    A missing summary is computed from the sentences. These are read up to the first that is not as
    `attack` writes it.

    Args:
        folder: that an attack wrote.
        name: the report calls the system by it.
        unread: takes an error for each part that was left out, the first one that says most.

    Returns:
        None where neither a summary nor a sentence can be read.

    Raises:
        InputError: there is no such folder.
    """
    if not folder.is_dir():
        raise InputError("no such folder", path=folder, remedy=REMEDY)
    summary: Json = {}
    run: Json = {}
    lines: list[Json] = []
    plots: tuple[Plot, ...] = ()
    with noting(unread):
        summary = _summary(folder)
    if (folder / RUN).exists():
        with noting(unread):
            run = _run(folder)
    with noting(unread):
        lines.extend(held_lines(folder))
    if lines and not summary:
        with noting(unread):
            summary = _so_far(folder, lines, run, unread)
    if not summary:
        return None
    task = named(summary["task"])
    sentences, counts = _sentences(folder, lines, task, unread)
    if (folder / CURVES).exists():
        with noting(unread):
            plots = (_read_plot(folder / CURVES),)
    digests = run.get("sha256", {})
    weights = digests.get("checkpoint")
    compared = json.dumps([digests.get("data"), *map(run.get, _COMPARED)], sort_keys=True)
    return AttackFolder(
        name=name,
        task=task,
        summary=summary,
        counts=AttackedCounts(*zip(*counts, strict=True)) if counts else AttackedCounts((), (), ()),
        path=folder,
        run=run,
        plots=plots,
        sentences=tuple(sentences),
        compared=compared if run else None,
        model=None if weights is None else json.dumps([weights, *map(run.get, _DECODED)]),
    )


def names_of(folders: Sequence[Path]) -> list[str]:
    """Give each folder its own name: as much of its path as tells it from the others.

    What all paths end in tells nothing: ``one/attacked`` and ``two/attacked`` are ``one`` and
    ``two``.

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
    """Continue without what cannot be read within, and note why."""
    try:
        yield
    except InputError as error:
        unread.append(error)


def most_telling(sentences: Sequence[AttackedSentence], count: int = 3) -> list[AttackedSentence]:
    """Choose the sentences that show best what an attack does.

    Sentences of 6 to 14 words with one or two edits come first; among those, the ones in which the
    attack changed most besides the substituted words, then the ones with fewest edits and words.
    Each original sentence is shown once.
    """

    def rank(sentence: AttackedSentence) -> tuple[bool, int, int, int]:
        length, edits = len(sentence.words), len(sentence.line["edited"])
        return not (edits in (1, 2) and 6 <= length <= 14), -sentence.changed, edits, length

    best: dict[tuple[str, ...], AttackedSentence] = {}
    for sentence in sorted(sentences, key=rank):
        best.setdefault(sentence.words, sentence)
    return list(best.values())[:count]


def number(value: Any) -> float | None:
    """Check a number that a file holds; None stays None.

    Raises:
        TypeError, OverflowError: it is no number, or none that a page can show.
    """
    if value is None:
        return None
    if isinstance(value, bool) or not math.isfinite(value):
        raise TypeError(f"{value} is not a number")
    return float(value)


def _summary(folder: Path) -> Json:
    summary = summary_of(folder)
    with as_written(folder / SUMMARY, "attack"):
        return summary | _checked(summary, named(summary["task"]))


def _run(folder: Path) -> Json:
    run = read_json(folder / RUN, dict, REMEDY)
    if not isinstance(run.get("sha256", {}), dict):
        found = f"got {run['sha256']!r:.60}"
        raise InputError(found, path=folder / RUN, key="sha256", expected="an object")
    return run


def _so_far(folder: Path, lines: list[Json], run: Json, unread: list[InputError]) -> Json:
    """Compute the summary of an attack that has not written it, and note that it is of a part."""
    with as_written(folder / EXAMPLES, "attack"):
        task = task_of_answer(lines[0]["gold"])
        found = {"task": task.name, "attack": str(run.get("attack", "unknown"))}
        summary = {**found, **Tally.of(task, lines).scores(), **breakdown(task, lines)}
    n = len(lines)
    unread.append(
        InputError(
            f"its scores are those of the {n} sentence{'s' * (n > 1)} that the attack finished",
            path=folder,
            remedy="run the same attack again, which attacks the others",
        )
    )
    return summary


def _sentences(
    folder: Path, lines: Sequence[Json], task: Task, unread: list[InputError]
) -> tuple[list[AttackedSentence], list[tuple[int, int, int]]]:
    """Read sentences and their counts up to the first that is not as `attack` writes it."""
    sentences, counts = [], []
    with noting(unread):
        if not lines and not (folder / EXAMPLES).exists():
            raise InputError("no such file", path=folder / EXAMPLES, remedy=REMEDY)
        for line in lines:
            sentence = _sentence(line, folder, task)
            with as_written(folder / EXAMPLES, "attack", key=f"sentence {line['id']}"):
                counts.append(_counts(line, task))
            sentences.append(sentence)
    return sentences, counts


def _checked(summary: Json, task: Task) -> Json:
    """Return what the report computes with, of the right types."""
    strict = summary.get("strict_success_rate") or {}
    return {
        "attack": summary["attack"],
        "strict_success_rate": {score: number(rate) for score, rate in strict.items()},
        **{when: {score: number(summary[when][score]) for score in task.scores} for when in WHEN},
        **{key: operator.index(summary[key]) for key in ("n_sentences", "n_words")},
        **{key: number(summary[key]) for key in ("success_rate", "edits_per_sentence")},
    }


def _sentence(line: Json, folder: Path, task: Task) -> AttackedSentence:
    """Read the sentence of a line."""
    pair = pair_of(line, folder)
    line = {**line, "edited": pair.changed}
    with as_written(folder / EXAMPLES, "attack", key=f"sentence {pair.id}"):
        scores = tuple(number(line[when].get(task.headline)) for when in WHEN)
        return AttackedSentence(line, *task.changes(line), scores)


def _counts(line: Json, task: Task) -> tuple[int, int, int]:
    """Read counted parts, and correct ones before and after."""
    counted, clean, attacked = map(
        operator.index, (line["counted"], *(line[when][task.sums[-1]] for when in WHEN))
    )
    if not 0 <= min(clean, attacked) <= max(clean, attacked) <= counted:
        raise ValueError(f"{clean} and {attacked} correct parts of {counted}")
    return counted, clean, attacked


def _read_plot(path: Path) -> Plot:
    found = read_json(path, dict)
    with as_written(path, "quickstart"):
        curves = tuple(map(_curve, found["curves"]))
        return Plot(found["title"], found["x_label"], found["y_label"], curves)


def _curve(fields: Json) -> Curve:
    """Make a curve of the points that were computed."""
    both = zip(map(number, fields["x"]), map(number, fields["y"]), strict=True)
    xs, ys = zip(*[(x, y) for x, y in both if x is not None and y is not None], strict=True)
    return Curve(fields["name"], xs, ys)
