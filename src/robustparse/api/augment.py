"""``robustparse.augment``: write changed copies of training sentences, as additional data.

Operations change sentences without a model. Attacks need one: Zheng et al. (2020, section 3.4)
attack a random half of the training sentences and add every copy, the unchanged ones too; Wang et
al. (2021) attack all and add the changed ones.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from robustparse.api.attack_run import AttackRun
from robustparse.api.copies_file import CopiesFile, Keep, WrittenCopies
from robustparse.api.data_sources import DataFile
from robustparse.api.inputs import file_names
from robustparse.attacks.attack import Attack
from robustparse.attacks.constraints.similarity import TextSimilarity
from robustparse.data.fractions import draw_fraction
from robustparse.errors import InputError, say
from robustparse.evaluation.attack_log import attack_card
from robustparse.evaluation.dataset_folder import Card
from robustparse.evaluation.example_records import read_records
from robustparse.evaluation.finished_folders import read_adversarial, read_run
from robustparse.evaluation.perturbed import Copy, idle, perturbed
from robustparse.evaluation.records import EXAMPLES, data_name
from robustparse.files.paths import Sources, with_home
from robustparse.perturbations.perturbation import Perturbation, check_operations
from robustparse.tasks.registry import named, task_of
from robustparse.tasks.task import Task
from robustparse.types import Example

_ABOUT = (
    "`robustparse augment` changed these sentences; `perturbed` stands next to its `original`. "
    "`answer` is the gold answer to the original sentence."
)

TRIES = 5
"""How often operations are drawn for a sentence until a copy keeps the gold answer."""


def augment(
    out: str | Path,
    data: Sources | DataFile,
    operations: Sequence[Perturbation],
    *,
    task: str | Task | None = None,
    similarity: TextSimilarity | None = None,
    keep: Keep = "changed",
    license: str | None = None,
    seed: int = 0,
) -> WrittenCopies:
    """Change sentences by operations, one drawn for each; write the copies and a summary.

    >>> augment("copies.conllu", "train.conllu", [Typos(), Casing()])  # doctest: +SKIP

    Args:
        out: the file of the copies, with the ending of the data.
        data: the training sentences: a file, or several, or ``"sample"``. A `DataFile` has a seed
            of its own, which is used instead of ``seed``.
        operations: objects of `robustparse.perturbations`.
        task: a name, or a model's ``task``, if the file name does not show it.
        similarity: see the option of ``robustparse augment``.
        keep: see the option of ``robustparse augment``.
        license: the licence of the sentences, for the card of a dataset of pairs, which is also
            written; None writes none.
        seed: the seed of all random choices.

    Raises:
        InputError: the file cannot be used, the name of the output does not fit the data, or
            nothing was changed.
    """
    check_operations(operations, "--operations")
    file = data
    if not isinstance(file, DataFile):
        file = DataFile(file_names(data) or (), seed, split="train")
    if task is None:
        task = task_of(file.names[0])
    kind = named(task) if isinstance(task, str) else task
    copies_file = CopiesFile(with_home(out), file, keep, license)
    copies_file.check(kind)
    examples, made = _copies(file, kind, operations, keep)
    copies = made if similarity is None else _similar(similarity, kind, examples, made)
    language = kind.answers.language
    settings = {
        "task": kind.name,
        **({} if language is None else {"language": language}),
        "operations": [operation.name for operation in operations],
        "seed": file.seed,
    }
    if similarity is not None:
        settings |= {"similarity": type(similarity).__name__, "measure": similarity.measure}
        settings |= {"minimum": similarity.minimum}
    counts = {
        "n_examples": len(examples),
        "n_without_copy": len(examples) - len(made),
        "n_dissimilar": len(made) - len(copies),
    }
    say(*kind.files.not_written(examples, file.name))
    by_id = {copy.example.id: copy.example for copy in copies}
    written = copies_file.write(
        kind,
        (
            (by_id.get(example.id, example), example.sentence.words, example.id in by_id)
            for example in examples
            if example.id in by_id or keep == "all"
        ),
        settings,
        None if license is None else _card(file, {**settings, **counts}, license),
        counts,
    )
    changed = Counter(copy.operation for copy in made)
    say(*idle({each.name: changed[each.name] for each in operations}, len(examples)))
    return written


def attacked_copies(
    copies_file: CopiesFile, run: AttackRun, attack: Attack
) -> WrittenCopies | None:
    """Attack sentences, or resume, and write the copies and a summary.

    Args:
        copies_file: the file to write.
        run: the attack, on the data of the file.
        attack: the attack of its recipe.

    Returns:
        None if another process writes.
    """
    summary = replace(run, check=copies_file.check).attacked(attack)
    if summary is None:
        return None
    task = named(summary["task"], summary.get("language"))
    records = list(read_records(run.folder / EXAMPLES))
    adversarial = read_adversarial(run.folder, task, records)
    copies = (
        (copy, record.get("read", record["tokens"]), bool(record["edited"]))
        for record, copy in zip(records, adversarial, strict=True)
        if record["edited"] or copies_file.keep == "all"
    )
    card = None
    if copies_file.license is not None:
        card = attack_card(summary, read_run(run.folder), _ABOUT, copies_file.license)
    return copies_file.write(task, copies, summary, card)


def _copies(
    file: DataFile, task: Task, operations: Sequence[Perturbation], keep: Keep
) -> tuple[list[Example], list[Copy]]:
    """Return sentences of a file, and a copy of each sentence that operations can change.

    If a fraction of the sentences is drawn, without a limit, and only changed copies are kept,
    further sentences of the file replace those without a copy (Huang et al. 2021).

    Raises:
        InputError: the file cannot be used, or a further sentence may be in another shard.
    """
    drawn = file.fraction < 1 and file.unit == "sentences" and file.limit is None
    replaced = drawn and keep == "changed"
    if file.shard is not None and replaced:
        raise InputError(
            "a sentence without a copy is replaced by another one, which may be in another shard",
            key="--shard",
            remedy="leave out --fraction, or set --keep all or --keep pairs",
        )
    examples = file.read(task)
    copies = [*perturbed(task, operations, examples, file.seed, tries=TRIES)]
    missing = len(examples) - len(copies) if replaced else 0
    corpus = replace(file, fraction=1.0).read(task) if missing else []
    while missing and len(examples) < len(corpus):
        fraction = min(1.0, (len(examples) + missing) / len(corpus))
        ids = {example.id for example in examples}
        positions = draw_fraction([1] * len(corpus), fraction, "sentences", file.seed)
        further = [corpus[at] for at in positions if corpus[at].id not in ids]
        more = [*perturbed(task, operations, further, file.seed, tries=TRIES)]
        examples = sorted([*examples, *further], key=lambda example: example.id)
        copies += more
        missing -= len(more)
    return examples, copies


def _similar(
    similarity: TextSimilarity, task: Task, examples: Sequence[Example], copies: Sequence[Copy]
) -> list[Copy]:
    """Return the copies that are similar enough to their originals."""
    originals = {each.id: " ".join(task.files.surface(each).words) for each in examples}
    measured = similarity.between(
        [" ".join(copy.text) for copy in copies], [originals[copy.example.id] for copy in copies]
    )
    enough = (measured >= similarity.minimum).tolist()
    return [copy for copy, is_similar in zip(copies, enough, strict=True) if is_similar]


def _card(file: DataFile, settings: dict[str, Any], license: str) -> Card:
    """Return the card of a dataset that operations made."""
    operations = ", ".join(settings["operations"])
    facts = {
        "data": f"{data_name(file.names)}, SHA-256 {file.digest() or 'unknown'}",
        "recipe": operations,
        "seed": file.seed,
    }
    title = f"Sentences changed by {operations}"
    return Card(title, _ABOUT, settings["task"], facts, settings, license)
