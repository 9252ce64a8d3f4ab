"""``robustparse evaluate``: score a checkpoint or another victim, also under perturbations."""

import json
import sys
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import torch

from robustparse import __version__
from robustparse.api.inputs import Paths, system_name
from robustparse.api.sources import Checkpoints, DataFile, command_source
from robustparse.api.tables import pairs_table, score_table, terminal
from robustparse.data.datamodule import MAX_LENGTH
from robustparse.errors import InputError
from robustparse.evaluation.clean import predictions, scores_of, write_answers
from robustparse.evaluation.lines import SCORES
from robustparse.evaluation.pairs import (
    checked_pairs,
    pair_outcomes,
    pairs_report,
    rows_of_pairs,
)
from robustparse.evaluation.perturbed import idle, perturbed_answers, perturbed_scores, rows_of
from robustparse.evaluation.rows import PERTURBED, write_answers_of_rows, write_perturbed_rows
from robustparse.files import make_folder, write_text
from robustparse.metrics import PunctuationPolicy
from robustparse.models.load import Decoder
from robustparse.models.scores import Mean
from robustparse.models.victim import Precision
from robustparse.perturbations.perturbation import Perturbation
from robustparse.tasks.task import MOST_LISTED, ending_for
from robustparse.types import Example
from robustparse.victims.black_box import BlackBox


def evaluate(
    data: str,
    checkpoint: Paths | None = None,
    victim: BlackBox | None = None,
    out: str | None = None,
    punctuation: PunctuationPolicy = "none",
    limit: int | None = None,
    seed: int = 0,
    decoder: Decoder | None = None,
    beam: int | None = None,
    device: str = "auto",
    precision: Precision = "32-true",
    mean: Mean = "probabilities",
    max_length: int = MAX_LENGTH,
    columns: list[str] | None = None,
    perturbed: list[Perturbation] | None = None,
    perturbed_files: str | None = None,
    list_all: bool = False,
    hypothesis_only: str | None = None,
    victim_settings: dict[str, Any] | None = None,
) -> None:
    """Score a checkpoint, or a --victim, on a data file.

    Args:
        data: a data file, or ``sample`` for the embedded test sentences.
        checkpoint: the model to score: a path; several paths make one ensemble.
        victim: a class to score instead of a checkpoint, such as robustparse.victims.Spacy or a
            class of your own.
        out: folder for scores.json and the answers: predictions in the format of the data,
            answers.jsonl, and perturbed.jsonl for perturbed sentences.
        punctuation: which punctuation is left out of the scores. For files of an attack choose none
            or penn: unicode would depend on the words that the attack inserted.
        limit: score only the first LIMIT sentences.
        seed: seed of the perturbations' random choices and of the embedded sample.
        decoder: the decoder of a parser, instead of the one it was trained with.
        beam: hypotheses that beam search keeps, instead of as many as in training.
        device: where the model computes: auto, cpu or cuda.
        precision: precision of all passes of the model; bf16-mixed is faster on processors with
            bfloat16 products, and may change a few answers.
        mean: what the models of an ensemble average: probabilities, or logits, which amounts to
            the geometric mean of their probabilities.
        max_length: words in the longest allowed sentence; a longer one is an error.
        columns: for texts in tables, the names of the columns of text and answer, such as
            '[review, stars]'; by default those of the model's training data, or usual names.
        perturbed: also score the data under each of these operations, such as ``typos,final_stop``;
            or a folder of perturbed texts, as for ``--perturbed_files``.
        perturbed_files: folder of perturbed texts, a file OPERATION.tsv for each operation, with
            the columns perturbed text, original, answer.
        list_all: list all lines that a warning is about, not only the first 20.
        hypothesis_only: for pairs, a checkpoint that reads only the hypothesis; its scores show how
            often the label is clear without the premise (Gururangan et al. 2018).
        victim_settings: the settings of the victim; set by the command line.
    """
    source = command_source(checkpoint, victim_settings, decoder, beam, precision, mean)
    opened, names = source.open(device), source.names
    file = DataFile(data, seed, limit, max_length=max_length, columns=columns)
    examples = file.examples(opened, punctuation)
    _warn(opened.warnings(examples, data, punctuation, None if list_all else MOST_LISTED))
    folder = None if out is None else make_folder(Path(out))
    pairs = None if perturbed_files is None else checked_pairs(opened, perturbed_files, examples)
    answers, task = list(predictions(opened, examples)), opened.task
    scores = scores_of(task, answers, examples, punctuation)
    noisy_answers = [*perturbed_answers(opened, examples, answers, perturbed or [], seed)]
    noisy = perturbed_scores(task, examples, noisy_answers, punctuation)
    for each in noisy_answers:
        _warn(idle({each.operation: len(each.copies)}, len(examples)))
    blind = {} if hypothesis_only is None else _blind(hypothesis_only, device, examples)
    outcomes = {} if pairs is None else pair_outcomes(opened, pairs)
    reworded = pairs_report(outcomes) if outcomes else {}
    if folder is not None:
        _warn(task.not_written(examples, data))
        write_answers(folder / f"predictions{ending_for(task, examples)}", task, examples, answers)
        write_answers_of_rows(folder, task, examples, answers, punctuation)
        (folder / PERTURBED).unlink(missing_ok=True)  # of an earlier run
        if noisy or outcomes:
            rows = chain(rows_of(opened, examples, answers, noisy_answers), rows_of_pairs(outcomes))
            write_perturbed_rows(folder, task, rows, punctuation)
        about = {"task": task.name, "checkpoints": names, "data": data, "punctuation": punctuation}
        more = source.settings | ({"seed": seed, "perturbed": noisy} if noisy else {})
        more |= {"hypothesis_only": {"checkpoint": hypothesis_only, **blind}} if blind else {}
        write_scores(folder / SCORES, {**about, **_counts(examples), **scores, **more, **reworded})
    _print({system_name(names): scores, "hypothesis only": blind, **noisy}, reworded)


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
