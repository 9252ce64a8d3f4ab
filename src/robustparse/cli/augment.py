"""``robustparse augment``: adversarial copies of training sentences, to train on as well.

Zheng et al. (2020, section 3.4) attack a random half of the training sentences and add every copy,
the unchanged ones too (``--fraction 0.5 --keep all``); Wang et al. (2021) attack all and add the
changed ones. The attack runs in a folder next to the copies, where it resumes after a stop.
"""

import json
from functools import partial
from pathlib import Path
from typing import Literal

from rich.console import Console

from robustparse.api.inputs import Paths
from robustparse.attacks.attack import Attack
from robustparse.cli import attack as attack_command
from robustparse.data.datamodule import MAX_LENGTH, SAMPLE
from robustparse.data.fractions import FractionOf
from robustparse.errors import InputError
from robustparse.evaluation.attack_folder import Summary
from robustparse.evaluation.lines import EXAMPLES, each_line
from robustparse.files import write_text, written
from robustparse.models.load import Decoder
from robustparse.models.victim import Precision
from robustparse.recipes.recipe import Recipe
from robustparse.tasks.task import Task, named

Keep = Literal["changed", "all"]


def augment(
    attack: Attack,
    checkpoint: Paths,
    data: str,
    out: str,
    fraction: float | None = None,
    tokens: float | None = None,
    keep: Keep = "changed",
    limit: int | None = None,
    seed: int | None = None,
    decoder: Decoder | None = None,
    device: str = "auto",
    devices: int = 1,
    precision: Precision = "32-true",
    max_length: int = MAX_LENGTH,
    columns: list[str] | None = None,
    recipe: Recipe | None = None,
) -> Summary | None:
    """Write adversarial copies of training sentences; run again with the same --out, it resumes.

    Args:
        attack: a recipe: the name of one that is installed, as ``pwws``, or a file.
        checkpoint: the model to attack; several are one ensemble.
        data: a data file, or ``sample`` for the embedded training sentences.
        out: file of the copies, in the data's format and with its gold answers; a summary goes
            into a .json file next to it, the attack into an .attack folder.
        fraction: copy only this fraction of the sentences, drawn at random from the seed.
        tokens: instead: sentences drawn until they hold this fraction of the words.
        keep: copies that the attack changed, or all.
        limit: attack only the first sentences, as many as this.
        seed: of the attack's random choices, and of the sample's grammar; by default the recipe's
            own (0 if it has none).
        decoder: instead of the one the model was trained with.
        device: where the model computes: auto, cpu or cuda.
        devices: over how many processes the sentences are dealt, as with ``attack``. The copies
            do not depend on it.
        precision: of the model's passes, as with ``attack``.
        max_length: longest allowed sentence of the data, in words; a longer one is an error.
        columns: names of the data's columns, of the text and of its answer, where they have names.
        recipe: what the attack was made of, which a command knows.

    Returns:
        What the .json file holds; None in a process that another one writes for.
    """
    copies, (drawn, unit) = Path(out), _drawn(fraction, tokens)
    attacked = attack_command.attack(
        attack,
        data,
        str(copies.with_suffix(".attack")),
        checkpoint,
        limit=limit,
        seed=seed,
        decoder=decoder,
        fraction=drawn,
        device=device,
        devices=devices,
        precision=precision,
        max_length=max_length,
        columns=columns,
        recipe=recipe,
        split="train",
        unit=unit,
        check=partial(_check_out, copies, data),
    )
    how = {"data": data, "fraction": drawn, "fraction_of": unit, "keep": keep}
    return None if attacked is None else _write_report(copies, attacked | how, columns)


def _write_report(copies: Path, how: Summary, columns: list[str] | None) -> Summary:
    """Write the copies, and what they are into the .json file next to them; return that."""
    report = {**how, **_write_copies(copies, how["task"], how["keep"], columns)}
    write_text(copies.with_suffix(".json"), json.dumps(report, indent=2) + "\n")
    Console().print(f"{report['n_copies']} copies in {copies}", soft_wrap=True)
    return report


def _write_copies(
    out: Path, task_name: str, keep: Keep, columns: list[str] | None
) -> dict[str, int]:
    """Write the copies; count them, their words, and those that are changed."""
    task, folder = named(task_name), out.with_suffix(".attack")
    adversarial = task.read(folder / f"adversarial{task.ending(out)}", columns=columns)
    both = zip(each_line(folder / EXAMPLES), adversarial, strict=True)
    kept = [(line, copy) for line, copy in both if line["edited"] or keep == "all"]
    with written(out) as file:
        file.writelines(task.write(copy) for _, copy in kept)
    return {
        "n_copies": len(kept),
        "n_copied_words": sum(len(copy.sentence) for _, copy in kept),
        "n_changed": sum(bool(line["edited"]) for line, _ in kept),
    }


def _drawn(fraction: float | None, tokens: float | None) -> tuple[float, FractionOf]:
    """Return which fraction is attacked, and of what."""
    if fraction is not None and tokens is not None:
        raise InputError(
            "--fraction counts sentences and --tokens words", remedy="give one of them"
        )
    if tokens is not None:
        return tokens, "tokens"
    return 1.0 if fraction is None else fraction, "sentences"


def _check_out(out: Path, data: str, task: Task) -> None:
    """Refuse a name of another format, and the data's own."""
    expected = task.ending(data)
    if task.ending(out) != expected or out.suffix not in {expected, Path(data).suffix} - {""}:
        raise InputError(
            f"the copies are in the format of {data}",
            path=out,
            key="--out",
            remedy=f"name a file that ends in {expected}",
        )
    if data != SAMPLE and out.exists() and Path(data).exists() and out.samefile(data):
        raise InputError("is the data itself", path=out, key="--out", remedy="name another file")
