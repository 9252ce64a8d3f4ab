"""``robustparse attack``: attack a checkpoint or another victim on a data file, into a folder."""

from pathlib import Path
from typing import Any

from robustparse.api.attack_run import AttackRun
from robustparse.api.inputs import Paths, system_name
from robustparse.api.sources import DataFile, command_source
from robustparse.api.tables import summary_table, terminal
from robustparse.attacks.attack import Attack
from robustparse.data.datamodule import MAX_LENGTH
from robustparse.evaluation.attack_run.attack_folder import Summary
from robustparse.models.load import Decoder
from robustparse.models.scores import Mean
from robustparse.models.victim import Precision
from robustparse.recipes.recipe import Recipe
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
    beam: int | None = None,
    fraction: float = 1.0,
    device: str = "auto",
    devices: int = 1,
    precision: Precision = "32-true",
    mean: Mean = "probabilities",
    max_length: int = MAX_LENGTH,
    columns: list[str] | None = None,
    tagger: str | None = None,
    recipe: Recipe | None = None,
    victim_settings: dict[str, Any] | None = None,
) -> Summary | None:
    """Attack a checkpoint, or a --victim, on a data file; run again on the same folder, it resumes.

    Args:
        attack: a recipe: the name of an installed one, such as ``pwws``, or the path of a file.
        data: a data file, or ``sample`` for the embedded test sentences.
        out: the folder to write: examples.jsonl, the adversarial data file, summary.json.
        checkpoint: the model to attack: a path; several paths make one ensemble.
        victim: what to attack instead of a checkpoint: a class that answers texts, such as
            robustparse.victims.Spacy or one of yours.
        limit: attack only the first LIMIT sentences.
        seed: seed of the attack's random choices and of the embedded sample; by default the
            recipe's own (0 if it has none).
        decoder: the decoder of a parser, instead of the one it was trained with.
        beam: hypotheses that beam search keeps, instead of as many as in training.
        fraction: attack only this fraction of the sentences, drawn at random by the seed.
        device: where the model computes: auto, cpu or cuda.
        devices: the number of processes that share the sentences: one per GPU if device is a
            GPU, otherwise on the CPU. Results do not depend on it. Under torchrun the
            processes are those that it starts.
        precision: precision of all passes of the model; bf16-mixed is faster on processors with
            bfloat16 products, and may change a few answers.
        mean: what the models of an ensemble average: probabilities, or logits, which amounts to
            the geometric mean of their probabilities.
        max_length: words in the longest allowed sentence; a longer one is an error.
        columns: for texts in tables, the names of the columns of text and answer, such as
            '[review, stars]'; by default those of the model's training data, or usual names.
        tagger: gives tags to sentences without any, such as texts: nltk, spacy or stanza, with a
            model after a colon (spacy:en_core_web_md). Utterances are tagged by their raw text.
        recipe, victim_settings: what the attack and the victim were made of, which a command knows.

    Returns:
        What ``summary.json`` holds; None in a process that another one writes for.
    """
    seed = attack.seed if seed is None else seed
    run = AttackRun(
        folder=Path(out),
        recipe=Recipe.of(attack) if recipe is None else recipe,
        victim=command_source(checkpoint, victim_settings, decoder, beam, precision, mean),
        data=DataFile(data, seed, limit, fraction, "sentences", max_length, columns, tagger=tagger),
        seed=seed,
        device=device,
        devices=devices,
    )
    return attacked(run, attack)


def attacked(run: AttackRun, attack: Attack) -> Summary | None:
    """Attack and print the scores; None in a process that another one writes for."""
    summary = run.attacked(attack)
    if summary is not None:
        terminal().print(summary_table({system_name(run.victim.names): summary}))
    return summary
