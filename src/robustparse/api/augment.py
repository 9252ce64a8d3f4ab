"""Write changed copies of training sentences, as additional data.

`write_perturbed_copies` changes sentences by operations, which need no model.
`write_adversarial_copies` attacks a model: Zheng et al. (2020, section 3.4) attack a random half of
the training sentences and add every copy, the unchanged ones too; Wang et al. (2021) attack all and
add the changed ones.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from robustparse.api.attack_run import AttackRun
from robustparse.api.copies_file import CopiesFile, Keep
from robustparse.api.data_sources import DataFile
from robustparse.api.printed_tables import terminal
from robustparse.attacks.attack import Attack
from robustparse.attacks.constraints.similarity import TextSimilarity
from robustparse.data.fractions import draw_fraction
from robustparse.errors import InputError, say
from robustparse.evaluation.attack_log import attack_card
from robustparse.evaluation.dataset_folder import Card
from robustparse.evaluation.example_records import read_records
from robustparse.evaluation.finished_folders import read_adversarial, read_run
from robustparse.evaluation.perturbed import Copy, idle, perturbed
from robustparse.evaluation.records import EXAMPLES, Summary, data_name
from robustparse.metrics import percent
from robustparse.perturbations.perturbation import Perturbation
from robustparse.tasks.registry import named
from robustparse.tasks.task import Task
from robustparse.types import Example

_ABOUT = (
    "`robustparse augment` changed these sentences; `perturbed` stands next to its `original`. "
    "`answer` is the gold answer to the original sentence."
)

TRIES = 5
"""How often operations are drawn for a sentence until a copy keeps the gold answer."""


def write_perturbed_copies(
    out: CopiesFile,
    task: Task,
    operations: Sequence[Perturbation],
    similarity: TextSimilarity | None = None,
) -> None:
    """Change sentences by operations, one drawn for each sentence; write the copies and a summary.

    If only changed copies are kept, of a fraction of the sentences and without a limit, sentences
    without a copy are replaced by further sentences of the file (Huang et al. 2021).

    Args:
        out: the file of the copies.
        task: the task of the gold answers.
        operations: the operations to draw from.
        similarity: leaves out copies whose similarity to the original is below its minimum.

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


def write_adversarial_copies(out: CopiesFile, run: AttackRun, attack: Attack) -> Summary | None:
    """Attack sentences, in a folder where the attack can resume; write the copies and a summary.

    Args:
        out: the file of the copies.
        run: the attack's folder, victim and settings.
        attack: the attack.

    Returns:
        The summary of the attack; None in a process that leaves the writing to another one.

    Raises:
        InputError: something cannot be used, or nothing was changed.
    """
    summary = run.attacked(attack)
    if summary is not None:
        task = named(summary["task"], summary.get("language"))
        records = list(read_records(run.folder / EXAMPLES))
        copied = read_adversarial(run.folder, task, records)
        copies = (
            (copy, record.get("read", record["tokens"]), bool(record["edited"]))
            for record, copy in zip(records, copied, strict=True)
            if record["edited"] or out.keep == "all"
        )
        card = None
        if out.license is not None:
            card = attack_card(summary, read_run(run.folder), _ABOUT, out.license)
        out.write(task, copies, summary, card)
    return summary


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
