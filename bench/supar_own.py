"""robustparse's side of ``vs_supar.py``, with the actions and options of ``supar_peer.py``.

    python bench/supar_own.py speed --train FILE --batch_words 5000 --steps 8 --precision bf16-mixed

What is timed is what a user's run does: batches from the data module, steps of a Lightning trainer,
and from a CoNLL-U file to a CoNLL-U file for parsing (greedy heads, repaired to single-root trees).
"""

import argparse
import json
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch
from numpy.typing import NDArray

from robustparse.data.batch import Batch, EncodedCorpus
from robustparse.data.conllu import read_treebank, write_treebank
from robustparse.data.datamodule import Batches
from robustparse.data.sampler import plan_batches
from robustparse.data.sentence_lines import with_parse
from robustparse.data.treebank_datamodule import TreebankDataModule
from robustparse.devices import chosen_device
from robustparse.evaluation.clean import predictions
from robustparse.models.dependency.biaffine import BiaffineParser
from robustparse.models.encoders.bilstm import LSTMEncoder
from robustparse.models.load import load
from robustparse.models.victim import ModelVictim

CLIP = 5.0


def chosen(plan: list[NDArray[np.int64]], number: int) -> list[NDArray[np.int64]]:
    """Batches of a plan in order of length, evenly from the shortest to the longest."""
    return [plan[(2 * place + 1) * len(plan) // (2 * number)] for place in range(number)]


class FewBatches:
    """Some of an epoch's batches, made when they are asked for, as ``TrainingLoader`` does."""

    def __init__(self, data: EncodedCorpus, plan: list[NDArray[np.int64]]) -> None:
        self.data, self.plan = data, plan

    def __len__(self) -> int:
        return len(self.plan)

    def __iter__(self) -> Iterator[Batch]:
        for batch in self.plan:
            yield self.data.batch(batch, float(self.data.lengths[batch].sum()))


class FewSteps(TreebankDataModule):
    """A treebank of which only some batches are trained on: a warm-up, then those measured."""

    def __init__(self, warmup: int, steps: int, **options: Any) -> None:
        super().__init__(**options)
        self.warmup, self.steps = warmup, steps

    def train_dataloader(self) -> FewBatches:  # type: ignore[override]
        """Return the chosen batches."""
        data = super().train_dataloader().data
        plan = plan_batches(data.lengths, self.batch_words, self.seed, epoch=0)
        plan.sort(key=lambda batch: data.lengths[batch].max())
        return FewBatches(data, chosen(plan, self.warmup) + chosen(plan, self.steps))


class Clock(pl.Callback):
    """When each step ended, by the wall's clock and by the processor's, and its words."""

    def __init__(self) -> None:
        self.ends: list[tuple[float, float]] = []
        self.words: list[int] = []

    def on_train_batch_end(
        self,
        trainer: pl.Trainer,
        pl_module: pl.LightningModule,
        outputs: Any,
        batch: Batch,
        batch_idx: int,
    ) -> None:
        """Note them."""
        if pl_module.device.type == "cuda":
            torch.cuda.synchronize()
        self.ends.append((time.perf_counter(), time.process_time()))
        self.words.append(int(batch.lengths.sum()))


def build(data: TreebankDataModule, seed: int) -> BiaffineParser:
    """Return the parser of SuPar's sizes: words, characters and tags, 3 x 400 BiLSTM, MLPs 500 and
    100.
    """
    encoder = LSTMEncoder(
        word_dim=100, character_dim=50, character_out=100, hidden=400, layers=3, tag_dim=100
    )
    vocabulary = data.vocabulary
    return BiaffineParser(encoder, arc_dim=500, label_dim=100, seed=seed, vocabulary=vocabulary)


def trainer(options: argparse.Namespace, epochs: int, *callbacks: pl.Callback) -> pl.Trainer:
    """One that only trains."""
    return pl.Trainer(
        accelerator="auto",
        precision=options.precision,
        max_epochs=epochs,
        gradient_clip_val=CLIP,
        limit_val_batches=0,
        num_sanity_val_steps=0,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=list(callbacks),
    )


def speed(options: argparse.Namespace) -> dict[str, Any]:
    """Training words a second over some batches, after a warm-up on others."""
    files = {"train_file": options.train, "batch_words": options.batch_words}
    data = FewSteps(options.warmup, options.steps, seed=options.seed, **files)
    clock = Clock()
    trainer(options, 1, clock).fit(build(data, options.seed), datamodule=data)
    words = sum(clock.words[options.warmup :])
    spent = zip(clock.ends[options.warmup - 1], clock.ends[-1], strict=True)
    seconds, cpu_seconds = (end - begin for begin, end in spent)
    rates = {"words_per_second": words / seconds, "words_per_cpu_second": words / cpu_seconds}
    return {**rates, "words": words, "steps": options.steps}


def fit(options: argparse.Namespace) -> dict[str, Any]:
    """Train for some epochs and keep the last weights."""
    data = TreebankDataModule(
        train_file=options.train, batches=Batches(words=options.batch_words), seed=options.seed
    )
    run = trainer(options, options.epochs)
    parser = build(data, options.seed)
    begin = time.perf_counter()
    run.fit(parser, datamodule=data)
    seconds = time.perf_counter() - begin
    run.save_checkpoint(options.model)
    return {"steps": run.global_step, "seconds": seconds}


def parse(options: argparse.Namespace) -> dict[str, Any]:
    """Parse files into files; sentences a second of the last, the others warm up."""
    parser = load(options.model)
    parser.to(chosen_device("device", "auto"))
    for source, target in zip(options.data, options.out, strict=True):
        begin, begin_cpu = time.perf_counter(), time.process_time()
        examples = read_treebank(source)
        middle = time.perf_counter()
        parses = predictions(ModelVictim([parser], options.precision), examples)
        trees = {each.id: each.answer for each in parses}
        inner = time.perf_counter() - middle
        write_treebank(target, (with_parse(each.block, trees[each.id]) for each in examples))
        seconds, cpu = time.perf_counter() - begin, time.process_time() - begin_cpu
    return {
        "sentences": len(examples),
        "sentences_per_cpu_second": len(examples) / cpu,
        "sentences_per_second": len(examples) / seconds,
        "sentences_per_second_without_files": len(examples) / inner,
    }


def main() -> None:
    """One JSON object as the last line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("action", choices=["speed", "fit", "parse"])
    parser.add_argument("--train", help="the training file")
    parser.add_argument("--precision", default="32-true", help="Lightning's name")
    parser.add_argument("--batch_words", type=int, default=5000)
    parser.add_argument("--warmup", type=int, default=2)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--data", nargs="*", default=[])
    parser.add_argument("--out", nargs="*", default=[])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    warnings.filterwarnings("ignore", module="pytorch_lightning")
    torch.set_num_threads(options.threads)
    print(json.dumps({"speed": speed, "fit": fit, "parse": parse}[options.action](options)))


if __name__ == "__main__":
    main()
