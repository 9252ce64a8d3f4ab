"""``robustparse.evaluate``, ``read`` and ``sample``: sentences, and scores on them."""

from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from robustparse.api.attack import Examples, Victims, victim_source
from robustparse.api.data_sources import DataFile, data_source, examples_for
from robustparse.api.inputs import check_same_kind, data_files, digest, file_names, system_name
from robustparse.api.results import Scores
from robustparse.api.victim_sources import Checkpoints, VictimSource
from robustparse.attacks.victim import counts_of
from robustparse.data.columns import columns_of
from robustparse.data.datamodule import SAMPLE
from robustparse.data.read_options import ReadOptions
from robustparse.errors import InputError, say
from robustparse.evaluation.accumulator import Sums
from robustparse.evaluation.clean import predictions, scores_of, sums_of
from robustparse.evaluation.evaluated import evaluated
from robustparse.evaluation.pairs import checked_pairs, pair_outcomes, pairs_report
from robustparse.evaluation.perturbed import idle, perturbed_answers, perturbed_sums, rows_of
from robustparse.evaluation.records import SCORES, versions
from robustparse.evaluation.rows import (
    ANSWERS,
    PERTURBED,
    PerturbedAnswers,
    write_answers_of_rows,
    write_perturbed_rows,
)
from robustparse.evaluation.shards import remove_record, write_shard
from robustparse.files.output_folders import make_folder
from robustparse.files.paths import Sources
from robustparse.files.writing import write_json, write_pieces, written
from robustparse.metrics import PunctuationPolicy
from robustparse.perturbations.perturbation import Perturbation
from robustparse.tasks.registry import named, other_task
from robustparse.tasks.task import Task
from robustparse.types import Example, Prediction


def read(
    path: Sources,
    task: str | Task = "dependency",
    max_length: int | None = None,
    columns: Sequence[str] | None = None,
) -> list[Example]:
    """Read the examples of a file, or of several as of one file that joins them.

    Args:
        path: the file, or several of one kind; patterns such as ``part-*.tsv`` name the files that
            they match.
        task: the kind of its answers: a name, or a model's ``task``.
        max_length: words in the longest allowed sentence; None allows any.
        columns: for texts in tables, the names of the columns of text and answer, if they are
            unusual.

    Raises:
        InputError: the file cannot be used, and the error names the line; or the ending of its name
            belongs to another task.
    """
    names = file_names(path)
    if names is None:
        raise InputError(f"got {path!r:.60}", key="path", expected="a file, or several")
    files, kind = data_files(names), _task(task)
    check_same_kind(files)
    if (other := other_task(files[0], kind)) is not None:
        problem = f"got {kind.name}, to which files with this ending do not belong"
        remedy = f"give task={other.name!r}, or the task of your model"
        raise InputError(problem, path=files[0], key="task", remedy=remedy)
    return kind.files.read(files, ReadOptions(columns, max_length))


def sample(task: str | Task = "dependency", split: str = "test", *, seed: int = 0) -> list[Example]:
    """Make the examples of a split of the built-in data.

    Args:
        task: a name, or a model's ``task``.
        split: ``train``, ``dev`` or ``test``.
        seed: the seed of the grammar that generates them.
    """
    return _task(task).files.sample(seed, split)


def evaluate(
    victim: Victims,
    examples: Examples = SAMPLE,
    *,
    punctuation: PunctuationPolicy = "none",
    limit: int | None = None,
    device: str = "auto",
) -> Scores:
    """Score a victim on sentences.

    Args:
        victim: see `robustparse.attack`.
        examples: see `robustparse.attack`.
        punctuation: which punctuation is left out of the scores of parsers and taggers.
        limit: see `robustparse.attack`.
        device: see `robustparse.attack`.

    Raises:
        InputError: an argument cannot be used.
    """
    source = victim_source(victim)
    opened = source.open(device)
    data = data_source(examples, limit=limit)
    sentences = examples_for(opened, data, punctuation)
    answers = list(predictions(opened, sentences))
    scores = scores_of(opened.task, answers, sentences, punctuation)
    return Scores(system_name(source.names), scores, answers)


def scored_into(
    folder: Path | None,
    victim: VictimSource,
    data: DataFile,
    operations: Sequence[Perturbation],
    perturbed_files: str | None,
    hypothesis_only: str | None,
    punctuation: PunctuationPolicy,
    seed: int,
    device: str,
) -> tuple[Task, dict[str, Any]]:
    """Score a victim, also under perturbations; write the scores and the answers.

    Args:
        folder: the output folder; None writes nothing.
        victim: the source of the victim.
        data: the source of the sentences.
        operations: the operations under which the sentences are scored too.
        perturbed_files: a folder of perturbed texts, see `checked_pairs`.
        hypothesis_only: a checkpoint that reads only the hypotheses of pairs.
        punctuation: which punctuation is left out of the scores.
        seed: the seed of the perturbations.
        device: where models compute.

    Returns:
        The task, and the scores as in ``scores.json``, without versions.
    """
    opened = victim.open(device)
    task, examples = opened.task, examples_for(opened, data, punctuation)
    if folder is not None:
        remove_record(make_folder(folder))
    pairs = {} if perturbed_files is None else checked_pairs(opened, perturbed_files, examples)
    hypotheses = _hypothesis_sums(hypothesis_only, device, examples)
    before = counts_of(opened)  # with --engine, it may have scored another shard
    clean = list(predictions(opened, examples))
    noisy = [*perturbed_answers(opened, examples, clean, operations, seed)]
    for under in noisy:
        say(*idle({under.operation: len(under.copies)}, len(examples)))
    outcomes = pair_outcomes(opened, pairs) if pairs else {}
    sums: Sums = {
        "sentences": len(examples),
        "words": sum(len(example.sentence) for example in examples),
        "clean": sums_of(task, clean, examples, punctuation),
        "classes": sums_of(task, clean, examples, punctuation, by_class=True),
        "perturbed": perturbed_sums(task, examples, noisy, punctuation),
        "hypothesis_only": hypotheses,
        "service": {name: n - before.get(name, 0) for name, n in counts_of(opened).items()},
    }
    about = {"task": task.name, "checkpoints": victim.names, "data": data.recorded}
    run: dict[str, Any] = {
        "about": {**about, "punctuation": punctuation},
        "settings": victim.settings,
        "seed": seed,
        "hypothesis_only": hypothesis_only,
        "operations": [operation.name for operation in operations],
    }
    scores = evaluated(task, run, sums, pairs_report(outcomes) if outcomes else {})
    if folder is None:
        return task, scores
    say(*task.files.not_written(examples, data.name))
    reworded = (row.answers for of_file in outcomes.values() for row in of_file)
    rows = chain(rows_of(opened, examples, clean, noisy), reworded) if noisy or outcomes else None
    heads = _write_answers(folder, task, examples, clean, rows, punctuation)
    write_json(folder / SCORES, {**scores, "versions": versions()})
    if data.shard is not None:
        digests = {**victim.digests(), "data": data.digest()}
        digests |= {"hypothesis_only": digest(hypothesis_only)} if hypothesis_only else {}
        run |= {"limit": data.limit, "columns": columns_of(examples), "sha256": digests}
        blocks = {PERTURBED: len(examples)} if operations else {}
        write_shard(folder, "evaluate", str(data.shard), task, run, sums, heads, blocks)
    return task, scores


def _hypothesis_sums(checkpoint: str | None, device: str, examples: Sequence[Example]) -> Sums:
    """Sum the scores of a classifier that reads only the hypotheses, if there is one."""
    if checkpoint is None:
        return {}
    victim, key = Checkpoints([checkpoint]).open(device), "--hypothesis_only"
    if victim.model.reads_pairs:
        problem = f"{type(victim.model).__name__} reads both texts"
        expected, remedy = "a classifier of single texts", "train one on the hypotheses"
        raise InputError(problem, key=key, expected=expected, remedy=remedy)
    if not all(example.sentence.context for example in examples):
        raise InputError("the data are not pairs", key=key, remedy="leave it out")
    return sums_of(victim.task, predictions(victim, examples), examples, "none")


def _write_answers(
    folder: Path,
    task: Task,
    examples: Sequence[Example],
    clean: Sequence[Prediction],
    perturbed: Iterable[PerturbedAnswers] | None,
    punctuation: PunctuationPolicy,
) -> dict[str, str]:
    """Write the answers into a folder; return the heads of the files by name."""
    predicted = f"predictions{task.files.ending_for(examples)}"
    answers = {each.id: each.answer for each in clean}
    with written(folder / predicted) as file:
        pieces = task.files.write_all((each, None, answers[each.id]) for each in examples)
        heads = {predicted: write_pieces(file, pieces), ANSWERS: ""}
    write_answers_of_rows(folder, task, examples, clean, punctuation)
    (folder / PERTURBED).unlink(missing_ok=True)  # of an earlier run
    if perturbed is not None:
        write_perturbed_rows(folder, task, perturbed, punctuation)
        heads[PERTURBED] = ""
    return heads


def _task(task: str | Task) -> Task:
    return named(task) if isinstance(task, str) else task
