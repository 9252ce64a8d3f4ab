"""Attack a whole split into a folder: resumable, and the same files however often it was stopped.

``examples.jsonl`` grows by a line a finished sentence and ends sorted by id; a run that was killed
goes on with the sentences that are not in it. ``run.json`` says what the folder holds, so that
lines of different runs never mix; one process at a time has the folder.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from robustparse import __version__
from robustparse.attacks.attack import Attack
from robustparse.attacks.victim import Victim
from robustparse.data.conllu import block_of, file_ending, with_parse, write_treebank
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
from robustparse.evaluation.lock import locked
from robustparse.evaluation.shards import Lines, Source, attacked_lines, drain
from robustparse.evaluation.speed import Speed
from robustparse.evaluation.tally import Tally
from robustparse.files import make_folder, read_text, write_text
from robustparse.types import Example

Summary = dict[str, Any]

RECIPE = "recipe"
"""Key in a run's ``sha256`` of the files that its recipe names."""


def attack_into(
    folder: Path,
    attack: Attack,
    examples: Sequence[Example],
    victim: Victim,
    run: dict[str, Any],
    on_sentence: Callable[[Tally], None] = lambda tally: None,
) -> Summary:
    """Attack examples in this process; see `collect_into`.

    Args:
        folder: where to; continued if it holds the same run.
        attack: the attack.
        examples: sentences with distinct ids.
        victim: the parser.
        run: plain values that tell this run from others: attack, victims, data, seed, limit.
        on_sentence: called after every sentence with the sums so far.
    """

    def source(pending: Sequence[Example]) -> Lines:
        return attacked_lines(attack, victim, pending)

    return collect_into(folder, source, examples, run, on_sentence)


def collect_into(
    folder: Path,
    source: Source,
    examples: Sequence[Example],
    run: dict[str, Any],
    on_sentence: Callable[[Tally], None] = lambda tally: None,
) -> Summary:
    """Write ``examples.jsonl``, ``adversarial.conllu`` and ``summary.json`` of an attack.

    Examples of a CoNLL-X file give ``adversarial.conllx``. The folder's lock is held meanwhile.

    Args:
        folder: where to; continued if it holds the same run.
        source: attacks the sentences that are left, in this process or in others.
        examples: sentences with distinct ids.
        run: plain values that tell this run from others: attack, victims, data, seed, limit.
        on_sentence: called after every sentence with the sums so far.

    Returns:
        The summary. Times and forwards are those of the last uninterrupted stretch of the run, None
        if nothing was left for it to attack.

    Raises:
        InputError: the folder is not writable, in use, holds another run or broken files.
    """
    with locked(make_folder(folder)):
        done = {line["id"] for line in held_lines(folder)}
        _claim(folder, run, bool(done))
        pending = [example for example in examples if example.id not in done]
        if not pending and (folder / SUMMARY).exists():
            return _held(folder / SUMMARY, "delete the file and run the attack again")
        tidy(folder)  # what a kill tore off must not stand before the next line
        tally = Tally()
        for line in each_line(folder / EXAMPLES):
            tally.add(line)
        speed = _attack_pending(folder, source, pending, tally, on_sentence)
        tidy(folder)
        ending = file_ending(str(run.get("data", "")))
        blocks = perturbed_blocks(examples, each_line(folder / EXAMPLES))
        write_treebank(folder / f"adversarial{ending}", blocks)
        summary = {
            "task": "dependency",
            **{key: run[key] for key in ("attack", "victims", "seed")},
            **tally.scores(),
            **breakdown(each_line(folder / EXAMPLES)),
            **speed.figures(len(pending)),
            "versions": {"robustparse": __version__, "torch": str(torch.__version__)},
        }
        write_text(folder / SUMMARY, json.dumps(summary, indent=2) + "\n")
        return summary


def _claim(folder: Path, run: dict[str, Any], started: bool) -> None:
    """Write ``run.json``, or make sure that the lines already there are this run's."""
    path = folder / RUN
    if not started:
        write_text(path, json.dumps(run, indent=2) + "\n")
        return
    if not path.exists():
        raise InputError(
            f"{folder}: holds examples.jsonl but no run.json that says of which run; choose "
            "another --out or delete the folder"
        )
    kept = _held(path, "choose another --out or delete the folder")
    held, ours = _flat(kept), _flat(run)
    keys = {*held, *ours}
    if RECIPE not in kept.get("sha256", ()):  # of a version that did not look at these files
        keys = {key for key in keys if not key.startswith(f"sha256.{RECIPE}.")}
    for key in sorted(keys):
        if held.get(key) != ours.get(key):
            raise InputError(
                f"{folder}: holds another run ({key}: {held.get(key)!r} there, {ours.get(key)!r} "
                "here); choose another --out or delete the folder"
            )


def _flat(values: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested keys joined by dots."""
    flat: dict[str, Any] = {}
    for key, value in values.items():
        inner = isinstance(value, dict)
        flat |= _flat(value, f"{prefix}{key}.") if inner else {f"{prefix}{key}": value}
    return flat


def _held(path: Path, remedy: str) -> Summary:
    """Return what one of the folder's JSON files says.

    Raises:
        InputError: it holds no JSON object.
    """
    try:
        held = json.loads(read_text(path))
    except json.JSONDecodeError:
        held = None
    if not isinstance(held, dict):
        raise InputError(f"{path}: no JSON object; {remedy}")
    return held


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


def perturbed_blocks(examples: Iterable[Example], lines: Iterable[dict[str, Any]]) -> Iterator[str]:
    """Yield the attacked sentences with their gold trees, in the format of their file.

    Args:
        examples: the originals, of all lines at least.
        lines: of ``examples.jsonl``, of those sentences that are wanted.
    """
    by_id = {example.id: example for example in examples}
    for line in lines:
        example = by_id[line["id"]]
        block = example.block or block_of(example.sentence, example.gold)
        yield with_parse(block, example.gold, line["adversarial_tokens"])
