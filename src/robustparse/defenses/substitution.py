"""Online adversarial training by word substitution (Zheng et al. 2020, section 3.4, made online).

The paper attacks half of the training sentences once and trains from scratch on all sentences and
these copies. Here a fraction of every batch is attacked with the current weights and a small query
budget. The changed sentences, with their original gold answers, join the batch or replace their
originals. Where substitutes may change the right answers, the model can learn instead to answer a
sentence and its copy alike, see `Agreement`.
"""

import copy
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import takewhile
from typing import Any, ClassVar, Literal, NamedTuple, get_args

import pytorch_lightning as pl

from robustparse.attacks.attack import Attack
from robustparse.data.batch import Batch
from robustparse.data.datamodule import SAMPLE
from robustparse.defenses.agreement import Agreement
from robustparse.defenses.copying import CopyingAdversary, Mode, replaced
from robustparse.defenses.gradient_adversary import GradientAdversary, check_positive
from robustparse.defenses.requirements import (
    callbacks_of,
    check_decisions,
    data_of,
    model_of,
    warn_unmatched,
)
from robustparse.errors import InputError, check_choice, check_least
from robustparse.models.base import Model
from robustparse.models.decisions import Decisions
from robustparse.models.victim import ModelVictim
from robustparse.types import Example

Loss = Literal["gold", "agreement"]


class Cost(NamedTuple):
    """The cost of attacks: queries, attacked sentences, changed sentences, seconds."""

    queries: int = 0
    sentences: int = 0
    changed: int = 0
    seconds: float = 0.0


class SubstitutionAdversary(CopyingAdversary):
    """Trains on adversarial copies of some sentences of a batch.

    By default the model learns the gold answer of a sentence from its copy. With ``loss:
    agreement`` it learns the gold answer from the sentence, and to answer the copy alike:
    loss(f(x), y) + beta * KL(f(x) || f(x')), see `Agreement`. Gold answers then only say which
    distributions are compared: of labels at the gold heads, and of steps after the gold steps. The
    loss is divided as in clean training, and ``train/agreement`` is logged.

    The cost on this process, summed over all adversaries of this class, is logged:
    ``substitution/queries`` per attacked sentence and ``substitution/seconds`` per batch, both 0
    for a batch without an attack and also shown in the progress bar, and ``substitution/changed``,
    the fraction of attacked sentences that changed.

    Args:
        attack: the attack; a search with few queries suits best (`ranking: random`). Its ``seed``
            is ignored, and its ``budget``, if set, must equal the budget here.
        budget: maximum queries per attacked sentence.
        fraction: see `CopyingAdversary`. Agreement costs a second pass over the batch, whatever the
            fraction, because both passes have the same dropout masks.
        every: see `CopyingAdversary`.
        seed: see `CopyingAdversary`.
        mode: see `CopyingAdversary`; agreement needs the originals, and does not append copies.
        loss: learn the ``gold`` answers to copies, or ``agreement`` with the answers to originals.
        beta: weight of the agreement (4, Dong et al. 2021).

    Raises:
        InputError: a setting is out of range, the attack has another budget, or agreement is to
            replace the originals. When training starts, for agreement: the model does not tell its
            distributions or copies words into its answers, or another callback replaces originals
            or the loss.
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
        loss: Loss = "gold",
        beta: float = 4.0,
    ) -> None:
        super().__init__(fraction=fraction, every=every, seed=seed, mode=mode)
        check_least(self.owner, budget=budget)
        check_choice(f"{self.owner}: loss", loss, get_args(Loss))
        check_positive(self.owner, beta=beta)
        if loss == "agreement" and mode == "replace":
            raise InputError(
                "got replace, but agreement compares copies with their originals",
                key=f"{self.owner}: mode",
                remedy="leave it out, or set loss: gold",
            )
        if attack.budget not in (None, budget):
            raise InputError(
                f"got {budget}, but the attack has a budget of {attack.budget}",
                key=f"{self.owner}: budget",
                remedy=f"give {attack.budget} as the adversary's budget, or the attack none",
            )
        self.attack = copy.copy(attack)
        self.attack.budget = self.budget = budget
        self.loss, self.agreement = loss, Agreement(beta)
        self._earlier: list[SubstitutionAdversary] = []
        self._cost = Cost()
        self.why_few = (
            f"Either the budget of {budget} queries ends before any word is tried, since a ranking "
            "that queries the victim spends one query per word (set `ranking: random`, or raise "
            "the budget); or no candidate passes the constraints (`robustparse attack` on these "
            "sentences shows the counts)"
        )

    @property
    def cost(self) -> float:
        """As for other copies, or a second pass for agreement; a query costs a third of a pass."""
        trained = super().cost if self.loss == "gold" else 1 + 1 / self.every
        return trained + self.fraction * self.budget / 3 / self.every

    def on_fit_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Check that every sentence has the annotation that the attack needs.

        Raises:
            InputError: see `CopyingAdversary.on_fit_start`; a sentence lacks the annotation; or see
                the class, for agreement.
        """
        super().on_fit_start(trainer, pl_module)
        if self.loss == "agreement":
            self._check_agreement(trainer, model_of(pl_module, self.owner))
        adversaries = callbacks_of(trainer, SubstitutionAdversary)
        self._earlier = list(takewhile(lambda other: other is not self, adversaries))
        task, data = model_of(pl_module, self.owner).task, data_of(trainer, self.owner)
        path = data.path("train") or SAMPLE
        task.files.check(data.train_examples, path, self.attack.check)
        for path, example in data.copies:
            task.files.check([example], path, self.attack.check)
        warn_unmatched([*self.examples.values()], self.attack)

    def on_train_batch_start(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, batch: Any, batch_idx: int
    ) -> None:
        """Attack with the current weights and train on the changed sentences."""
        self._cost, begin = Cost(), time.perf_counter()
        super().on_train_batch_start(trainer, pl_module, batch, batch_idx)
        if batch_idx % self.every == 0:
            self._cost = self._cost._replace(seconds=time.perf_counter() - begin)
        # If nothing were logged, Lightning would repeat the values of the last attacked batch.
        self._log_cost(pl_module)

    def put(self, trainer: pl.Trainer, model: Model, batch: Batch, copies: Batch) -> None:
        """Put copies into the batch; for agreement, compare with them and leave the batch alone."""
        if self.loss == "gold":
            super().put(trainer, model, batch, copies)
        elif len(copies):
            self.agreement.begin(trainer, model, partial(self._answers, model, copies))

    def _answers(
        self, model: Model, copies: Batch, batch: Batch, clean: list[Decisions]
    ) -> list[Decisions]:
        """Return f(x'), the answers to copies, and to texts without a copy as they are."""
        changed = replaced(batch, copies)
        return self.agreement.answers(model, model.embed(changed), changed)

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, *_: Any, **__: Any
    ) -> None:
        """Log the agreement and detach from the model."""
        if self.loss == "agreement":
            self.agreement.end(pl_module)

    def on_exception(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, exception: BaseException
    ) -> None:
        """Detach from the model."""
        if self.loss == "agreement":
            self.agreement.release(pl_module)

    def copies(
        self, trainer: pl.Trainer, model: Model, chosen: Sequence[Example], seed: int
    ) -> list[Example]:
        """Attack the chosen sentences; see `CopyingAdversary.copies`."""
        self.attack.seed = seed
        with trainer.precision_plugin.forward_context():
            runs = list(self.attack.search_runs(chosen, ModelVictim([model]), reported=False))
        changed = [
            replace(
                run.problem.example,
                sentence=replace(run.problem.example.sentence, words=run.read_words),
                block="",
                row=None,
            )
            for run in runs
            if run.outcome.any()
        ]
        self.passed_over = sum(run.skipped for run in runs)
        self._cost = Cost(sum(run.queries.charged for run in runs), len(runs), len(changed))
        return changed

    def _check_agreement(self, trainer: pl.Trainer, model: Model) -> None:
        """Check that the model tells comparable distributions, and that nothing else interferes.

        Raises:
            InputError: see the class.
        """
        check_decisions(model, self.owner)
        if model.uncoded(model.vocabulary):
            raise InputError(
                f"{type(model).__name__} copies words into its answers, so that a copy with other "
                "words has other possible answers",
                key=f"{self.owner}: model",
                remedy="train it without copying, or set loss: gold",
            )
        rivals = [
            type(callback).__name__
            for callback in callbacks_of(trainer, pl.Callback)
            if callback is not self and _interferes(callback)
        ]
        if rivals:
            raise InputError(
                f"has {' and '.join(rivals)}, which cannot be combined with a substitution "
                "adversary of loss: agreement",
                key="trainer.callbacks",
                remedy="keep one of them, or set loss: gold",
            )

    def _log_cost(self, module: pl.LightningModule) -> None:
        """Log the summed cost of this and earlier adversaries; the last one logs the total."""
        costs = zip(*(adversary._cost for adversary in (*self._earlier, self)), strict=True)
        queries, sentences, changed, seconds = map(sum, costs)
        attacked = max(1, sentences)
        module.log("substitution/queries", queries / attacked, batch_size=1, prog_bar=True)
        module.log("substitution/seconds", seconds, batch_size=1, prog_bar=True)
        module.log("substitution/changed", changed / attacked, batch_size=1)


def _interferes(callback: pl.Callback) -> bool:
    """Tell whether a callback computes the training loss, or takes originals out of batches."""
    return (
        isinstance(callback, GradientAdversary)
        or (isinstance(callback, SubstitutionAdversary) and callback.loss == "agreement")
        or (isinstance(callback, CopyingAdversary) and callback.mode == "replace")
    )
