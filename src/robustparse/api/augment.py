"""Write changed copies of training sentences, as additional data.

`write_perturbed_copies` changes sentences by operations, which need no model.
`write_adversarial_copies` attacks a model: Zheng et al. (2020, section 3.4) attack a random half of
the training sentences and add every copy, the unchanged ones too; Wang et al. (2021) attack all and
add the changed ones.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from robustparse.api.attack_run import AttackRun
from robustparse.api.printed_tables import terminal
from robustparse.api.sources import DataFile
from robustparse.attacks.attack import Attack
from robustparse.attacks.constraints.similarity import TextSimilarity
from robustparse.data.datamodule import SAMPLE
from robustparse.data.fractions import draw_fraction
from robustparse.errors import InputError, say
from robustparse.evaluation.accumulator import Sums
from robustparse.evaluation.attack_log import attack_card
from robustparse.evaluation.dataset_folder import Card, write_dataset
from robustparse.evaluation.example_records import read_records
from robustparse.evaluation.finished_folders import read_adversarial, read_run
from robustparse.evaluation.perturbed import Copy, idle, perturbed
from robustparse.evaluation.records import EXAMPLES, Summary, data_name
from robustparse.evaluation.shards import remove_record, write_shard
from robustparse.files.output_folders import check_no_input
from robustparse.files.writing import write_json, write_pieces, written
from robustparse.metrics import percent
from robustparse.perturbations.perturbation import Perturbation
from robustparse.tasks.registry import named, pairs_of
from robustparse.tasks.task import Task
from robustparse.types import Example

Keep = Literal["changed", "all", "pairs"]
"""Which copies are written: changed ones, all, or pairs of a changed copy and its original."""

Copies = Iterable[tuple[Example, Sequence[str], bool]]
"""Copies, the words of their originals, and whether they are changed."""

_ABOUT = (
    "`robustparse augment` changed these sentences; `perturbed` stands next to its `original`. "
    "`answer` is the gold answer to the original sentence."
)

TRIES = 5
"""How often operations are drawn for a sentence until a copy keeps the gold answer."""


def write_perturbed_copies(
    out: Path,
    file: DataFile,
    task: Task,
    operations: Sequence[Perturbation],
    similarity: TextSimilarity | None = None,
    keep: Keep = "changed",
    license: str | None = None,
) -> None:
    """Change sentences by operations, one drawn for each sentence; write the copies and a summary.

    With ``changed``, sentences without a copy are replaced by further sentences of the file, as
    long as there are any (Huang et al. 2021).

    Args:
        out: the file of the copies.
        file: the file of the sentences.
        task: the task of their gold answers.
        operations: the operations to draw from.
        similarity: leaves out copies whose similarity to the original is below its minimum.
        keep: which copies to write.
        license: the licence of the sentences, to write pairs as a dataset, too (`dataset_beside`).

    Raises:
        InputError: the file cannot be used, the name of the output does not fit the data, or
            nothing was changed.
    """
    if not operations:
        raise InputError("names none", key="--operations", expected="at least one operation")
    check_output(out, file, task)
    check_pairs(keep, license)
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
    card = None if license is None else _card(file, {**made, **counts}, license)
    _write(
        out,
        file,
        keep,
        made,
        False,
        counts,
        card,
        (
            (by_id.get(example.id, example), example.sentence.words, example.id in by_id)
            for example in examples
            if example.id in by_id or keep == "all"
        ),
    )
    changed = Counter(copy.operation for copy in copies)
    say(*idle({each.name: changed[each.name] for each in operations}, len(examples)))
    without = f"{len(examples) - len(copies)} of {len(examples)} examples"
    text = f"{without} have no changed copy that keeps the gold answer"
    if similarity is not None:
        share = f"{percent(dissimilar, max(1, len(copies))):.1f} %"
        text += f"; {dissimilar} of {len(copies)} copies ({share}) left out: "
        text += f"similarity below {similarity.minimum:g}"
    terminal().print(text, soft_wrap=True)


def write_adversarial_copies(
    out: Path,
    file: DataFile,
    run: AttackRun,
    attack: Attack,
    keep: Keep = "changed",
    license: str | None = None,
) -> Summary | None:
    """Attack sentences, in a folder where the attack can resume; write the copies and a summary.

    Args:
        out: the file of the copies.
        file: the file of the sentences.
        run: the attack's folder, victim and settings.
        attack: the attack.
        keep: which copies to write.
        license: see `write_perturbed_copies`.

    Returns:
        The summary of the attack; None in a process that another one writes for.

    Raises:
        InputError: something cannot be used, or nothing was changed.
    """
    check_pairs(keep, license)
    summary = run.attacked(attack)
    if summary is not None:
        task = named(summary["task"], summary.get("language"))
        records = list(read_records(run.folder / EXAMPLES))
        copied = read_adversarial(run.folder, task, records)
        copies = (
            (copy, record.get("read", record["tokens"]), bool(record["edited"]))
            for record, copy in zip(records, copied, strict=True)
            if record["edited"] or keep == "all"
        )
        card = None
        if license is not None:
            card = attack_card(summary, read_run(run.folder), _ABOUT, license)
        _write(out, file, keep, summary, True, {}, card, copies)
    return summary


def check_output(out: Path, file: DataFile, task: Task) -> None:
    """Check that the name of the output fits the data's format and is not a data file.

    Raises:
        InputError: it does not fit, or is a data file.
    """
    expected = task.files.ending(file.names[0])
    if out.suffix.lower() != expected:
        raise InputError(
            f"copies of {file.name} are written in the format {expected}",
            path=out,
            key="--out",
            remedy=f"name a file that ends in {expected}",
        )
    if file.names != (SAMPLE,):
        check_no_input(out, file.names, key="--out")


def check_copies(out: Path, copies: int) -> None:
    """Check that there are copies.

    Raises:
        InputError: there is none.
    """
    if not copies:
        raise InputError(
            "nothing was changed, so there is no copy to write",
            path=out,
            remedy="choose other operations or another attack, or --keep all",
        )


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


def check_pairs(keep: Keep, license: str | None) -> None:
    """Reject a dataset of anything but pairs.

    Raises:
        InputError: a licence is given, but other copies are written.
    """
    if license is not None and keep != "pairs":
        problem, remedy = f"a dataset holds pairs, got --keep {keep}", "set --keep pairs"
        raise InputError(problem, key="--format", remedy=remedy)


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


def _write(
    out: Path,
    file: DataFile,
    keep: Keep,
    made: Mapping[str, Any],
    attacked: bool,
    examples: Mapping[str, int],
    card: Card | None,
    copies: Copies,
) -> None:
    """Write the copies, and a summary into a file next to them, see `summary_beside`.

    Args:
        out, file, keep: see `write_perturbed_copies`.
        made: the settings of the operations, or the summary of the attack.
        attacked: whether an attack made the copies; `merge` reads its summary from its folder.
        examples: counts of sentences with and without copies.
        card: the card of a dataset of the pairs, see `dataset_beside`; None to write none.
        copies: the copies.
    """
    task, rows = named(made["task"]), list[dict[str, Any]]()
    counts = {"n_copies": 0, "n_copied_words": 0, "n_changed": 0}

    def counted() -> Iterator[tuple[Example, Sequence[str]]]:
        for copy, original, changed in copies:
            copy = task.files.as_copy(copy)
            counts["n_copies"] += 1
            counts["n_copied_words"] += len(copy.sentence)
            counts["n_changed"] += changed
            if card is not None:
                rows.append(_row(copy, original))
            yield copy, original
        if file.shard is None:
            check_copies(out, counts["n_copies"])

    with written(out) as file_of_copies:
        remove_record(out)
        if keep == "pairs":
            pieces = pairs_of(task, "set --keep changed").pairs(counted())
        else:
            pieces = task.files.write_all((copy, None, None) for copy, _ in counted())
        head = write_pieces(file_of_copies, pieces)
    drawn = {
        "data": file.recorded,
        "fraction": file.fraction,
        "fraction_of": file.unit,
        "keep": keep,
    }
    sums = {"examples": examples, "copies": counts}
    write_json(summary_beside(out), copies_summary(made, drawn, sums))
    if file.shard is not None:
        run = {"attack": attacked, "made": {} if attacked else made, "drawn": drawn}
        run |= {"limit": file.limit, "columns": file.columns, "sha256": {"data": file.digest()}}
        write_shard(out, "augment", str(file.shard), task, run, sums, {"": head})
    terminal().print(f"{counts['n_copies']} copies in {out}", soft_wrap=True)
    if card is not None:
        for path in write_dataset(dataset_beside(out), rows, card):
            terminal().print(str(path), soft_wrap=True)


def _row(copy: Example, original: Sequence[str]) -> dict[str, Any]:
    """Return the row of a pair in a dataset."""
    context = copy.sentence.context
    return {
        "id": copy.id,
        **({"context": " ".join(context)} if context else {}),
        "original": " ".join(original),
        "perturbed": " ".join(filter(None, copy.sentence.words)),
        "answer": str(copy.gold),
    }


def copies_summary(made: Mapping[str, Any], drawn: Mapping[str, Any], sums: Sums) -> dict[str, Any]:
    """Return the content of the summary.

    Args:
        made: the settings of the operations, or the summary of the attack.
        drawn: the data, what was drawn of them, and which copies are kept.
        sums: counts of ``examples`` and ``copies``.
    """
    return {**made, **sums["examples"], **drawn, **sums["copies"]}


def attack_folder(out: Path) -> Path:
    """Return the folder of the attack that makes a file of copies."""
    return out.with_suffix(".attack")


def summary_beside(out: Path) -> Path:
    """Return the file of the summary of a file of copies."""
    return out.with_name(f"{out.name}.summary.json")


def dataset_beside(out: Path) -> Path:
    """Return the folder of the dataset of a file of pairs."""
    return out.with_suffix(".dataset")
