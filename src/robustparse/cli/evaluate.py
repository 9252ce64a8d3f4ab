"""``robustparse evaluate``: scores of a checkpoint on a data file, as it is and perturbed."""

import json
import sys
from functools import partial
from pathlib import Path

import torch
from rich.console import Console

from robustparse import __version__
from robustparse.cli.common.inputs import Paths, as_list, load_examples, load_models
from robustparse.cli.common.tables import score_table
from robustparse.data.datamodule import MAX_LENGTH
from robustparse.evaluation.clean import predictions, scores_of, write_answers
from robustparse.evaluation.perturbed import perturbed_scores
from robustparse.files import make_folder, write_text
from robustparse.metrics import PunctuationPolicy
from robustparse.models.load import Decoder
from robustparse.models.victim import Precision
from robustparse.perturbations.perturbation import Perturbation


def evaluate(
    checkpoint: Paths,
    data: str,
    out: str | None = None,
    punctuation: PunctuationPolicy = "none",
    limit: int | None = None,
    seed: int = 0,
    decoder: Decoder | None = None,
    device: str = "auto",
    precision: Precision = "32-true",
    max_length: int = MAX_LENGTH,
    perturbed: list[Perturbation] | None = None,
) -> None:
    """Score a checkpoint on a data file.

    Args:
        checkpoint: the model; several are one ensemble.
        data: a data file, or ``sample`` for the embedded test sentences.
        out: folder for scores.json and the answers.
        punctuation: which words count; ``none`` leaves none out. For files of an attack take none
            or penn: unicode would judge the forms that were put in.
        limit: score only the first sentences, as many as this.
        seed: of the sample's grammar, and of what perturbations draw.
        decoder: instead of the one the model was trained with.
        device: where the model computes: auto, cpu or cuda.
        precision: of the model's passes; bf16-mixed is faster on processors with bfloat16
            products, and may change an answer here and there.
        max_length: longest allowed sentence of the data, in words; a longer one is an error.
        perturbed: score the data under each of these operations too, as ``typos,final_stop``.
    """
    checkpoints, models = as_list(checkpoint), load_models(checkpoint, decoder, device)
    module = models[0]
    examples = load_examples(data, limit, seed, module, max_length, punctuation=punctuation)
    for warning in module.warnings(examples, data, punctuation):
        print(f"robustparse: {warning}", file=sys.stderr)
    folder = None if out is None else make_folder(Path(out))
    answer, task = partial(predictions, models, precision=precision), module.task
    answers, again = list(answer(examples)), partial(answer, checked=False)
    scores = scores_of(task, answers, examples, punctuation)
    noisy = {
        one.name: perturbed_scores(task, again, examples, answers, one, seed, punctuation)
        for one in perturbed or ()
    }
    if folder is not None:
        write_answers(folder / f"predictions{task.ending(data)}", task, examples, answers)
        report = {
            **{"task": task.name, "checkpoints": checkpoints, "data": data},
            **{"punctuation": punctuation, "decoder": decoder, "precision": precision},
            "n_sentences": len(examples),
            "n_words": sum(len(example.sentence) for example in examples),
            **scores,
            **({"seed": seed, "perturbed": noisy} if noisy else {}),
            "versions": {"robustparse": __version__, "torch": str(torch.__version__)},
        }
        write_text(folder / "scores.json", json.dumps(report, indent=2) + "\n")
    Console().print(score_table({Path(checkpoints[0]).stem: scores, **noisy}))
