"""``robustparse evaluate``: score a checkpoint or another victim, also under perturbations."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Self

from robustparse.api.data_sources import DataFile
from robustparse.api.inputs import digest, system_name
from robustparse.api.printed_tables import pairs_table, print_table, score_table, service_note
from robustparse.api.victim_sources import Checkpoints
from robustparse.attacks.victim import counts_of
from robustparse.cli.options import ShardedDataOptions, VictimOptions, check_distinct
from robustparse.data.columns import columns_of
from robustparse.data.read_options import FileUse
from robustparse.errors import InputError, say
from robustparse.evaluation.accumulator import Sums
from robustparse.evaluation.clean import (
    AnsweringVictim,
    predictions,
    scored,
    sums_of,
)
from robustparse.evaluation.evaluated import evaluated
from robustparse.evaluation.pairs import (
    PairOutcome,
    PerturbedPair,
    checked_pairs,
    pair_outcomes,
    pairs_report,
)
from robustparse.evaluation.perturbed import (
    Perturbed,
    idle,
    perturbed_answers,
    perturbed_sums,
    rows_of,
)
from robustparse.evaluation.records import SCORES, versions
from robustparse.evaluation.rows import (
    ANSWERS,
    PERTURBED,
    write_answers_of_rows,
    write_perturbed_rows,
)
from robustparse.evaluation.shards import remove_record, write_shard
from robustparse.files.output_folders import make_folder
from robustparse.files.writing import write_json, write_pieces, written
from robustparse.metrics import PunctuationPolicy
from robustparse.perturbations.perturbation import Perturbation
from robustparse.tasks.task import Task
from robustparse.types import Example, Prediction


def evaluate(
    data: ShardedDataOptions,
    victim: VictimOptions,
    out: str | None = None,
    punctuation: PunctuationPolicy = "none",
    seed: int = 0,
    perturbed: list[Perturbation] | None = None,
    perturbed_files: str | None = None,
    hypothesis_only: str | None = None,
) -> None:
    """Score a checkpoint, or a --victim, on a data file.

    Args:
        data: the sentences.
        victim: the model to score.
        out: folder for scores.json and the answers: predictions in the format of the data,
            answers.jsonl, and perturbed.jsonl for perturbed sentences.
        punctuation: which punctuation is left out of the scores. For attacked data choose none or
            penn: unicode would count inserted words.
        seed: seed of the perturbations' random choices and of the built-in sample.
        perturbed: also score the data under each of these operations, such as ``typos,final_stop``;
            or a folder of perturbed texts, as for ``--perturbed_files``.
        perturbed_files: folder of perturbed texts, a file OPERATION.tsv for each operation, with
            the columns perturbed text, original, answer.
        hypothesis_only: for pairs, a checkpoint that reads only the hypothesis; its scores show how
            often the label is clear without the premise (Gururangan et al. 2018).
    """
    names = [operation.name for operation in perturbed or []]
    check_distinct("--perturbed", names)
    source, file = victim.source(), data.file(seed)
    _check_shard(file, out, perturbed_files)
    opened = source.open(victim.device)
    examples = file.examples(opened, punctuation)
    say(*opened.warnings(examples, FileUse(file.name, punctuation)))
    folder = None if out is None else make_folder(Path(out))
    if folder is not None:
        remove_record(folder)
    pairs = None if perturbed_files is None else checked_pairs(opened, perturbed_files, examples)
    hypotheses: Sums = {}
    if hypothesis_only is not None:
        hypotheses = _hypothesis_sums(hypothesis_only, victim.device, examples)
    answers = _Answers.from_victim(opened, examples, perturbed or [], pairs, seed)
    sums = answers.sums(punctuation, hypotheses)
    run: dict[str, Any] = {
        "about": {
            "task": opened.task.name,
            "checkpoints": source.names,
            "data": file.recorded,
            "punctuation": punctuation,
        },
        "settings": source.settings,
        "seed": seed,
        "hypothesis_only": hypothesis_only,
        "operations": names,
    }
    pair_scores = pairs_report(answers.outcomes) if answers.outcomes else {}
    scores = evaluated(opened.task, run, sums, pair_scores)
    if folder is not None:
        say(*opened.task.files.not_written(examples, file.name))
        heads = answers.write(folder, punctuation)
        write_json(folder / SCORES, {**scores, "versions": versions()})
        if file.shard is not None:
            digests = {**source.digests(), "data": file.digest()}
            digests |= {"hypothesis_only": digest(hypothesis_only)} if hypothesis_only else {}
            data_settings = {"limit": file.limit, "columns": columns_of(examples)}
            settings = {**run, **data_settings, "sha256": digests}
            blocks = {PERTURBED: len(examples)} if names else {}
            shard = str(file.shard)
            write_shard(folder, "evaluate", shard, opened.task, settings, sums, heads, blocks)
    _print(system_name(source.names), opened.task, scores, sums, pair_scores)


def _check_shard(file: DataFile, out: str | None, perturbed_files: str | None) -> None:
    """Check that a shard has a folder and no ready-made perturbed texts."""
    if file.shard is not None and out is None:
        raise InputError("is missing", key="--out", remedy="name a folder for the shard")
    if file.shard is not None and perturbed_files is not None:
        problem, remedy = "is scored as a whole", "leave it out, or score without --shard"
        raise InputError(problem, key="--perturbed_files", remedy=remedy)


@dataclass(frozen=True)
class _Answers:
    """The answers of a victim.

    Attributes:
        victim: the victim.
        examples: the sentences.
        clean: the answers to them.
        noisy: the answers under each operation.
        outcomes: the answers to each file of perturbed texts.
        service: the numbers of requests to a service.
    """

    victim: AnsweringVictim
    examples: Sequence[Example]
    clean: Sequence[Prediction]
    noisy: Sequence[Perturbed]
    outcomes: Mapping[str, Sequence[PairOutcome]]
    service: Mapping[str, int]

    @classmethod
    def from_victim(
        cls,
        victim: AnsweringVictim,
        examples: Sequence[Example],
        operations: Sequence[Perturbation],
        pairs: Mapping[str, Sequence[PerturbedPair]] | None,
        seed: int,
    ) -> Self:
        """Ask the victim; warn of operations that change few sentences."""
        before = counts_of(victim)  # with --engine, it may have scored another shard
        clean = list(predictions(victim, examples))
        noisy = [*perturbed_answers(victim, examples, clean, operations, seed)]
        for each in noisy:
            say(*idle({each.operation: len(each.copies)}, len(examples)))
        outcomes = {} if pairs is None else pair_outcomes(victim, pairs)
        service = {name: n - before.get(name, 0) for name, n in counts_of(victim).items()}
        return cls(victim, examples, clean, noisy, outcomes, service)

    def sums(self, punctuation: PunctuationPolicy, hypotheses: Sums) -> Sums:
        """Return the sums from which `evaluated` computes scores."""
        task, examples, clean = self.victim.task, self.examples, self.clean
        return {
            "sentences": len(examples),
            "words": sum(len(example.sentence) for example in examples),
            "clean": sums_of(task, clean, examples, punctuation),
            "classes": sums_of(task, clean, examples, punctuation, by_class=True),
            "perturbed": perturbed_sums(task, examples, self.noisy, punctuation),
            "hypothesis_only": hypotheses,
            "service": self.service,
        }

    def write(self, folder: Path, punctuation: PunctuationPolicy) -> dict[str, str]:
        """Write the answers into a folder; return the heads of the files by name."""
        task, examples = self.victim.task, self.examples
        predicted = f"predictions{task.files.ending_for(examples)}"
        answers = {each.id: each.answer for each in self.clean}
        with written(folder / predicted) as file:
            pieces = task.files.write_all((each, None, answers[each.id]) for each in examples)
            heads = {predicted: write_pieces(file, pieces), ANSWERS: ""}
        write_answers_of_rows(folder, task, examples, self.clean, punctuation)
        (folder / PERTURBED).unlink(missing_ok=True)  # of an earlier run
        if self.noisy or self.outcomes:
            rows = rows_of(self.victim, examples, self.clean, self.noisy)
            reworded = (row.answers for of_file in self.outcomes.values() for row in of_file)
            write_perturbed_rows(folder, task, chain(rows, reworded), punctuation)
            heads[PERTURBED] = ""
        return heads


def _print(
    name: str, task: Task, scores: Mapping[str, Any], sums: Sums, pair_scores: Mapping[str, Any]
) -> None:
    """Print the scores of a system."""
    hypotheses, service = sums["hypothesis_only"], sums["service"]
    rows = {
        name: {each: scores[each] for each in (*task.scores.names, *task.scores.further)},
        "hypothesis only": scored(task, hypotheses) if hypotheses else {},
        **scores.get("perturbed", {}),
    }
    print_table(score_table({name: row for name, row in rows.items() if row}))
    if pair_scores:
        print_table(pairs_table(**pair_scores))
    if service:
        say(f"{name}: {service_note(service)}")


def _hypothesis_sums(checkpoint: str, device: str, examples: Sequence[Example]) -> Sums:
    """Sum the scores of a classifier that reads only the hypotheses."""
    victim, key = Checkpoints([checkpoint]).open(device), "--hypothesis_only"
    if victim.model.reads_pairs:
        problem = f"{type(victim.model).__name__} reads both texts"
        expected, remedy = "a classifier of single texts", "train one on the hypotheses"
        raise InputError(problem, key=key, expected=expected, remedy=remedy)
    if not all(example.sentence.context for example in examples):
        raise InputError("the data are not pairs", key=key, remedy="leave it out")
    return sums_of(victim.task, predictions(victim, examples), examples, "none")
