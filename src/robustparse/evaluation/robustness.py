"""Attack a whole split into a folder: resumable, and the same files however often it was stopped.

``examples.jsonl`` grows by a line a finished sentence and ends sorted by id; a run that was killed
goes on with the sentences that are not in it. ``run.json`` says what the folder holds, so that
lines of different runs never mix.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from robustparse import __version__
from robustparse.attacks.attack import Attack
from robustparse.attacks.statistics import Statistics, victim_seconds_alone
from robustparse.attacks.victim import Victim
from robustparse.data.conllu import block_of, file_ending, with_parse, write_treebank
from robustparse.errors import InputError
from robustparse.evaluation.tally import Tally, result_line
from robustparse.files import make_folder, read_text, write_text
from robustparse.types import Example

Summary = dict[str, Any]


def attack_into(
    folder: Path,
    attack: Attack,
    examples: Sequence[Example],
    victim: Victim,
    run: dict[str, Any],
    on_sentence: Callable[[Tally], None] = lambda tally: None,
) -> Summary:
    """Attack examples, write ``examples.jsonl``, ``adversarial.conllu`` and ``summary.json``.

    Examples of a CoNLL-X file give ``adversarial.conllx``.

    Args:
        folder: where to; continued if it holds the same run.
        attack: the attack.
        examples: sentences with distinct ids.
        victim: the parser.
        run: plain values that tell this run from others: attack, victims, data, seed, limit.
        on_sentence: called after every sentence with the sums so far.

    Returns:
        The summary. Times and forwards are those of the last uninterrupted stretch of the run, None
        if nothing was left for it to attack.

    Raises:
        InputError: the folder is not writable, holds another run or broken files.
    """
    _claim(make_folder(folder), run)
    lines = read_lines(folder / "examples.jsonl")
    known = {line["id"] for line in lines}
    pending = [example for example in examples if example.id not in known]
    if not pending and (folder / "summary.json").exists():
        finished: Summary = json.loads((folder / "summary.json").read_text("utf-8"))
        return finished
    tally = Tally()
    for line in lines:
        tally.add(line)
    statistics = _attack_pending(folder, attack, pending, victim, lines, tally, on_sentence)
    lines.sort(key=lambda line: line["id"])
    write_text(folder / "examples.jsonl", "".join(_json_line(line) for line in lines))
    ending = file_ending(str(run.get("data", "")))
    write_treebank(folder / f"adversarial{ending}", perturbed_blocks(examples, lines))
    summary = {
        "task": "dependency",
        **{key: run[key] for key in ("attack", "victims", "seed")},
        **tally.scores(),
        "perplexity": {"clean": None, "attacked": None},
        **_speed(statistics, victim, len(pending)),
        "versions": {"robustparse": __version__, "torch": str(torch.__version__)},
    }
    write_text(folder / "summary.json", json.dumps(summary, indent=2) + "\n")
    return summary


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The whole lines of an ``examples.jsonl``; a last line torn by a kill is left out.

    Raises:
        InputError: a whole line is no JSON object with an id.
    """
    if not path.exists():
        return []
    lines = []
    # Bytes, since a kill may have torn a character too; U+2028 is no end of a line.
    rows = path.read_bytes().split(b"\n")
    for number, row in enumerate(rows, start=1):
        if not row:
            continue
        try:
            line = json.loads(row.decode("utf-8"))
        except ValueError:
            if number == len(rows):
                break
            line = None
        if not isinstance(line, dict) or "id" not in line:
            raise InputError(
                f"{path}:{number}: no sentence as an attack writes it; remove the line and run the "
                "attack again"
            )
        lines.append(line)
    return lines


def perturbed_blocks(examples: Iterable[Example], lines: Iterable[dict[str, Any]]) -> Iterator[str]:
    """The attacked sentences with their gold trees, by id, in the format of their file.

    Args:
        examples: the originals, of all lines at least.
        lines: of ``examples.jsonl``, of those sentences that are wanted.
    """
    by_id = {example.id: example for example in examples}
    for line in sorted(lines, key=lambda line: line["id"]):
        example = by_id[line["id"]]
        block = example.block or block_of(example.sentence, example.gold)
        yield with_parse(block, example.gold, line["adversarial_tokens"])


def _claim(folder: Path, run: dict[str, Any]) -> None:
    """Write ``run.json``, or make sure that the lines already there are this run's."""
    path, examples = folder / "run.json", folder / "examples.jsonl"
    if not examples.exists() or not examples.stat().st_size:
        write_text(path, json.dumps(run, indent=2) + "\n")
        return
    if not path.exists():
        raise InputError(
            f"{folder}: holds examples.jsonl but no run.json that says of which run; choose "
            "another --out or delete the folder"
        )
    held, ours = _flat(_held(path)), _flat(run)
    for key in sorted({*held, *ours}):
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


def _held(path: Path) -> Summary:
    """What ``run.json`` says.

    Raises:
        InputError: it is no JSON object.
    """
    try:
        held = json.loads(read_text(path))
    except json.JSONDecodeError:
        held = None
    if not isinstance(held, dict):
        raise InputError(f"{path}: no JSON object; choose another --out or delete the folder")
    return held


def _attack_pending(
    folder: Path,
    attack: Attack,
    pending: Sequence[Example],
    victim: Victim,
    lines: list[dict[str, Any]],
    tally: Tally,
    on_sentence: Callable[[Tally], None],
) -> Statistics:
    # Start from whole lines: what a kill tore off must not stand before the next line.
    write_text(folder / "examples.jsonl", "".join(_json_line(line) for line in lines))
    results = attack.run(pending, victim)
    try:
        with (folder / "examples.jsonl").open("a", encoding="utf-8") as file:
            for result in results:
                line = result_line(result)
                file.write(_json_line(line))
                file.flush()
                lines.append(line)
                tally.add(line)
                on_sentence(tally)
    finally:
        results.close()
    return results.statistics


def _json_line(line: dict[str, Any]) -> str:
    return json.dumps(line, ensure_ascii=False) + "\n"


def _speed(statistics: Statistics, victim: Victim, sentences: int) -> dict[str, Any]:
    with victim.evaluating():
        alone = victim_seconds_alone(victim, statistics)
    seconds = statistics.seconds
    figures = {
        "victim_forwards": statistics.forwards,
        "texts_per_forward": statistics.texts_per_forward,
        "seconds": seconds,
        "other_model_seconds": dict(statistics.model_seconds),
        "sentences_per_second": sentences / seconds if seconds else None,
        "victim_share_of_seconds": statistics.victim_share(alone),
    }
    return figures if sentences else dict.fromkeys(figures)
