"""``robustparse augment``: write changed copies of training sentences, as additional data.

Operations change sentences without a model. Attacks need one: Zheng et al. (2020, section 3.4)
attack a random half of the training sentences and add every copy, the unchanged ones too; Wang et
al. (2021) attack all and add the changed ones.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from robustparse.api.attack_run import AttackRun
from robustparse.api.copies_file import CopiesFile, Keep, attack_folder
from robustparse.api.data_sources import DataFile
from robustparse.api.inputs import Paths, system_name
from robustparse.api.printed_tables import terminal
from robustparse.attacks.attack import Attack
from robustparse.attacks.constraints.similarity import TextSimilarity
from robustparse.cli.attack import NO_LICENSE, check_format, print_summary
from robustparse.cli.options import AttackOptions, DecodingOptions, ShardedDataOptions, refuse
from robustparse.data.fractions import FractionOf, draw_fraction
from robustparse.errors import InputError, say
from robustparse.evaluation.attack_log import attack_card
from robustparse.evaluation.dataset_folder import Card
from robustparse.evaluation.example_records import read_records
from robustparse.evaluation.finished_folders import read_adversarial, read_run
from robustparse.evaluation.perturbed import Copy, idle, perturbed
from robustparse.evaluation.records import EXAMPLES, Summary, data_name
from robustparse.grammars import language_named
from robustparse.metrics import percent
from robustparse.options.recipe import Recipe
from robustparse.perturbations.perturbation import Perturbation
from robustparse.tasks.registry import named, task_of
from robustparse.tasks.semantic import semantic_task
from robustparse.tasks.task import Task
from robustparse.types import Example

_ABOUT = (
    "`robustparse augment` changed these sentences; `perturbed` stands next to its `original`. "
    "`answer` is the gold answer to the original sentence."
)

TRIES = 5
"""How often operations are drawn for a sentence until a copy keeps the gold answer."""


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
        _write_perturbed(copies, kind, operations, similarity)
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
        copies = CopiesFile(Path(out), file, keep, of_dataset)
        attack_run = AttackRun(
            folder=attack_folder(copies.path),
            recipe=Recipe.of(attack),
            victim=decoding.only_system(checkpoint),
            data=file,
            seed=seed,
            device=decoding.device,
            devices=run.devices,
            check=copies.check,
        )
        summary = attack_run.attacked(attack)
        if summary is not None:
            _write_adversarial(copies, attack_run.folder, summary)
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


def _write_perturbed(
    out: CopiesFile,
    task: Task,
    operations: Sequence[Perturbation],
    similarity: TextSimilarity | None,
) -> None:
    """Change sentences by operations, one drawn for each sentence; write the copies and a summary.

    If only changed copies are kept, of a fraction of the sentences and without a limit, sentences
    without a copy are replaced by further sentences of the file (Huang et al. 2021).

    Raises:
        InputError: the file cannot be used, the name of the output does not fit the data, or
            nothing was changed.
    """
    if not operations:
        raise InputError("no operation is given", key="--operations", expected="at least one")
    out.check(task)
    file, keep = out.data, out.keep
    _check_shard(file, keep)
    examples = new = file.read(task)
    wanted, copies = len(examples), list[Copy]()
    while new:
        copies += perturbed(task, operations, new, file.seed, tries=TRIES)
        missing = wanted - len(copies) if keep == "changed" else 0
        new = _further(file, task, examples, missing)
        examples = sorted([*examples, *new], key=lambda example: example.id)
    similar = copies if similarity is None else _similar(similarity, task, examples, copies)
    dissimilar = len(copies) - len(similar)
    by_id = {copy.example.id: copy.example for copy in similar}
    language = task.answers.language
    made: dict[str, Any] = {
        "task": task.name,
        **({} if language is None else {"language": language}),
        "operations": [operation.name for operation in operations],
        "seed": file.seed,
    }
    if similarity is not None:
        made |= {"similarity": type(similarity).__name__, "measure": similarity.measure}
        made |= {"minimum": similarity.minimum}
    counts = {
        "n_examples": len(examples),
        "n_without_copy": len(examples) - len(copies),
        "n_dissimilar": dissimilar,
    }
    say(*task.files.not_written(examples, file.name))
    chosen = (
        (by_id.get(example.id, example), example.sentence.words, example.id in by_id)
        for example in examples
        if example.id in by_id or keep == "all"
    )
    card = None if out.license is None else _card(file, {**made, **counts}, out.license)
    out.write(task, chosen, made, card, counts)
    changed = Counter(copy.operation for copy in copies)
    say(*idle({each.name: changed[each.name] for each in operations}, len(examples)))
    without = f"{len(examples) - len(copies)} of {len(examples)} examples"
    text = f"{without} have no changed copy that keeps the gold answer"
    if similarity is not None:
        share = f"{percent(dissimilar, max(1, len(copies))):.1f} %"
        text += f"; {dissimilar} of {len(copies)} copies ({share}) left out: "
        text += f"similarity below {similarity.minimum:g}"
    terminal().print(text, soft_wrap=True)


def _write_adversarial(out: CopiesFile, folder: Path, summary: Summary) -> None:
    """Write the copies that an attack made, from its folder, and a summary."""
    task = named(summary["task"], summary.get("language"))
    records = list(read_records(folder / EXAMPLES))
    copied = read_adversarial(folder, task, records)
    copies = (
        (copy, record.get("read", record["tokens"]), bool(record["edited"]))
        for record, copy in zip(records, copied, strict=True)
        if record["edited"] or out.keep == "all"
    )
    card = None
    if out.license is not None:
        card = attack_card(summary, read_run(folder), _ABOUT, out.license)
    out.write(task, copies, summary, card)


def _check_shard(file: DataFile, keep: Keep) -> None:
    """Check that a shard can draw its sentences without the others.

    Raises:
        InputError: sentences that cannot be changed would be replaced by sentences of other shards.
    """
    drawn = file.fraction < 1 and file.unit == "sentences" and file.limit is None
    if file.shard is not None and keep == "changed" and drawn:
        raise InputError(
            "a sentence without a copy is replaced by another one, which may be in another shard",
            key="--shard",
            remedy="leave out --fraction, or set --keep all or --keep pairs",
        )


def _card(file: DataFile, made: Mapping[str, Any], license: str) -> Card:
    """Return the card of a dataset that operations made."""
    operations = ", ".join(made["operations"])
    facts = {
        "data": f"{data_name(file.names)}, SHA-256 {file.digest() or 'unknown'}",
        "recipe": operations,
        "seed": file.seed,
    }
    return Card(
        f"Sentences changed by {operations}", _ABOUT, made["task"], facts, dict(made), license
    )


def _further(
    file: DataFile, task: Task, examples: Sequence[Example], missing: int
) -> list[Example]:
    """Return the next examples in the random order of the file."""
    if not missing or file.limit is not None or file.unit != "sentences":
        return []
    whole = replace(file, fraction=1.0).read(task)
    fraction = min(1.0, (len(examples) + missing) / len(whole))
    drawn = draw_fraction([1] * len(whole), fraction, "sentences", file.seed)
    known = {example.id for example in examples}
    return [whole[index] for index in drawn if whole[index].id not in known]


def _similar(
    similarity: TextSimilarity, task: Task, examples: Sequence[Example], copies: Sequence[Copy]
) -> list[Copy]:
    """Return the copies that are similar enough to their originals."""
    originals = {each.id: " ".join(task.files.surface(each).words) for each in examples}
    measured = similarity.between(
        [" ".join(copy.text) for copy in copies], [originals[copy.example.id] for copy in copies]
    )
    enough = (measured >= similarity.minimum).tolist()
    return [copy for copy, kept in zip(copies, enough, strict=True) if kept]
