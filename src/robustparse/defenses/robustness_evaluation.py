"""Robust scores during training: attacks a fixed sample of development sentences."""

import copy
from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import Any

import pytorch_lightning as pl
import torch

from robustparse.attacks.attack import Attack
from robustparse.data.datamodule import warn
from robustparse.defenses.requirements import (
    check_only_one,
    data_of,
    development_sample,
    model_of,
    warn_unmatched,
)
from robustparse.devices import gathered
from robustparse.errors import InputError, check_least, check_seed
from robustparse.evaluation.attack_processes import attacked_records
from robustparse.evaluation.attack_sums import AttackSums
from robustparse.evaluation.changeable_sentences import ChangeableSentences
from robustparse.evaluation.records import ExampleRecord, RobustnessRecord
from robustparse.models.base import Model
from robustparse.models.victim import ModelVictim
from robustparse.types import Example

OWNER = "robustness evaluation"


class RobustnessEvaluation(pl.Callback):
    """Logs the task's clean and robust scores, ``robust/success`` and ``robust/queries``.

    With ``gammas`` the attack also runs at other edit budgets, and ``robust/SCORE@15`` and
    ``robust/success@15`` are logged for 15 %, and so on; at budget 0 the scores are the clean ones.
    Loggers that support it also receive adversarial examples and the curve over the budgets. A
    warning is given if the attack can change fewer than a tenth of the sentences, because the
    values then say little.

    Sentences are divided over the processes and sums are added up, so that values do not depend on
    the number of processes. They are logged at the end of an epoch, after the validation: an
    ``EarlyStopping`` on them must follow this callback and set ``check_on_train_epoch_end``.

    Args:
        attack: the attack.
        every_n_epochs: attack after every Nth epoch.
        sentences: number of sentences, drawn once from the development data.
        seed: the seed of the draw.
        gammas: edit budgets to compare, as fractions of the words; None: only that of the attack.
        examples: number of adversarial examples for loggers.

    Raises:
        InputError: a number is out of range, or ``gammas`` are given but the search has no gamma.
    """

    def __init__(
        self,
        attack: Attack,
        *,
        every_n_epochs: int = 1,
        sentences: int = 100,
        seed: int = 0,
        gammas: list[float] | None = None,
        examples: int = 8,
    ) -> None:
        check_least(OWNER, every_n_epochs=every_n_epochs, sentences=sentences)
        check_least(OWNER, 0, examples=examples)
        check_seed(f"{OWNER}: seed", seed)
        self.attack = copy.copy(attack)
        self.every_n_epochs, self.sentences, self.seed = every_n_epochs, sentences, seed
        self.gammas, self.examples = sorted(gammas or []), examples
        self._budgets = at_budgets(self.attack, self.gammas)
        self._sample: list[Example] = []

    def on_fit_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Draw the sample.

        Raises:
            InputError: the model is not one of robustparse; there is another robustness
                evaluation; or a sentence of the sample cannot be read, or lacks the annotation that
                the attack needs.
        """
        model = model_of(pl_module, OWNER)
        remedy = (
            " (its gammas compare edit budgets), and attack a checkpoint with robustparse attack"
        )
        check_only_one(trainer, RobustnessEvaluation, OWNER, remedy)
        self._sample, path = development_sample(
            trainer, model, self.sentences, self.seed, OWNER, self.attack.punctuation
        )
        model.task.files.check(self._sample, path, self.attack.check)
        warn_unmatched(data_of(trainer, OWNER).examples("dev"), self.attack)

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Attack with the current weights and log the scores."""
        if (trainer.current_epoch + 1) % self.every_n_epochs:
            return
        model = model_of(pl_module, OWNER)
        records, sums = self._attack(trainer, model)
        for warning in ChangeableSentences().over(gathered(records)).warnings(self.attack.budget):
            warn(f"{OWNER}: {warning}")
        total, *at_budget = _summed(trainer, model, sums)
        curve = self._curve(total, at_budget)
        for which, scores in (("clean", total["clean"]), ("robust", total["attacked"])):
            for name, value in scores.items():
                _log(model, f"{which}/{name}", value, prog_bar=name == model.task.scores.headline)
        _log(model, "robust/success", total["success_rate"])
        _log(model, "robust/queries", total["queries_per_sentence"]["charged"])
        for gamma, scores in curve.items():
            for name, value in scores.items():
                _log(model, percent_name(f"robust/{name}", gamma), value)
        robustness = RobustnessRecord(model.task, curve, _first_successes(records, self.examples))
        # Lightning logs end-of-epoch values at the step of the epoch's last batch.
        step = max(0, trainer.global_step - 1)
        for logger in trainer.loggers:
            if hasattr(logger, "log_robustness"):
                logger.log_robustness(robustness, step)

    def _attack(
        self, trainer: pl.Trainer, model: Model
    ) -> tuple[list[ExampleRecord], list[AttackSums]]:
        """Attack this process's sentences; return their records, and sums for the attack's own
        budget, then for each budget in ``gammas``.
        """
        victim = ModelVictim([model])
        share = self._sample[trainer.global_rank :: trainer.world_size]
        default = getattr(self.attack.search, "gamma", None)
        with trainer.precision_plugin.forward_context():
            records: list[ExampleRecord] = list(
                attacked_records(model.task, self.attack, victim, share)
            )
            sums = [AttackSums(model.task).over(records)]
            for gamma, attack in self._budgets.items():
                at_budget: Iterable[ExampleRecord] = records  # of the attack's own budget
                if gamma != default:
                    at_budget = attacked_records(model.task, attack, victim, share)
                sums.append(AttackSums(model.task).over(at_budget))
        return records, sums

    def _curve(
        self, total: dict[str, Any], at_budget: list[dict[str, Any]]
    ) -> dict[float, dict[str, float]]:
        """Map each budget to its scores, without undefined ones."""
        points = dict(zip(self._budgets, at_budget, strict=True))
        points[0.0] = {"attacked": total["clean"], "success_rate": 0.0}
        curve = {}
        for gamma in self.gammas:
            point = points[gamma]
            scores = {**point["attacked"], "success": point["success_rate"]}
            curve[gamma] = {name: value for name, value in scores.items() if value is not None}
        return curve


def at_budgets(attack: Attack, gammas: Sequence[float]) -> dict[float, Attack]:
    """Return the attack at each edit budget above 0, in rising order.

    Raises:
        InputError: a budget is out of range or given twice, or the search has no gamma.
    """
    if not all(0.0 <= gamma <= 1.0 for gamma in gammas) or len(set(gammas)) < len(gammas):
        raise InputError(f"must be different fractions in [0, 1], got {list(gammas)}", key="gammas")
    if gammas and not hasattr(attack.search, "gamma"):
        raise InputError(
            f"{type(attack.search).__name__} has no edit budget",
            key="gammas",
            expected="a search with a gamma, such as Zheng2020",
        )
    attacks = {}
    for gamma in filter(None, sorted(gammas)):
        attacks[gamma] = changed = copy.copy(attack)
        changed.search = copy.copy(attack.search)
        changed.search.gamma = gamma  # type: ignore[attr-defined]
    return attacks


def percent_name(name: str, gamma: float) -> str:
    """Return the logged name of a value at a budget: ``robust/success@15``."""
    return f"{name}@{100 * gamma:g}"


def _summed(trainer: pl.Trainer, model: Model, sums: list[AttackSums]) -> list[dict[str, Any]]:
    """Add up sums over all processes and return their scores."""
    rows = torch.tensor([list(each.sums.values()) for each in sums], device=model.device)
    total: Any = trainer.strategy.reduce(rows, reduce_op="sum")
    for each, row in zip(sums, total.tolist(), strict=True):
        each.sums = dict(zip(each.sums, row, strict=True))
    return [each.scores() for each in sums]


def _first_successes(records: Iterable[ExampleRecord], count: int) -> list[ExampleRecord]:
    """Return the first successfully attacked sentences over all processes."""
    successes = [record for record in records if record["success"]]
    first = sorted(successes, key=itemgetter("id"))[:count]
    return sorted(gathered(first), key=itemgetter("id"))[:count]


def _log(model: Model, name: str, value: float | None, prog_bar: bool = False) -> None:
    if value is not None:
        model.log(name, value, prog_bar=prog_bar)
