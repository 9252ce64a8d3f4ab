"""Online adversarial training by word substitution (Zheng et al. 2020, section 3.4, made online).

The paper attacks half of the training sentences once, and trains from scratch on all and on these
copies. Here a fraction of every batch is attacked with the current weights, within a small query
budget, and the changed sentences join the batch, or replace their originals, with the gold answers
of these.
"""

import copy
import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any, ClassVar, NamedTuple

import pytorch_lightning as pl

from robustparse.attacks.attack import Attack
from robustparse.data.datamodule import SAMPLE
from robustparse.defenses.copies.copying import CopyingAdversary, Mode
from robustparse.defenses.requirements import callbacks_of, data_of, model_of, warn_unmatched
from robustparse.errors import InputError, check_least
from robustparse.models.base import Model
from robustparse.models.victim import ModelVictim
from robustparse.types import Example


class Cost(NamedTuple):
    """What attacks cost: queries, attacked sentences, those of them that changed, seconds."""

    queries: int = 0
    sentences: int = 0
    changed: int = 0
    seconds: float = 0.0


class SubstitutionAdversary(CopyingAdversary):
    """Trains on adversarial copies of some of a batch's sentences.

    What the attacks of all adversaries of this kind cost on this process is logged and shown in the
    progress bar: ``substitution/queries`` per attacked sentence and ``substitution/seconds`` per
    batch, both 0 for a batch without an attack; ``substitution/changed``, the fraction of attacked
    sentences that changed, is logged only.

    Args:
        attack: how; a search that asks little (`ranking: random`) suits best. Its own ``seed`` does
            not count, and its own ``budget`` may be no other than the one here.
        budget: queries that may be charged to an attacked sentence.
        fraction: see `CopyingAdversary`.
        every: see `CopyingAdversary`.
        seed: see `CopyingAdversary`.
        mode: see `CopyingAdversary`.

    Raises:
        InputError: a setting is out of range, or the attack has another budget.
    """

    owner: ClassVar[str] = "substitution adversary"

    def __init__(
        self,
        attack: Attack,
        *,
        fraction: float = 0.5,
        budget: int = 12,
        every: int = 1,
        seed: int = 0,
        mode: Mode = "append",
    ) -> None:
        super().__init__(fraction=fraction, every=every, seed=seed, mode=mode)
        check_least(self.owner, budget=budget)
        if attack.budget not in (None, budget):
            raise InputError(
                f"is {budget}, but the attack has a budget of {attack.budget}",
                key=f"{self.owner}: budget",
                remedy=f"give {attack.budget} as the adversary's budget, or the attack none",
            )
        self.attack = copy.copy(attack)
        self.attack.budget = budget
        self._earlier: list[SubstitutionAdversary] = []
        self._cost = Cost()
        self.why_few = (
            f"Either the budget of {budget} queries ends before any word is tried, as a ranking "
            "that asks spends one on each word (rank at random, `ranking: random`, or raise the "
            "budget); or no candidate passes the constraints (`robustparse attack` on these "
            "sentences tells)"
        )

    def on_fit_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Check that every sentence has what the attack needs.

        Raises:
            InputError: see `CopyingAdversary.on_fit_start`; or a sentence lacks it.
        """
        super().on_fit_start(trainer, pl_module)
        adversaries = callbacks_of(trainer, SubstitutionAdversary)
        self._earlier = list(takewhile(lambda other: other is not self, adversaries))
        task, data = model_of(pl_module, self.owner).task, data_of(trainer, self.owner)
        path = data.path("train") or SAMPLE
        task.check(data.train_examples, path, self.attack.check)
        for path, example in data.copies:
            task.check([example], path, self.attack.check)
        warn_unmatched([*self.examples.values()], self.attack)

    def on_train_batch_start(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, batch: Any, batch_idx: int
    ) -> None:
        """Attack with the current weights, train on what changed."""
        self._cost, begin = Cost(), time.perf_counter()
        super().on_train_batch_start(trainer, pl_module, batch, batch_idx)
        if batch_idx % self.every == 0:
            self._cost = self._cost._replace(seconds=time.perf_counter() - begin)
        # Lightning would write the values of the last attacked batch again.
        self._log_cost(pl_module)

    def copies(
        self, trainer: pl.Trainer, model: Model, chosen: Sequence[Example], seed: int
    ) -> list[Example]:
        """Attack the chosen sentences; see `CopyingAdversary.copies`."""
        self.attack.seed = seed
        with trainer.precision_plugin.forward_context():
            found = list(self.attack.search_runs(chosen, ModelVictim([model]), reported=False))
        changed = [
            replace(example, sentence=replace(example.sentence, words=one.read), block="", row=None)
            for one in found
            for example in [one.problem.example]
            if one.outcome.any()
        ]
        self._cost = Cost(sum(one.queries.charged for one in found), len(found), len(changed))
        return changed

    def _log_cost(self, module: pl.LightningModule) -> None:
        """Log the cost of the adversaries so far; the last one's values replace the others'."""
        costs = zip(*(one._cost for one in (*self._earlier, self)), strict=True)
        queries, sentences, changed, seconds = map(sum, costs)
        attacked = max(1, sentences)
        module.log("substitution/queries", queries / attacked, batch_size=1, prog_bar=True)
        module.log("substitution/seconds", seconds, batch_size=1, prog_bar=True)
        module.log("substitution/changed", changed / attacked, batch_size=1)
