"""Attack a whole split into a folder: resumable, and the same files however often it was stopped.

``examples.jsonl`` grows by a line a finished sentence and ends sorted by id; a run that was killed
continues with the sentences that are not in it. ``run.json`` says what the folder holds, so that
lines of different runs never mix; one process at a time has the folder.
"""

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch

from robustparse import __version__
from robustparse.attacks.attack import Attack
from robustparse.attacks.victim import Victim
from robustparse.errors import InputError
from robustparse.evaluation.attack_run.shards import Source, Speed, attacked_lines, drain
from robustparse.evaluation.breakdown import NOT_MEASURED, breakdown
from robustparse.evaluation.lines import (
    EXAMPLES,
    RUN,
    SUMMARY,
    append_line,
    each_line,
    held_lines,
    placed_lines,
    tidy,
)
from robustparse.evaluation.reach import Reach
from robustparse.evaluation.tally import Tally, check_line
from robustparse.files import as_written, locked, make_folder, read_json, write_text, written
from robustparse.tasks.task import Task, ending_for
from robustparse.types import Example

Summary = dict[str, Any]

_OTHER = "choose another --out or delete the folder"


def attack_into(
    folder: Path,
    task: Task,
    attack: Attack,
    examples: Sequence[Example],
    victim: Victim,
    run: dict[str, Any],
    on_sentence: Callable[[Tally], None] = lambda _: None,
) -> Summary:
    """Attack examples in this process; see `collect_into`."""
    source = partial(attacked_lines, task, attack, victim)
    return collect_into(folder, task, attack, source, examples, run, on_sentence)


def collect_into(
    folder: Path,
    task: Task,
    attack: Attack,
    source: Source,
    examples: Sequence[Example],
    run: dict[str, Any],
    on_sentence: Callable[[Tally], None] = lambda _: None,
) -> Summary:
    """Write ``examples.jsonl``, ``summary.json`` and the adversarial sentences of an attack.

    These go to ``adversarial``, with the ending and in the format of their file. The folder's lock
    is held meanwhile.

    Args:
        folder: where to; continued if it holds the same run.
        task: of the victim.
        attack: whose parts a message names.
        source: attacks the sentences that are left, in this process or in others.
        examples: sentences with distinct ids.
        run: plain values that tell this run from others: attack, victims, data, seed, limit.
        on_sentence: called after every sentence with the sums so far.

    Returns:
        The summary. Times and forwards are those of the last uninterrupted stretch of the run, None
        if nothing was left for it to attack.

    Raises:
        InputError: the folder is not writable, in use, holds another run or broken files, or loses
            sentences while they are attacked; or the attack could change no sentence, see
            `Reach.check`.
    """
    by_id = {example.id: example for example in examples}
    with locked(make_folder(folder), "attack", "--out"):
        _claim(folder, run, any(True for _ in held_lines(folder)))
        done = _checked_ids(folder, task, by_id)
        pending = [example for example in examples if example.id not in done]
        if not pending and (folder / SUMMARY).exists():
            return _held_summary(folder, task, attack, run)
        tidy(folder)  # what a kill tore off must not stand before the next line
        tally = Tally.of(task, each_line(folder / EXAMPLES))
        speed = _attack_pending(folder, source, pending, tally, on_sentence)
        tidy(folder)
        if lost := by_id.keys() - _checked_ids(folder, task, by_id):
            raise InputError(
                f"lacks {len(lost)} of {len(by_id)} sentences: another program changed it during "
                "the attack",
                path=folder / EXAMPLES,
                remedy="run the same command again, which attacks them",
            )
        Reach.of(each_line(folder / EXAMPLES)).check(attack, examples)
        with written(folder / f"adversarial{ending_for(task, examples)}") as file:
            lines = each_line(folder / EXAMPLES)
            new = ((by_id[line["id"]], line["adversarial_tokens"], None) for line in lines)
            file.writelines(task.file(new))
        summary = {
            **_recomputed(folder, task, attack, run),
            **speed.summary(len(pending)),
            "versions": {"robustparse": __version__, "torch": str(torch.__version__)},
        }
        write_text(folder / SUMMARY, json.dumps(summary, indent=2) + "\n")
        return summary


def _checked_ids(folder: Path, task: Task, by_id: Mapping[int, Example]) -> set[int]:
    """Return the ids of the finished sentences, whose lines are checked against the sentences."""
    found = set()
    for place, line in placed_lines(folder):
        with as_written(place.path, "attack", line=place.number):
            if line["id"] not in by_id:
                raise ValueError(f"no sentence {line['id']} in the data")
            check_line(task, line, by_id[line["id"]])
            breakdown(task, [line])
        found.add(line["id"])
    return found


def _recomputed(folder: Path, task: Task, attack: Attack, run: Mapping[str, Any]) -> Summary:
    """Compute what the lines of a folder say: its summary except for times and measures."""
    reach = Reach.of(each_line(folder / EXAMPLES))
    return {
        "task": task.name,
        **({} if task.language is None else {"language": task.language}),
        **{key: run[key] for key in ("attack", "victims", "seed")},
        **Tally.of(task, each_line(folder / EXAMPLES)).scores(),
        **breakdown(task, each_line(folder / EXAMPLES)),
        "reach": reach.summary(),
        "warnings": [*reach.warnings(attack.budget)],
    }


def _held_summary(folder: Path, task: Task, attack: Attack, run: Mapping[str, Any]) -> Summary:
    """Read the summary of a finished attack, and check it against the lines.

    What it lacks, as one of an older version may, is added; its warnings may be worded otherwise.
    """
    remedy = "delete the file and run the attack again"
    summary: Summary = read_json(folder / SUMMARY, dict, remedy)
    recomputed = _recomputed(folder, task, attack, run)
    for key in recomputed.keys() & summary.keys() - NOT_MEASURED.keys() - {"warnings"}:
        if summary[key] != recomputed[key]:
            raise InputError(
                f"does not agree with {EXAMPLES}", path=folder / SUMMARY, key=key, remedy=remedy
            )
    return recomputed | summary


def _claim(folder: Path, run: dict[str, Any], started: bool) -> None:
    """Write ``run.json``, or make sure that the lines already there are this run's.

    A run of more sentences extends one whose limit was lower: the first sentences are the same.
    """
    path = folder / RUN
    if started and not path.exists():
        raise InputError(
            f"holds {EXAMPLES} but no {RUN} that says of which run", path=folder, remedy=_OTHER
        )
    text = json.dumps(run, indent=2) + "\n"
    if not started:
        write_text(path, text)
        return
    there, ours = _flat(read_json(path, dict, _OTHER)), _flat(run)
    extends = _limit(there) < _limit(ours)
    for key in sorted({*there, *ours} - ({"limit"} if extends else set())):
        if there.get(key) != ours.get(key):
            how = f"{key}: {there.get(key)!r} there, {ours.get(key)!r} here"
            if key.startswith("sha256."):
                how = f"the content of {re.sub('^sha256.((recipe|victim).)?', '', key)} has changed"
            raise InputError(f"holds another run ({how})", path=folder, remedy=_OTHER)
    if extends:
        (folder / SUMMARY).unlink(missing_ok=True)  # first, as it is of fewer sentences
        write_text(path, text)


def _limit(run: dict[str, Any]) -> float:
    """Return how many sentences a run attacks at most."""
    limit = run.get("limit")
    return limit if isinstance(limit, int) else math.inf


def _flat(values: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Join nested keys by dots."""
    flat: dict[str, Any] = {}
    for key, value in values.items():
        inner = isinstance(value, dict)
        flat |= _flat(value, f"{prefix}{key}.") if inner else {f"{prefix}{key}": value}
    return flat


def _attack_pending(
    folder: Path,
    source: Source,
    pending: Sequence[Example],
    tally: Tally,
    on_sentence: Callable[[Tally], None],
) -> Speed:
    """Attack what is left; each line is in the file before the next one is asked for."""

    def take(line: dict[str, Any]) -> None:
        append_line(folder / EXAMPLES, line)
        tally.add(line)
        on_sentence(tally)

    return drain(source(pending), take)
