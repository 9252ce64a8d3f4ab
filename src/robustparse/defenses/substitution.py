"""Online adversarial training by word substitution (Zheng et al. 2020, section 3.4, made online).

The paper attacks half of the training sentences once, with the model it starts from, and trains on
both. Here a fraction of every batch is attacked with the current weights, within a small query
budget, and the changed sentences join the batch, or replace their originals, with the gold answers
of these.
"""

import copy
import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any, Literal, NamedTuple

import numpy as np
import pytorch_lightning as pl

from robustparse.attacks.attack import Attack
from robustparse.attacks.engine.search_run import SearchRun
from robustparse.attacks.randomness import stream
from robustparse.data.batch import Batch, join
from robustparse.data.datamodule import SAMPLE
from robustparse.data.fractions import check_fraction
from robustparse.defenses.requirements import data_of, model_of, warn, warn_unmatched
from robustparse.errors import InputError, check_choice, check_least, check_seed
from robustparse.models.base import Model
from robustparse.models.victim import ModelVictim
from robustparse.types import Example

OWNER = "substitution adversary"
# Of the first ENOUGH attacked sentences, a smaller fraction that changed is worth a warning.
ENOUGH, FEW = 200, 0.5


class Cost(NamedTuple):
    """What attacks cost: queries, attacked sentences, those of them that changed, seconds."""

    queries: int = 0
    sentences: int = 0
    changed: int = 0
    seconds: float = 0.0


class SubstitutionAdversary(pl.Callback):
    """Trains on adversarial copies of some of a batch's sentences.

    Which sentences are attacked, and every choice of the attack, follow from (seed, epoch, sentence
    id), never from the batch's division over processes. With copies appended, the loss is divided
    by 1 + fraction times the words of the global batch, the number expected, which every process
    knows without asking; by 1 + the sum of their fractions if several adversaries append. What the
    attacks of all adversaries cost on this process is logged and shown in the progress bar:
    ``substitution/queries`` per attacked sentence and ``substitution/seconds`` per batch, both 0
    for a batch without an attack; ``substitution/changed``, the fraction of attacked sentences that
    changed, is logged only. If few of the first ones do, a warning says so.

    Args:
        attack: how; a search that asks little (`ranking: random`) suits best. Its own ``seed`` does
            not count, and its own ``budget`` may be no other than the one here.
        fraction: of the sentences, in (0, 1] (0.5, Zheng et al. 2020).
        budget: queries that may be charged to an attacked sentence.
        every: attack in every Nth batch.
        seed: of the choice of sentences and of the attack.
        mode: ``append`` the copies, to train on clean sentences as well (Zheng et al. 2020), or
            ``replace`` the originals by them, at the cost of an ordinary step.

    Raises:
        InputError: a setting is out of range, or the attack has another budget.
    """

    def __init__(
        self,
        attack: Attack,
        *,
        fraction: float = 0.5,
        budget: int = 12,
        every: int = 1,
        seed: int = 0,
        mode: Literal["append", "replace"] = "append",
    ) -> None:
        check_fraction(f"{OWNER}: fraction", fraction)
        check_least(OWNER, budget=budget, every=every)
        check_seed(f"{OWNER}: seed", seed)
        check_choice(f"{OWNER}: mode", mode, ("append", "replace"))
        if attack.budget not in (None, budget):
            raise InputError(
                f"is {budget}, but the attack has a budget of {attack.budget}",
                key=f"{OWNER}: budget",
                remedy=f"give {attack.budget} as the adversary's budget, or the attack none",
            )
        self.attack = copy.copy(attack)
        self.attack.budget = budget
        self.fraction, self.every, self.seed, self.mode = fraction, every, seed, mode
        self._examples: dict[int, Example] = {}
        self._earlier: list[SubstitutionAdversary] = []
        self._cost = Cost()
        self._attacked = self._changed = 0

    def on_fit_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Look up the sentences of the batches' ids.

        Raises:
            InputError: the module is not a model of ours, or two adversaries replace the same
                sentences; or a sentence lacks what the attack needs.
        """
        task = model_of(pl_module, OWNER).task
        data = data_of(trainer, OWNER)
        callbacks: list[pl.Callback] = getattr(trainer, "callbacks", [self])
        adversaries = [c for c in callbacks if isinstance(c, SubstitutionAdversary)]
        if sum(adversary.mode == "replace" for adversary in adversaries) > 1:
            raise InputError(
                "has several substitution adversaries with mode: replace, of which the last one "
                "would undo the others' work",
                key="trainer.callbacks",
                remedy="keep one of them, or append",
            )
        self._earlier = list(takewhile(lambda other: other is not self, adversaries))
        path = data.path("train") or SAMPLE
        task.check(data.train_examples, path, self.attack.check)
        for path, example in data.copies:
            task.check([example], path, self.attack.check)
        examples = [*data.train_examples, *data.augmented_examples]
        self._examples = {example.id: example for example in examples}
        self._attacked = self._changed = 0
        warn_unmatched(examples, self.attack)

    def on_train_batch_start(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, batch: Any, batch_idx: int
    ) -> None:
        """Attack with the current weights, train on what changed."""
        self._cost = Cost()
        if batch_idx % self.every == 0:
            begin = time.perf_counter()
            cost = self._attack(trainer, model_of(pl_module, OWNER), batch)
            self._cost = cost._replace(seconds=time.perf_counter() - begin)
            self._warn_of_few()
        # Lightning would write the values of the last attacked batch again.
        self._log_cost(pl_module)

    def _attack(self, trainer: pl.Trainer, model: Model, batch: Batch) -> Cost:
        """Put adversarial sentences into a batch; return what they cost."""
        # Each once: another adversary may have appended copies.
        ids = dict.fromkeys(batch.ids.tolist())
        chosen = [self._examples[id_] for id_ in ids if self._draw(trainer.current_epoch, id_)]
        self.attack.seed = _mixed(self.seed, trainer.current_epoch, 0)
        with trainer.precision_plugin.forward_context():
            victim = ModelVictim([model])
            found = list(self.attack.sentences(chosen, victim, reported=False))
        edited = (one for one in found if one.words != one.problem.example.sentence.words)
        changed = sorted(edited, key=lambda one: one.problem.id)
        copies = _encoded(model, changed, batch)
        if self.mode == "append":
            words = self.fraction * float(batch.weight - batch.appended)
            # In place: Lightning hands the same object to the training step.
            vars(batch).update(vars(join(batch, copies, words)))
        else:
            _overwrite(batch, copies)
        return Cost(sum(one.queries.charged for one in found), len(found), len(changed))

    def _warn_of_few(self) -> None:
        """Warn once if hardly any of the first sentences changed."""
        before = self._attacked
        self._attacked += self._cost.sentences
        self._changed += self._cost.changed
        if before < ENOUGH <= self._attacked and self._changed < FEW * self._attacked:
            warn(
                f"only {self._changed} of the first {self._attacked} attacked sentences changed: "
                "a ranking that asks spends a query on each word, and the budget is "
                f"{self.attack.budget}; rank at random (`ranking: random`) or raise the budget"
            )

    def _log_cost(self, module: pl.LightningModule) -> None:
        """Log the cost of the adversaries so far; the last one's values replace the others'."""
        costs = zip(*(one._cost for one in (*self._earlier, self)), strict=True)
        queries, sentences, changed, seconds = map(sum, costs)
        attacked = max(1, sentences)
        module.log("substitution/queries", queries / attacked, batch_size=1, prog_bar=True)
        module.log("substitution/seconds", seconds, batch_size=1, prog_bar=True)
        module.log("substitution/changed", changed / attacked, batch_size=1)

    def _draw(self, epoch: int, sentence: int) -> bool:
        return bool(stream(_mixed(self.seed, epoch, 1), sentence).random() < self.fraction)


def _mixed(*numbers: int) -> int:
    """Return one seed that follows from several numbers."""
    return int(np.random.SeedSequence(numbers).generate_state(1, np.uint32)[0])


def _encoded(model: Model, changed: Sequence[SearchRun], batch: Batch) -> Batch:
    """Return adversarial sentences with their originals' gold answers, on the batch's device."""
    copies = [
        replace(example, sentence=replace(example.sentence, words=one.words), block="")
        for one in changed
        for example in [one.problem.example]
    ]
    # Nobody wrote them: one over an encoder's limit is read in windows, as the attack has read it.
    encoded = model.encode(copies, checked=False)
    return encoded.batch(range(len(copies)), 0.0).to(batch.words.device)


def _overwrite(batch: Batch, changed: Batch) -> None:
    """Write adversarial words over their originals', in place; all else is the originals'."""
    ids = batch.ids.tolist()
    width = changed.words.shape[1]
    for words, id_ in zip(changed.words, changed.ids.tolist(), strict=True):
        batch.words[ids.index(id_), :width] = words
