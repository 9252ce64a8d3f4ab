"""``robustparse evaluate``: score a checkpoint or another victim, also under perturbations."""

import json
import sys
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import torch

from robustparse import __version__
from robustparse.api.inputs import system_name
from robustparse.api.sources import Checkpoints
from robustparse.api.tables import pairs_table, score_table, service_note, terminal
from robustparse.attacks.victim import CountingVictim
from robustparse.cli.options import ShardedDataOptions, VictimOptions
from robustparse.errors import InputError
from robustparse.evaluation.clean import (
    predictions,
    scores_by_class,
    scores_of,
    write_answers,
)
from robustparse.evaluation.pairs import (
    checked_pairs,
    pair_outcomes,
    pairs_report,
    rows_of_pairs,
)
from robustparse.evaluation.perturbed import idle, perturbed_answers, perturbed_scores, rows_of
from robustparse.evaluation.records import SCORES
from robustparse.evaluation.rows import PERTURBED, write_answers_of_rows, write_perturbed_rows
from robustparse.files import make_folder, write_text
from robustparse.metrics import PunctuationPolicy
from robustparse.perturbations.perturbation import Perturbation
from robustparse.types import Example


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
        punctuation: which punctuation is left out of the scores. For files of an attack choose none
            or penn: unicode would depend on the words that the attack inserted.
        seed: seed of the perturbations' random choices and of the embedded sample.
        perturbed: also score the data under each of these operations, such as ``typos,final_stop``;
            or a folder of perturbed texts, as for ``--perturbed_files``.
        perturbed_files: folder of perturbed texts, a file OPERATION.tsv for each operation, with
            the columns perturbed text, original, answer.
        hypothesis_only: for pairs, a checkpoint that reads only the hypothesis; its scores show how
            often the label is clear without the premise (Gururangan et al. 2018).
    """
    source, name = victim.source(), data.data
    opened, names = source.open(victim.device), source.names
    examples = data.file(seed).examples(opened, punctuation)
    _warn(opened.warnings(examples, name, punctuation))
    folder = None if out is None else make_folder(Path(out))
    pairs = None if perturbed_files is None else checked_pairs(opened, perturbed_files, examples)
    answers, task = list(predictions(opened, examples)), opened.task
    scores = scores_of(task, answers, examples, punctuation)
    noisy_answers = [*perturbed_answers(opened, examples, answers, perturbed or [], seed)]
    noisy = perturbed_scores(task, examples, noisy_answers, punctuation)
    for each in noisy_answers:
        _warn(idle({each.operation: len(each.copies)}, len(examples)))
    blind = {} if hypothesis_only is None else _blind(hypothesis_only, victim.device, examples)
    outcomes = {} if pairs is None else pair_outcomes(opened, pairs)
    reworded = pairs_report(outcomes) if outcomes else {}
    service = opened.counts() if isinstance(opened, CountingVictim) else {}
    if folder is not None:
        _warn(task.files.not_written(examples, name))
        predicted = folder / f"predictions{task.files.ending_for(examples)}"
        write_answers(predicted, task, examples, answers)
        write_answers_of_rows(folder, task, examples, answers, punctuation)
        (folder / PERTURBED).unlink(missing_ok=True)  # of an earlier run
        if noisy or outcomes:
            rows = chain(rows_of(opened, examples, answers, noisy_answers), rows_of_pairs(outcomes))
            write_perturbed_rows(folder, task, rows, punctuation)
        about = {"task": task.name, "checkpoints": names, "data": name, "punctuation": punctuation}
        more = source.settings | ({"seed": seed, "perturbed": noisy} if noisy else {})
        classes = scores_by_class(task, answers, examples, punctuation)
        more |= {"by_class": classes} if classes else {}
        more |= {"service": service} if service else {}
        more |= {"hypothesis_only": {"checkpoint": hypothesis_only, **blind}} if blind else {}
        write_scores(folder / SCORES, {**about, **_counts(examples), **scores, **more, **reworded})
    _print({system_name(names): scores, "hypothesis only": blind, **noisy}, reworded)
    if service:
        print(f"robustparse: {system_name(names)}: {service_note(service)}", file=sys.stderr)


def _print(rows: dict[str, Any], pairs: dict[str, Any]) -> None:
    """Print all scores that were computed."""
    terminal().print(score_table({name: row for name, row in rows.items() if row}))
    if pairs:
        terminal().print(pairs_table(**pairs))


def _warn(warnings: Iterable[str]) -> None:
    for warning in warnings:
        print(f"robustparse: {warning}", file=sys.stderr)


def write_scores(path: Path, report: dict[str, Any]) -> None:
    """Write scores and the versions of the libraries."""
    versions = {"robustparse": __version__, "torch": str(torch.__version__)}
    write_text(path, json.dumps({**report, "versions": versions}, indent=2) + "\n")


def _counts(examples: Sequence[Example]) -> dict[str, int]:
    """Return how many sentences and words were scored."""
    words = sum(len(example.sentence) for example in examples)
    return {"n_sentences": len(examples), "n_words": words}


def _blind(checkpoint: str, device: str, examples: Sequence[Example]) -> dict[str, float | None]:
    """Return the scores of a classifier that reads only the hypotheses of pairs."""
    victim, key = Checkpoints([checkpoint]).open(device), "--hypothesis_only"
    if victim.model.reads_pairs:
        found = f"{type(victim.model).__name__} reads both texts"
        raise InputError(found, key=key, expected="a checkpoint of a classifier of single texts")
    if not all(example.sentence.context for example in examples):
        raise InputError("the data are not pairs", key=key, remedy="leave it out")
    return scores_of(victim.task, predictions(victim, examples), examples, "none")
