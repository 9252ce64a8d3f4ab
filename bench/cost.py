"""What a training step with each adversary costs, in clean steps, in one run.

    python bench/cost.py --folder UD_English-EWT --json

One Trainer trains one BiLSTM biaffine parser on one thread. Every batch comes once clean and once
with each adversary, in turn and in an order that rotates, so that the load of the machine and what
caches hold fall on all alike; a step's time is that between Lightning's hooks around it: the
passes, clipping and Adam. A figure is the median over the batches of (seconds with the adversary) /
(seconds clean), which is the cost of a clean word too.

Substitution attacks half of the batch: ``substitution`` as the shipped configuration does,
``zheng2020`` with their search within the default budget of 12 queries a sentence, and
``zheng2020_full`` with all of its queries. ``substitution_every_10th`` is nine clean steps and one.
``--encoder`` takes a pretrained encoder in place of the BiLSTM. ``substitution_masked_lm`` is
measured only with ``--masked_lm``, its candidates cached: the first round, which does not count,
asks for those of all later ones.
"""

import argparse
import copy
import json
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch
import yaml
from jsonargparse import ArgumentParser
from torch import Tensor

from robustparse.attacks.attack import Attack
from robustparse.attacks.candidates.training_words import TrainingWords
from robustparse.attacks.constraints.tagging.tags import AttackableTags
from robustparse.attacks.goals.attachment import AttachmentDrop
from robustparse.attacks.search.zheng2020 import Zheng2020
from robustparse.data.batch import Batch
from robustparse.data.treebank_datamodule import TreebankDataModule
from robustparse.defenses.pgd import PGD
from robustparse.defenses.substitution import SubstitutionAdversary
from robustparse.models.dependency.biaffine import BiaffineParser
from robustparse.models.encoders.base import Encoder
from robustparse.models.encoders.bilstm import LSTMEncoder
from robustparse.models.encoders.transformer import TransformerEncoder
from step import CLIP, chosen_batches

CLEAN, MASKED_LM = "clean", "substitution_masked_lm"
UNLIMITED = 1_000_000
DEFENSES = Path(__file__).resolve().parents[1] / "configs" / "defense"


def adversaries(masked_lm: str | None = None) -> dict[str, list[pl.Callback]]:
    """Return the adversaries that are measured, one more with a masked language model."""
    goal, tags = AttachmentDrop(), [AttackableTags()]
    papers = Attack(TrainingWords(sample=50), Zheng2020(ranking="random"), tags, goal=goal)
    full = Attack(TrainingWords(sample=50), Zheng2020(), tags, goal=goal)
    cached = {MASKED_LM: [shipped(MASKED_LM, masked_lm)]} if masked_lm else {}
    return {
        "fgm": [shipped("fgm")],
        "pgd3": [shipped("pgd")],
        "pgd3_random_start": [PGD(steps=3, random_start=True)],
        "freelb3": [shipped("freelb")],
        "substitution": [shipped("substitution")],
        "substitution_fgm": [shipped("substitution"), shipped("fgm")],
        **cached,
        "zheng2020": [SubstitutionAdversary(papers)],
        "zheng2020_full": [SubstitutionAdversary(full, budget=UNLIMITED)],
    }


def shipped(name: str, masked_lm: str = "") -> pl.Callback:
    """Return the adversary of a file in ``configs/defense``, a masked language model in it."""
    parser = ArgumentParser()
    parser.add_argument("--callback", type=pl.Callback)
    text = (DEFENSES / f"{name}.yaml").read_text("utf-8").replace("bert-base-uncased", masked_lm)
    (settings,) = yaml.safe_load(text)["trainer"]["callbacks+"]
    callback: pl.Callback = parser.instantiate(parser.parse_object({"callback": settings})).callback
    return callback


class Turned:
    """Every batch several times in a row, over several rounds."""

    def __init__(self, batches: list[Batch], times: int, rounds: int) -> None:
        self.batches, self.times, self.rounds = batches, times, rounds

    def __len__(self) -> int:
        return len(self.batches) * self.times * self.rounds

    def __iter__(self) -> Iterator[Batch]:
        for _ in range(self.rounds):
            for batch in self.batches:
                for _ in range(self.times):
                    yield copy.deepcopy(batch)  # an adversary may put other words into it


class Repeated(TreebankDataModule):
    """Some batches of a treebank, for several systems in turn."""

    def __init__(self, options: argparse.Namespace, systems: int) -> None:
        super().__init__(folder=options.folder)
        self.options, self.systems, self.batches = options, systems, list[Batch]()

    def train_dataloader(self) -> Turned:  # type: ignore[override]
        """Return the batches."""
        parser = self.trainer.lightning_module
        self.batches = chosen_batches(parser, self.train_examples, self.options)
        return Turned(self.batches, self.systems, 1 + self.options.rounds)


class Turns(pl.Callback):
    """Hands the hooks of each step to the adversary whose turn it is, and takes the time.

    Args:
        systems: the adversaries; clean steps have a turn too.
    """

    def __init__(self, systems: dict[str, list[pl.Callback]]) -> None:
        self.systems, self.names = systems, [CLEAN, *systems]
        self.seconds: list[dict[str, float]] = []
        self._turn, self._start = CLEAN, 0.0

    def on_fit_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Theirs, of all."""
        for system in self.systems.values():
            for callback in system:
                callback.on_fit_start(trainer, pl_module)

    def on_train_batch_start(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, batch: Any, batch_idx: int
    ) -> None:
        """Return the next one's turn."""
        group, place = divmod(batch_idx, len(self.names))
        if not place:
            self.seconds.append({})
        self._turn = self.names[(group + place) % len(self.names)]
        self._start = time.perf_counter()
        for callback in self.systems.get(self._turn, ()):
            callback.on_train_batch_start(trainer, pl_module, batch, batch_idx)

    def on_before_backward(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, loss: Tensor
    ) -> None:
        """Theirs."""
        for callback in self.systems.get(self._turn, ()):
            callback.on_before_backward(trainer, pl_module, loss)

    def on_after_backward(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Theirs."""
        for callback in self.systems.get(self._turn, ()):
            callback.on_after_backward(trainer, pl_module)

    def on_train_batch_end(
        self,
        trainer: pl.Trainer,
        pl_module: pl.LightningModule,
        outputs: Any,
        batch: Any,
        batch_idx: int,
    ) -> None:
        """Theirs, and the time."""
        for callback in self.systems.get(self._turn, ()):
            callback.on_train_batch_end(trainer, pl_module, outputs, batch, batch_idx)
        self.seconds[-1][self._turn] = time.perf_counter() - self._start


def measure(options: argparse.Namespace) -> dict[str, float]:
    """Cost of a step in clean ones by adversary, and clean words a second."""
    known = adversaries(options.masked_lm)
    turns = Turns({name: known[name] for name in options.adversaries or known})
    data = Repeated(options, len(turns.names))
    encoder: Encoder = LSTMEncoder(hidden=options.hidden, layers=options.layers)
    if options.encoder is not None:
        encoder = TransformerEncoder(options.encoder, pooling="mean", mix=4)
    parser = BiaffineParser(encoder, vocabulary=data.vocabulary)
    trainer = pl.Trainer(
        accelerator="cpu",
        devices=1,
        max_epochs=1,
        precision=options.precision,
        gradient_clip_val=CLIP,
        limit_val_batches=0,
        callbacks=[turns],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(parser, datamodule=data)
    measured = turns.seconds[len(data.batches) :]  # the first round warms up
    figures = {
        name: statistics.median(each[name] / each[CLEAN] for each in measured)
        for name in turns.systems
    }
    if "substitution" in figures:
        figures["substitution_every_10th"] = (9 + figures["substitution"]) / 10
    words = options.rounds * sum(int(batch.lengths.sum()) for batch in data.batches)
    return {**figures, "clean_words_per_second": words / sum(each[CLEAN] for each in measured)}


def main() -> None:
    """Print the figures; with ``--json`` as one object on the last line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", default="sample", help="a treebank's folder, or sample")
    parser.add_argument("--hidden", type=int, default=300, help="LSTM units a direction")
    parser.add_argument("--layers", type=int, default=2, help="LSTM layers")
    parser.add_argument("--encoder", help="a pretrained one, by name or folder")
    parser.add_argument("--masked_lm", help=f"of {MASKED_LM}, by name or folder")
    parser.add_argument("--adversaries", nargs="+", choices=[*adversaries(), MASKED_LM])
    parser.add_argument("--precision", default="32-true", help="of the Trainer, as bf16-mixed")
    parser.add_argument("--batch_words", type=int, default=2000, help="words a batch")
    parser.add_argument("--batches", type=int, default=6, help="batches, from short to long")
    parser.add_argument("--rounds", type=int, default=3, help="rounds over them, after a first")
    parser.add_argument("--json", action="store_true", help="one JSON object as the last line")
    options = parser.parse_args()
    if MASKED_LM in (options.adversaries or ()) and options.masked_lm is None:
        parser.error(f"{MASKED_LM} needs --masked_lm too")
    torch.set_num_threads(1)
    figures = measure(options)
    for name, value in figures.items():
        unit = "words/s" if name == "clean_words_per_second" else "clean steps"
        print(f"{name:>22} {value:9.2f} {unit}")
    if options.json:
        print(json.dumps(figures))


if __name__ == "__main__":
    main()
