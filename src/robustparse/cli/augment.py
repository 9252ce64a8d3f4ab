"""``robustparse augment``: write changed copies of training sentences, as additional data."""

from pathlib import Path
from typing import Literal

from robustparse.api.attack_run import AttackRun
from robustparse.api.augment import write_adversarial_copies, write_perturbed_copies
from robustparse.api.copies_file import CopiesFile, Keep, attack_folder
from robustparse.api.inputs import Paths, system_name
from robustparse.attacks.attack import Attack
from robustparse.attacks.constraints.similarity import TextSimilarity
from robustparse.cli.attack import NO_LICENSE, check_format, print_summary
from robustparse.cli.options import AttackOptions, DecodingOptions, ShardedDataOptions, refuse
from robustparse.data.fractions import FractionOf
from robustparse.errors import InputError
from robustparse.grammars import language_named
from robustparse.options.recipe import Recipe
from robustparse.perturbations.perturbation import Perturbation
from robustparse.tasks.registry import named, task_of
from robustparse.tasks.semantic import semantic_task
from robustparse.tasks.task import Task


def augment(
    out: str,
    data: ShardedDataOptions,
    decoding: DecodingOptions,
    run: AttackOptions,
    operations: list[Perturbation] | None = None,
    attack: Attack | None = None,
    checkpoint: Paths | None = None,
    task: str | None = None,
    language: str | None = None,
    similarity: TextSimilarity | None = None,
    fraction: float | None = None,
    tokens: float | None = None,
    keep: Keep = "changed",
    format: Literal["dataset"] | None = None,
    license: str = NO_LICENSE,
) -> None:
    """Write perturbed (--operations) or adversarial (--attack) copies of training sentences.

    Args:
        out: file of the copies, in the data's format and with its gold answers; a summary goes
            into ``OUT.summary.json``, and an attack into a folder that ends in .attack, where the
            same command resumes it.
        data: the training sentences.
        decoding: how the attacked model computes.
        run: how the attack runs; only the seed applies to operations.
        operations: operations to perturb with instead of an attack, such as ``typos,casing``; one
            is drawn for each sentence.
        attack: a recipe: the name of an installed one, such as ``pwws``, or the path of a file.
        checkpoint: the model to attack: a checkpoint, or the folder of a training run; several make
            one ensemble.
        task: with operations, the task of the data, such as ``semantic``, if the file name does not
            show it.
        language: with operations, the language of the logical forms: ``lambda``, ``prolog`` or the
            class path of a language in a trusted module. By default, the tokens show whether it is
            ``lambda`` or ``prolog``.
        similarity: with operations, leave out copies whose similarity to the original is below a
            minimum, as an automatic substitute for human judges: ``SentenceSimilarity`` uses a
            sentence encoder, ``VectorSimilarity`` word vectors. Whole texts are compared; the
            window is ignored.
        fraction: copy only this fraction of the sentences, drawn at random with the seed. With
            ``keep changed``, sentences that the operations cannot change are replaced by others.
        tokens: instead of a fraction of the sentences, draw sentences until they hold this
            fraction of the words.
        keep: write ``changed`` copies only, or ``all``, or ``pairs`` of a changed copy and its
            original for ``evaluate --perturbed``.
        format: also write the pairs as a ``dataset`` that ``datasets.load_dataset`` reads, into a
            folder that ends in .dataset.
        license: the licence of the sentences, for the card of the dataset, such as cc-by-4.0.
    """
    of_dataset = None if format is None else license
    check_format(data.shard, format, license)
    share, unit = _drawn(fraction, tokens)
    if operations is not None and attack is None and checkpoint is None:
        only = "applies to attacks only"
        refuse(decoding, only, "leave it out")
        refuse(run, only, "leave it out", ("tagger", "devices"))
        file = data.file(run.seed or 0, share, unit, "train")
        copies = CopiesFile(Path(out), file, keep, of_dataset)
        kind = _task(file.names[0], task, language)
        write_perturbed_copies(copies, kind, operations, similarity)
    elif operations is None and attack is not None and checkpoint is not None:
        only = "applies to operations only"
        if similarity is not None:
            remedy = "put it into the attack's constraints"
            raise InputError(only, key="--similarity", remedy=remedy)
        if language is not None:
            remedy = "leave it out: the checkpoint knows its language"
            raise InputError(only, key="--language", remedy=remedy)
        seed = attack.seed if run.seed is None else run.seed
        file = data.file(seed, share, unit, "train", run.tagger)
        copies = CopiesFile(Path(out), file, keep, of_dataset)
        attack_run = AttackRun(
            folder=attack_folder(copies.path),
            recipe=Recipe.of(attack),
            victim=decoding.checkpoints(checkpoint),
            data=file,
            seed=seed,
            device=decoding.device,
            devices=run.devices,
            check=copies.check,
        )
        summary = write_adversarial_copies(copies, attack_run, attack)
        print_summary(system_name(attack_run.victim.names), summary)
    else:
        raise InputError(
            "an attack needs a checkpoint, and operations take none",
            remedy="give --attack and --checkpoint, or only --operations",
        )


def _task(data: str, name: str | None, language: str | None) -> Task:
    """Return the task of data that operations change.

    Raises:
        InputError: the name is unknown, or the task has no logical forms.
    """
    if language is None:
        return task_of(data) if name is None else named(name)
    if name not in (None, "semantic"):
        found = f"got {language!r}, but the task {name} has no logical forms"
        raise InputError(found, key="--language", remedy="leave it out")
    return semantic_task(language_named(language).name)


def _drawn(fraction: float | None, tokens: float | None) -> tuple[float, FractionOf]:
    """Return the fraction to copy and its unit."""
    if fraction is not None and tokens is not None:
        found = "--fraction counts sentences and --tokens words"
        raise InputError(found, remedy="give one of them")
    if tokens is not None:
        return tokens, "tokens"
    return 1.0 if fraction is None else fraction, "sentences"
