"""Robust scores while training: a fixed sample of development sentences is attacked every n epochs."""

import copy

import numpy as np
import pytorch_lightning as pl
import torch

from robustparse.attacks.attack import Attack
from robustparse.errors import InputError
from robustparse.evaluation.tally import Tally, result_line
from robustparse.parsers.base import ParserModule
from robustparse.parsers.victim import ParserVictim
from robustparse.types import Example


class RobustnessEvaluation(pl.Callback):
    """Logs ``clean/las``, ``robust/las``, their UAS, ``robust/success`` and ``robust/queries``.

    Sentences are split over the processes and the sums added up, so the figures do not depend on
    their number.

    Args:
        attack: the attack.
        every_n_epochs: how often.
        sentences: how many, drawn once from the development data.
        seed: of the draw.

    Raises:
        InputError: a number is below 1.
    """

    def __init__(
        self, attack: Attack, *, every_n_epochs: int = 1, sentences: int = 100, seed: int = 0
    ) -> None:
        if every_n_epochs < 1 or sentences < 1:
            raise InputError(
                f"every_n_epochs and sentences must be >= 1, got {every_n_epochs}, {sentences}"
            )
        self.attack = copy.copy(attack)
        self.every_n_epochs, self.sentences, self.seed = every_n_epochs, sentences, seed
        self._sample: list[Example] = []

    def on_fit_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Draw the sample."""
        examples = trainer.datamodule.examples("dev")  # type: ignore[attr-defined]
        order = np.random.Generator(np.random.Philox(self.seed)).permutation(len(examples))
        self._sample = [examples[index] for index in sorted(order[: self.sentences])]

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Attack with the current weights and log."""
        if (trainer.current_epoch + 1) % self.every_n_epochs:
            return
        if not isinstance(pl_module, ParserModule):
            raise InputError(f"needs a robustparse parser, got {type(pl_module).__name__}")
        tally = Tally()
        own = self._sample[trainer.global_rank :: trainer.world_size]
        for result in self.attack.run(own, ParserVictim(pl_module)):
            tally.add(result_line(result))
        sums = torch.tensor([tally.sums[name] for name in Tally.NAMES], device=pl_module.device)
        total = trainer.strategy.reduce(sums, reduce_op="sum")
        if not isinstance(total, torch.Tensor):
            raise TypeError("the strategy reduced a tensor to something else")
        scores = Tally(dict(zip(Tally.NAMES, total.tolist(), strict=True))).scores()
        for which, name in (("clean", "clean"), ("attacked", "robust")):
            self.log(f"{name}/uas", scores[which]["uas"])
            self.log(f"{name}/las", scores[which]["las"], prog_bar=True)
        self.log("robust/success", scores["success_rate"])
        self.log("robust/queries", scores["queries_per_sentence"]["charged"])
