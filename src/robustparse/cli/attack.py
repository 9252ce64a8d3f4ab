"""``robustparse attack``: attack a checkpoint on a data file, into a folder."""

from collections.abc import Callable
from pathlib import Path

from robustparse.attacks.attack import Attack
from robustparse.cli.common.attacking import AttackRun
from robustparse.cli.common.inputs import Paths, as_list
from robustparse.cli.common.options import Recipe
from robustparse.data.datamodule import MAX_LENGTH
from robustparse.data.fractions import FractionOf
from robustparse.evaluation.attack_folder import Summary
from robustparse.models.load import Decoder
from robustparse.models.victim import Precision
from robustparse.tasks.task import Task


def attack(
    attack: Attack,
    checkpoint: Paths,
    data: str,
    out: str,
    limit: int | None = None,
    seed: int | None = None,
    decoder: Decoder | None = None,
    fraction: float = 1.0,
    device: str = "auto",
    devices: int = 1,
    precision: Precision = "32-true",
    max_length: int = MAX_LENGTH,
    columns: list[str] | None = None,
    recipe: Recipe | None = None,
    split: str = "test",
    unit: FractionOf = "sentences",
    check: Callable[[Task], None] | None = None,
) -> Summary | None:
    """Attack a checkpoint on a data file; run again on the same folder, it resumes.

    Args:
        attack: a recipe: the name of one that is installed, as ``pwws``, or a file.
        checkpoint: the model to attack; several are one ensemble.
        data: a data file, or ``sample`` for the embedded test sentences.
        out: folder for examples.jsonl, the adversarial data file and summary.json.
        limit: attack only the first sentences, as many as this.
        seed: of the attack's random choices, and of the sample's grammar; by default the recipe's
            own (0 if it has none).
        decoder: instead of the one the model was trained with.
        fraction: attack only this fraction of the sentences, drawn at random from the seed.
        device: where the model computes: auto, cpu or cuda.
        devices: over how many processes the sentences are dealt: GPUs if device takes one,
            else processes on the CPU. Results do not depend on it. Under torchrun the processes
            are those it has started.
        precision: of the model's passes, those that are scored too; bf16-mixed is faster on
            processors with bfloat16 products, and may change an answer here and there.
        max_length: longest allowed sentence of the data, in words; a longer one is an error.
        columns: names of the data's columns, of the text and of its answer, where they have names.
        recipe: what the attack was made of, which a command knows.
        split: of the sample.
        unit: what the fraction counts.
        check: refuses the task of the model, before any data are read.

    Returns:
        What ``summary.json`` holds; None in a process that another one writes for.
    """
    run = AttackRun(
        folder=Path(out),
        recipe=recipe or Recipe.of(attack),
        checkpoints=as_list(checkpoint),
        data=data,
        split=split,
        seed=attack.seed if seed is None else seed,
        limit=limit,
        fraction=fraction,
        unit=unit,
        decoder=decoder,
        device=device,
        devices=devices,
        precision=precision,
        max_length=max_length,
        columns=columns,
        check=check,
    )
    return run.attacked(attack)
