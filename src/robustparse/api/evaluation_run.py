"""The run of ``robustparse evaluate``: answers, scores and the files of a folder."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Self

from robustparse.api.data_sources import DataFile
from robustparse.api.inputs import digest
from robustparse.api.victim_sources import Checkpoints, VictimSource
from robustparse.attacks.victim import counts_of
from robustparse.data.columns import columns_of
from robustparse.data.read_options import FileUse
from robustparse.errors import InputError, say
from robustparse.evaluation.accumulator import Sums
from robustparse.evaluation.clean import AnsweringVictim, predictions, scored, sums_of
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
from robustparse.evaluation.records import SCORES, Percentages, versions
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


@dataclass(frozen=True)
class Evaluation:
    """The scores of a victim.

    Attributes:
        task: its task.
        scores: the content of ``scores.json`` without versions.
        hypothesis_only: the scores of a model that reads only the hypotheses; empty without one.
        service: the numbers of requests to a service.
        pairs: scores on ready-made perturbed texts; empty without them.
    """

    task: Task
    scores: Mapping[str, Any]
    hypothesis_only: Percentages
    service: Mapping[str, int]
    pairs: Mapping[str, Any]


@dataclass(frozen=True)
class EvaluationRun:
    """What is scored; see the command ``evaluate``.

    Args:
        source: the victim.
        data: the sentences.
        punctuation: which punctuation is left out of the scores.
        seed: the seed of the operations' random choices.
        operations: the operations under which the data are scored too.
        perturbed_files: a folder of ready-made perturbed texts.
        hypothesis_only: the checkpoint of a classifier that reads only the hypotheses.
    """

    source: VictimSource
    data: DataFile
    punctuation: PunctuationPolicy = "none"
    seed: int = 0
    operations: Sequence[Perturbation] = ()
    perturbed_files: str | None = None
    hypothesis_only: str | None = None

    def run(self, device: str, out: Path | None) -> Evaluation:
        """Ask the victim, compute its scores, and write them into a folder if one is given.

        Raises:
            InputError: the data, the victim or a setting cannot be used.
        """
        self._check_shard(out)
        victim = self.source.open(device)
        examples = self.data.examples(victim, self.punctuation)
        say(*victim.warnings(examples, FileUse(self.data.name, self.punctuation)))
        folder = None if out is None else make_folder(out)
        if folder is not None:
            remove_record(folder)
        files, hypotheses = self.perturbed_files, Sums()
        pairs = None if files is None else checked_pairs(victim, files, examples)
        if self.hypothesis_only is not None:
            hypotheses = _hypothesis_sums(self.hypothesis_only, device, examples)
        answers = _Answers.from_victim(victim, examples, self.operations, pairs, self.seed)
        sums = answers.sums(self.punctuation, hypotheses)
        pair_scores = pairs_report(answers.outcomes) if answers.outcomes else {}
        scores = evaluated(victim.task, self._settings(victim.task), sums, pair_scores)
        if folder is not None:
            say(*victim.task.files.not_written(examples, self.data.name))
            heads = answers.write(folder, self.punctuation)
            write_json(folder / SCORES, {**scores, "versions": versions()})
            if self.data.shard is not None:
                self._write_shard(folder, answers, sums, heads)
        of_hypotheses = scored(victim.task, hypotheses) if hypotheses else {}
        return Evaluation(victim.task, scores, of_hypotheses, answers.service, pair_scores)

    def _check_shard(self, out: Path | None) -> None:
        """Check that a shard has a folder and no ready-made perturbed texts."""
        if self.data.shard is not None and out is None:
            raise InputError("is missing", key="--out", remedy="name a folder for the shard")
        if self.data.shard is not None and self.perturbed_files is not None:
            problem, remedy = "is scored as a whole", "leave it out, or score without --shard"
            raise InputError(problem, key="--perturbed_files", remedy=remedy)

    def _settings(self, task: Task) -> dict[str, Any]:
        """Return the settings that `evaluated` reads."""
        return {
            "about": {
                "task": task.name,
                "checkpoints": self.source.names,
                "data": self.data.recorded,
                "punctuation": self.punctuation,
            },
            "settings": self.source.settings,
            "seed": self.seed,
            "hypothesis_only": self.hypothesis_only,
            "operations": [operation.name for operation in self.operations],
        }

    def _write_shard(
        self, folder: Path, answers: "_Answers", sums: Sums, heads: Mapping[str, str]
    ) -> None:
        """Write the record of a shard, with which `merge` joins it to others."""
        task, examples = answers.victim.task, answers.examples
        digests = {**self.source.digests(), "data": self.data.digest()}
        if self.hypothesis_only is not None:
            digests["hypothesis_only"] = digest(self.hypothesis_only)
        data_settings = {"limit": self.data.limit, "columns": columns_of(examples)}
        settings = {**self._settings(task), **data_settings, "sha256": digests}
        blocks = {PERTURBED: len(examples)} if self.operations else {}
        shard = str(self.data.shard)
        write_shard(folder, "evaluate", shard, task, settings, sums, heads, blocks)


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
