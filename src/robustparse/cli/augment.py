"""``robustparse augment``: write changed copies of training sentences, as additional data."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from robustparse.api.attack_run import AttackRun
from robustparse.api.augment import attacked_copies
from robustparse.api.augment import augment as perturbed_copies
from robustparse.api.copies_file import CopiesFile, Keep, WrittenCopies, attack_folder
from robustparse.api.inputs import Paths, system_name
from robustparse.api.printed_tables import print_table, summary_table, terminal
from robustparse.attacks.attack import Attack
from robustparse.attacks.constraints.similarity import TextSimilarity
from robustparse.cli.attack import NO_LICENSE, check_format
from robustparse.cli.options import AttackOptions, DecodingOptions, ShardedDataOptions, refuse
from robustparse.data.fractions import FractionOf
from robustparse.errors import InputError
from robustparse.grammars import language_named
from robustparse.metrics import percent
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
    path, of_dataset = Path(out), None if format is None else license
    check_format(data.shard, format, license)
    share, unit = _drawn(fraction, tokens)
    if operations is not None and attack is None and checkpoint is None:
        only = "applies to attacks only"
        refuse(decoding, only, "leave it out")
        refuse(run, only, "leave it out", ("tagger", "devices"))
        file = data.file(run.seed or 0, share, unit, "train")
        kind = _task(file.names[0], task, language)
        written = perturbed_copies(
            path, file, operations, task=kind, similarity=similarity, keep=keep, license=of_dataset
        )
        _print_files(path, written)
        _print_losses(written.summary)
    elif operations is None and attack is not None and checkpoint is not None:
        only = "applies to operations only"
        of_operations = {
            "similarity": (similarity, "put it into the attack's constraints"),
            "language": (language, "leave it out: the checkpoint knows its language"),
            "task": (task, "leave it out: the checkpoint knows its task"),
        }
        for name, (value, remedy) in of_operations.items():
            if value is not None:
                raise InputError(only, key=f"--{name}", remedy=remedy)
        seed = attack.seed if run.seed is None else run.seed
        file = data.file(seed, share, unit, "train", run.tagger)
        attack_run = AttackRun(
            folder=attack_folder(path),
            recipe=Recipe.of(attack),
            victim=decoding.only_system(checkpoint),
            data=file,
            seed=seed,
            device=decoding.device,
            devices=run.devices,
        )
        copies_file = CopiesFile(path, file, keep, of_dataset)
        if (adversarial := attacked_copies(copies_file, attack_run, attack)) is not None:
            _print_files(path, adversarial)
            name = system_name(attack_run.victim.names)
            print_table(summary_table({name: adversarial.summary}))
    else:
        raise InputError(
            "an attack needs a checkpoint, and operations take none",
            remedy="give --attack and --checkpoint, or only --operations",
        )


def _print_files(path: Path, written: WrittenCopies) -> None:
    terminal().print(f"{written.summary['n_copies']} copies in {path}", soft_wrap=True)
    for file in written.dataset:
        terminal().print(str(file), soft_wrap=True)


def _print_losses(summary: Mapping[str, Any]) -> None:
    """Print how many sentences the operations could not change, or changed too much."""
    without, n = summary["n_without_copy"], summary["n_examples"]
    text = f"{without} of {n} examples have no changed copy that keeps the gold answer"
    if "similarity" in summary:
        dissimilar, copies = summary["n_dissimilar"], n - without
        share = f"{percent(dissimilar, max(1, copies)):.1f} %"
        text += f"; {dissimilar} of {copies} copies ({share}) left out: "
        text += f"similarity below {summary['minimum']:g}"
    terminal().print(text, soft_wrap=True)


def _task(data: str, name: str | None, language: str | None) -> Task:
    """Return the task of data that operations change.

    Raises:
        InputError: the name is unknown, or the task has no logical forms.
    """
    if language is None:
        return task_of(data) if name is None else named(name)
    if name not in (None, "semantic"):
        problem = f"got {language!r}, but the task {name} has no logical forms"
        raise InputError(problem, key="--language", remedy="leave it out")
    return semantic_task(language_named(language).name)


def _drawn(fraction: float | None, tokens: float | None) -> tuple[float, FractionOf]:
    """Return the fraction to copy and its unit."""
    if fraction is not None and tokens is not None:
        problem = "--fraction counts sentences and --tokens words"
        raise InputError(problem, remedy="give one of them")
    if tokens is not None:
        return tokens, "tokens"
    return 1.0 if fraction is None else fraction, "sentences"
