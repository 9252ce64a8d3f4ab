"""Online adversarial training by word substitution (Zheng et al. 2020, section 3.4, made online).

The paper attacks half of the training sentences once, with the parser it starts from, and trains on
both. Here a share of every batch is attacked with the current weights, within a small query budget,
and the changed sentences join the batch, or take the places of their originals, with the gold trees
of these.
"""

import copy
import logging
import time
from collections.abc import Sequence
from itertools import takewhile
from typing import Any, Literal, NamedTuple

import numpy as np
import pytorch_lightning as pl
import torch
from pytorch_lightning.utilities import rank_zero_only

from robustparse.attacks.attack import Attack
from robustparse.attacks.randomness import stream
from robustparse.attacks.results import AdversarialExample
from robustparse.data.batch import Batch, join
from robustparse.data.conllu import check_readable
from robustparse.data.datamodule import SAMPLE
from robustparse.defenses.requirements import data_of, parser_of, tell_unmatched
from robustparse.errors import InputError, check_choice, check_least, check_seed
from robustparse.models.base import Model
from robustparse.models.victim import ModelVictim
from robustparse.types import DependencyTree, Example, Sentence

WHO = "a substitution adversary"
FEW, ENOUGH = 0.5, 200  # a share of changed sentences that is worth a word, and among how many

log = logging.getLogger(__name__)
_tell = rank_zero_only(log.warning)  # not in every process


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
    by 1 + share times the words of the global batch, the number expected, which every process knows
    without asking; by 1 + the sum of their shares if several adversaries append. What the attacks
    of all adversaries cost on this process is logged and shown in the progress bar:
    ``substitution/queries`` an attacked sentence and ``substitution/seconds`` a batch, both 0 for a
    batch that is left alone; ``substitution/changed``, the share of attacked sentences that
    changed, is logged beside them. If few of the first ones do, a warning says so.

    Args:
        attack: how; a search that asks little (`ranking: random`) suits best. Its own ``seed`` does
            not count, and its own ``budget`` may be no other than the one here.
        share: of the sentences, in (0, 1] (0.5, Zheng et al. 2020).
        budget: queries an attacked sentence may charge.
        every: only every so many batches.
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
        share: float = 0.5,
        budget: int = 12,
        every: int = 1,
        seed: int = 0,
        mode: Literal["append", "replace"] = "append",
    ) -> None:
        if not 0.0 < share <= 1.0:
            raise InputError(f"share must be in (0, 1], got {share}")
        check_least(WHO, budget=budget, every=every)
        check_seed("seed", seed)
        check_choice("mode", mode, ("append", "replace"))
        if attack.budget not in (None, budget):
            raise InputError(
                f"the attack has a budget of {attack.budget}, the substitution adversary one of "
                f"{budget}; give {attack.budget} as the adversary's budget, or the attack none"
            )
        self.attack = copy.copy(attack)
        self.attack.budget = budget
        self.share, self.every, self.seed, self.mode = share, every, seed, mode
        self._examples: dict[int, Example] = {}
        self._before: list[SubstitutionAdversary] = []
        self._cost = Cost()
        self._attacked = self._changed = 0

    def on_fit_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Find the strings behind the batches' numbers.

        Raises:
            InputError: the module is no parser, or two adversaries replace the same sentences; or a
                sentence lacks what the attack goes by.
        """
        parser_of(pl_module, WHO)
        data = data_of(trainer, WHO)
        callbacks: list[pl.Callback] = getattr(trainer, "callbacks", [self])
        adversaries = [c for c in callbacks if isinstance(c, SubstitutionAdversary)]
        if sum(adversary.mode == "replace" for adversary in adversaries) > 1:
            raise InputError(
                "trainer.callbacks has several substitution adversaries with mode: replace, of "
                "which the last one would undo the others' work; keep one of them, or append"
            )
        self._before = list(takewhile(lambda other: other is not self, adversaries))
        path = data.path("train") or SAMPLE
        check_readable(data.train_examples, path, self.attack.check)
        for path, copy_ in data.copies:
            check_readable([copy_], path, self.attack.check)
        known = [*data.train_examples, *data.augmented_examples]
        self._examples = {example.id: example for example in known}
        self._attacked = self._changed = 0
        tell_unmatched(known, self.attack.constraints)

    def on_train_batch_start(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, batch: Any, batch_idx: int
    ) -> None:
        """Attack with the current weights, train on what changed."""
        self._cost = Cost()
        if batch_idx % self.every == 0:
            begin = time.perf_counter()
            cost = self._attack(trainer, parser_of(pl_module, WHO), batch)
            self._cost = cost._replace(seconds=time.perf_counter() - begin)
            self._warn()
        # Lightning would write the figures of the last attacked batch again.
        self._log_cost(pl_module)

    def _attack(self, trainer: pl.Trainer, parser: Model, batch: Batch) -> Cost:
        """Put copies into a batch; what they cost."""
        # Each once: another adversary may have appended copies.
        ids = dict.fromkeys(batch.ids.tolist())
        chosen = [id_ for id_ in ids if self._draw(trainer.current_epoch, id_)]
        self.attack.seed = _mixed(self.seed, trainer.current_epoch, 0)
        with trainer.precision_plugin.forward_context():
            made = self.attack.adversaries(
                [self._examples[i] for i in chosen], ModelVictim([parser])
            )
        edited = (one for one in made if one.words != one.example.sentence.words)
        changed = sorted(edited, key=lambda one: one.example.id)
        if self.mode == "append":
            words = self.share * float(batch.weight - batch.appended)
            _replace(batch, join(batch, _numbered(parser, changed, batch), words))
        else:
            _put(batch, _numbered(parser, changed, batch))
        return Cost(sum(one.charged for one in made), len(made), len(changed))

    def _warn(self) -> None:
        """Say it once if hardly any of the first sentences changed."""
        before = self._attacked
        self._attacked += self._cost.sentences
        self._changed += self._cost.changed
        if before < ENOUGH <= self._attacked and self._changed < FEW * self._attacked:
            _tell(
                f"only {self._changed} of the first {self._attacked} attacked sentences changed: "
                "a ranking that asks spends a query a word, and the budget is "
                f"{self.attack.budget}; rank at random (`ranking: random`) or raise the budget"
            )

    def _log_cost(self, module: pl.LightningModule) -> None:
        """Of the adversaries so far: of all, once the last one has logged over the others."""
        queries, sentences, changed, seconds = map(
            sum, zip(*(one._cost for one in (*self._before, self)), strict=True)
        )
        attacked = max(1, sentences)
        module.log("substitution/queries", queries / attacked, batch_size=1, prog_bar=True)
        module.log("substitution/seconds", seconds, batch_size=1, prog_bar=True)
        module.log("substitution/changed", changed / attacked, batch_size=1)

    def _draw(self, epoch: int, sentence: int) -> bool:
        return bool(stream(_mixed(self.seed, epoch, 1), sentence).random() < self.share)


def _mixed(*numbers: int) -> int:
    """One seed out of several numbers."""
    return int(np.random.SeedSequence(numbers).generate_state(1, np.uint32)[0])


def _numbered(parser: Model, changed: Sequence[AdversarialExample], batch: Batch) -> Batch:
    """Adversarial sentences with their originals' gold trees, on the batch's device."""
    copies = [_copy(one.example, one.words) for one in changed]
    # Nobody wrote them: one over an encoder's limit is read in windows, as the attack has read it.
    numbered = parser.encode(copies, checked=False)
    return numbered.batch(range(len(copies)), 0.0).to(batch.words.device)


def _put(batch: Batch, changed: Batch) -> None:
    """Write adversarial words over their originals', in place; all else is the originals'."""
    ids = batch.ids.tolist()
    width = changed.words.shape[1]
    for words, id_ in zip(changed.words, changed.ids.tolist(), strict=True):
        batch.words[ids.index(id_), :width] = words


def _copy(example: Example, words: tuple[str, ...]) -> Example:
    sentence = Sentence(words, example.sentence.upos, example.sentence.xpos)
    return Example(example.id, sentence, DependencyTree(example.gold.heads, example.gold.labels))


def _replace(batch: Batch, other: Batch) -> None:
    """In place: Lightning hands the same object to the training step."""
    for name, value in vars(other).items():
        if not isinstance(value, torch.Tensor):
            raise TypeError(f"batch field {name} is no tensor")
        setattr(batch, name, value)
