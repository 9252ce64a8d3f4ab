"""``robustparse attack``: attack a checkpoint or another victim on a data file, into a folder."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console

from robustparse.api.attack_run import AttackRun
from robustparse.api.inputs import Paths
from robustparse.api.sources import DataFile, command_source
from robustparse.api.tables import summary_table
from robustparse.attacks.attack import Attack
from robustparse.data.datamodule import MAX_LENGTH
from robustparse.data.fractions import FractionOf
from robustparse.evaluation.attack_folder import Summary
from robustparse.models.load import Decoder
from robustparse.models.victim import Precision
from robustparse.recipes.recipe import Recipe
from robustparse.tasks.task import Task
from robustparse.victims.black_box import BlackBox


def attack(
    attack: Attack,
    data: str,
    out: str,
    checkpoint: Paths | None = None,
    victim: BlackBox | None = None,
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
    victim_settings: dict[str, Any] | None = None,
    split: str = "test",
    unit: FractionOf = "sentences",
    check: Callable[[Task], None] | None = None,
) -> Summary | None:
    """Attack a checkpoint, or a --victim, on a data file; run again on the same folder, it resumes.

    Args:
        attack: a recipe: the name of one that is installed, as ``pwws``, or a file.
        data: a data file, or ``sample`` for the embedded test sentences.
        out: folder for examples.jsonl, the adversarial data file and summary.json.
        checkpoint: the model to attack; several are one ensemble.
        victim: instead: a class that answers texts, as robustparse.victims.Spacy or one of yours.
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
        recipe, victim_settings: what the attack and the victim were made of, which a command knows.
        split: of the sample.
        unit: what the fraction counts.
        check: refuses the task of the model, before any data are read.

    Returns:
        What ``summary.json`` holds; None in a process that another one writes for.
    """
    recipe = Recipe.of(attack) if recipe is None else recipe
    seed = attack.seed if seed is None else seed
    run = AttackRun(
        folder=Path(out),
        recipe=recipe,
        victim=command_source(checkpoint, victim_settings, decoder, precision),
        data=DataFile(data, seed, limit, fraction, unit, max_length, columns, split),
        seed=seed,
        device=device,
        devices=devices,
        check=check,
    )
    summary = run.attacked(attack)
    if summary is not None:
        Console().print(summary_table({Path(run.victim.names[0]).stem: summary}))
    return summary
