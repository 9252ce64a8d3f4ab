"""``robustparse evaluate``: clean scores of a checkpoint on a data file."""

import json
import sys
from collections.abc import Iterable, Sequence
from itertools import tee
from pathlib import Path

import torch
from rich.console import Console

from robustparse import __version__
from robustparse.cli.common.inputs import (
    instantiate_options,
    load_examples,
    load_parser,
    options_of,
    parse_options,
    remarks_on,
)
from robustparse.cli.common.tables import score_table
from robustparse.data.datamodule import MAX_LENGTH
from robustparse.evaluation.clean import predictions, scores_of
from robustparse.files import make_folder, write_text, written
from robustparse.metrics import PunctuationPolicy
from robustparse.models.dependency.decoders import Decoder
from robustparse.models.victim import Precision
from robustparse.tasks.task import Task
from robustparse.types import Example, Prediction


def evaluate(
    checkpoint: str,
    data: str,
    out: str | None = None,
    punctuation: PunctuationPolicy = "none",
    limit: int | None = None,
    seed: int = 0,
    decoder: Decoder | None = None,
    device: str = "auto",
    precision: Precision = "32-true",
    max_length: int = MAX_LENGTH,
) -> None:
    """Score a checkpoint on a data file.

    Args:
        checkpoint: the parser.
        data: a CoNLL-U or CoNLL-X file, or ``sample`` for the embedded test sentences.
        out: folder for scores.json and predictions.conllu (or .conllx).
        punctuation: which words count; ``none`` leaves none out. For files of an attack take none
            or penn: unicode would judge the forms that were put in.
        limit: score only so many sentences, from the front.
        seed: of the sample's grammar.
        decoder: instead of the one the parser was trained with.
        device: where the parser computes: auto, cpu or cuda.
        precision: of the parser's passes; bf16-mixed is faster on processors with bfloat16
            products, and may move a head here and there.
        max_length: longest allowed sentence of the data, in words; a longer one is an error.
    """
    module = load_parser(checkpoint, decoder, device)
    examples = load_examples(data, limit, seed, module, max_length, punctuation=punctuation)
    for remark in remarks_on(examples, data, module, punctuation):
        print(f"robustparse: {remark}", file=sys.stderr)
    folder = None if out is None else make_folder(Path(out))
    scored, kept = tee(predictions(module, examples, precision=precision), 2)
    task = module.task
    scores = scores_of(task, scored, examples, punctuation)
    if folder is not None:
        _write_answers(folder / f"predictions{task.ending(data)}", task, examples, kept)
        report = {
            "task": task.name,
            "checkpoint": checkpoint,
            "data": data,
            "punctuation": punctuation,
            "decoder": decoder,
            "precision": precision,
            "n_sentences": len(examples),
            "n_words": sum(len(example.sentence) for example in examples),
            **scores,
            "versions": {"robustparse": __version__, "torch": str(torch.__version__)},
        }
        write_text(folder / "scores.json", json.dumps(report, indent=2) + "\n")
    Console().print(score_table({Path(checkpoint).stem: scores}))


def _write_answers(
    path: Path, task: Task, examples: Sequence[Example], predictions: Iterable[Prediction]
) -> None:
    answers = {prediction.id: prediction.answer for prediction in predictions}
    with written(path) as file:
        file.writelines(task.write(each, answer=answers[each.id]) for each in examples)


def command(arguments: Sequence[str]) -> None:
    """Parse options and run."""
    parser = options_of(evaluate, "evaluate")
    evaluate(**instantiate_options(parser, parse_options(parser, arguments)))
