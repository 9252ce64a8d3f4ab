"""Attack a whole split into a folder: resumable, and the same files however often it was stopped.

``examples.jsonl`` grows by a line a finished sentence and ends sorted by id; a run that was killed
continues with the sentences that are not in it. ``run.json`` says what the folder holds, so that
lines of different runs never mix; one process at a time has the folder.
"""

import json
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import torch
from filelock import FileLock, Timeout

from robustparse import __version__
from robustparse.attacks.attack import Attack
from robustparse.attacks.victim import Victim
from robustparse.errors import InputError
from robustparse.evaluation.breakdown import breakdown
from robustparse.evaluation.lines import (
    EXAMPLES,
    RUN,
    SUMMARY,
    each_line,
    held_lines,
    json_line,
    tidy,
)
from robustparse.evaluation.reach import Reach
from robustparse.evaluation.shards import Source, Speed, attacked_lines, drain
from robustparse.evaluation.tally import Tally
from robustparse.files import make_folder, read_json, write_text, written
from robustparse.tasks.task import Task
from robustparse.types import Example

Summary = dict[str, Any]

LOCK = ".lock"
_OTHER = "choose another --out or delete the folder"


def attack_into(
    folder: Path,
    task: Task,
    attack: Attack,
    examples: Sequence[Example],
    victim: Victim,
    run: dict[str, Any],
    on_sentence: Callable[[Tally], None] = lambda tally: None,
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
    on_sentence: Callable[[Tally], None] = lambda tally: None,
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
        InputError: the folder is not writable, in use, holds another run or broken files; or the
            attack could change no sentence, see `Reach.check`.
    """
    with locked(make_folder(folder)):
        done = {line["id"] for line in held_lines(folder)}
        _claim(folder, run, bool(done))
        pending = [example for example in examples if example.id not in done]
        if not pending and (folder / SUMMARY).exists():
            return read_json(folder / SUMMARY, dict, "delete the file and run the attack again")
        tidy(folder)  # what a kill tore off must not stand before the next line
        tally = Tally.of(task, each_line(folder / EXAMPLES))
        speed = _attack_pending(folder, source, pending, tally, on_sentence)
        tidy(folder)
        reach = Reach()
        for line in each_line(folder / EXAMPLES):
            reach.add(line)
        reach.check(attack, examples)
        with written(folder / f"adversarial{task.ending(str(run.get('data', '')))}") as file:
            by_id = {example.id: example for example in examples}
            for line in each_line(folder / EXAMPLES):
                file.write(task.write(by_id[line["id"]], line["adversarial_tokens"]))
        summary = {
            "task": task.name,
            **{key: run[key] for key in ("attack", "victims", "seed")},
            **tally.scores(),
            **breakdown(task, each_line(folder / EXAMPLES)),
            "reach": reach.summary(),
            "warnings": [*reach.warnings()],
            **speed.summary(len(pending)),
            "versions": {"robustparse": __version__, "torch": str(torch.__version__)},
        }
        write_text(folder / SUMMARY, json.dumps(summary, indent=2) + "\n")
        return summary


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold a folder's lock, the file ``.lock``, which is deleted afterwards.

    A killed holder leaves the file, but not the lock.

    Raises:
        InputError: another process holds it, or the folder's file system knows no locks.
    """
    path = folder / LOCK
    try:
        lock = FileLock(path, timeout=0).acquire()
    except Timeout:
        raise InputError(
            "another process is attacking into this folder",
            path=folder,
            remedy="wait until it ends (run again, the attack then continues), or choose another "
            "--out",
        ) from None
    except OSError as error:
        raise InputError(
            f"cannot be locked ({error.strerror})",
            path=path,
            remedy="choose an --out on another file system",
        ) from error
    with lock:
        try:
            yield
        finally:
            path.unlink(missing_ok=True)  # while it is locked: the next file is another process's


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
            raise InputError(
                f"holds another run ({key}: {there.get(key)!r} there, {ours.get(key)!r} here)",
                path=folder,
                remedy=_OTHER,
            )
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
    with (folder / EXAMPLES).open("a", encoding="utf-8") as file:

        def take(line: dict[str, Any]) -> None:
            file.write(json_line(line))
            file.flush()
            tally.add(line)
            on_sentence(tally)

        return drain(source(pending), take)
