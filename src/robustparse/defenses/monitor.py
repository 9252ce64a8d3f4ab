"""Robust scores while training: a fixed sample of development sentences is attacked."""

import copy
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch

from robustparse.attacks.attack import Attack
from robustparse.defenses.requirements import data_of, parser_of
from robustparse.errors import InputError
from robustparse.evaluation.tally import Tally, result_line
from robustparse.parsers.victim import ParserVictim
from robustparse.types import Example

WHO = "a robustness evaluation"


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
        InputError: a number is too small.
    """

    def __init__(
        self, attack: Attack, *, every_n_epochs: int = 1, sentences: int = 100, seed: int = 0
    ) -> None:
        if every_n_epochs < 1 or sentences < 1:
            raise InputError(
                f"every_n_epochs and sentences must be >= 1, got {every_n_epochs}, {sentences}"
            )
        if seed < 0:
            raise InputError(f"seed must be >= 0, got {seed}")
        self.attack = copy.copy(attack)
        self.every_n_epochs, self.sentences, self.seed = every_n_epochs, sentences, seed
        self._sample: list[Example] = []

    def on_fit_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Draw the sample."""
        parser_of(pl_module, WHO)
        examples = data_of(trainer, WHO).examples("dev")
        order = np.random.Generator(np.random.Philox(self.seed)).permutation(len(examples))
        self._sample = [examples[index] for index in sorted(order[: self.sentences])]

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Attack with the current weights and log."""
        if (trainer.current_epoch + 1) % self.every_n_epochs:
            return
        victim, tally = ParserVictim(parser_of(pl_module, WHO)), Tally()
        own = self._sample[trainer.global_rank :: trainer.world_size]
        with trainer.precision_plugin.forward_context():
            for result in self.attack.run(own, victim):
                tally.add(result_line(result))
        sums = torch.tensor([tally.sums[name] for name in Tally.NAMES], device=pl_module.device)
        total = trainer.strategy.reduce(sums, reduce_op="sum")
        if not isinstance(total, torch.Tensor):
            raise TypeError("the strategy reduced a tensor to something else")
        scores = Tally(dict(zip(Tally.NAMES, total.tolist(), strict=True))).scores()
        for name, value in _figures(scores).items():
            if value is not None:
                pl_module.log(name, value, prog_bar=name.endswith("las"))


def _figures(scores: dict[str, Any]) -> dict[str, float | None]:
    """The tally's scores by the names they are logged under."""
    return {
        "clean/uas": scores["clean"]["uas"],
        "clean/las": scores["clean"]["las"],
        "robust/uas": scores["attacked"]["uas"],
        "robust/las": scores["attacked"]["las"],
        "robust/success": scores["success_rate"],
        "robust/queries": scores["queries_per_sentence"]["charged"],
    }
