"""Robust scores while training: a fixed sample of development sentences is attacked."""

import copy
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch

from robustparse.attacks.attack import Attack
from robustparse.data.datamodule import SAMPLE
from robustparse.defenses.requirements import callbacks_of, data_of, model_of, warn, warn_unmatched
from robustparse.devices import gathered
from robustparse.errors import InputError, check_least, check_seed
from robustparse.evaluation.reach import Reach
from robustparse.evaluation.tally import Line, RecordLogger, RobustnessRecord, Tally, result_lines
from robustparse.models.base import Model
from robustparse.models.victim import ModelVictim
from robustparse.types import Example

OWNER = "robustness evaluation"


class RobustnessEvaluation(pl.Callback):
    """Logs each of the task's scores, clean and robust, ``robust/success``, ``robust/queries``.

    With ``gammas`` the attack is also made at other edit budgets, and every ``robust/SCORE@15`` and
    ``robust/success@15`` is logged for 15 % and so on; at budget 0 the scores are the clean ones.
    Every value has its step and epoch. Loggers that can show them also get some adversarial
    examples and the curve over the budgets. If the attack could change fewer than a tenth of the
    sentences, a warning says that the values say little.

    Sentences are split over the processes and the sums added up, so the values do not depend on
    their number. They are logged when an epoch ends, after the validation: list an
    ``EarlyStopping`` on them after this callback, with ``check_on_train_epoch_end``.

    Args:
        attack: the attack.
        every_n_epochs: how often.
        sentences: how many, drawn once from the development data.
        seed: of the draw.
        gammas: edit budgets to compare, fractions of the words; none, only the attack as it is.
        examples: adversarial examples that loggers get each time.

    Raises:
        InputError: a number is out of range, or budgets are wanted of a search that has none.
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
            InputError: the module is not a model of ours, or another evaluation logs the same
                values; or a sentence of the sample cannot be read, or lacks what the attack needs.
        """
        model = model_of(pl_module, OWNER)
        found = callbacks_of(trainer, RobustnessEvaluation)
        if len(found) > 1:
            raise InputError(
                f"has {len(found)} robustness evaluations, whose values have the same names",
                key="trainer.callbacks",
                remedy="keep one of them (its gammas compare edit budgets), and make other attacks "
                "on a checkpoint with robustparse attack",
            )
        data = data_of(trainer, OWNER)
        examples, path = data.examples("dev"), data.path("dev") or SAMPLE
        order = np.random.Generator(np.random.Philox(self.seed)).permutation(len(examples))
        self._sample = [examples[index] for index in sorted(order[: self.sentences])]
        # Without validation nothing else has checked them.
        model.check_readable(self._sample, path, self.attack.punctuation)
        model.task.check(self._sample, path, self.attack.check)
        warn_unmatched(examples, self.attack)

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Attack with the current weights and log."""
        if (trainer.current_epoch + 1) % self.every_n_epochs:
            return
        model = model_of(pl_module, OWNER)
        lines, tallies = self._attack(trainer, model)
        for warning in Reach.of(gathered(lines)).warnings(self.attack.budget):
            warn(f"{OWNER}: {warning}")
        total, *at_budget = _summed(trainer, model, tallies)
        curve = self._curve(total, at_budget)
        for which, scores in (("clean", total["clean"]), ("robust", total["attacked"])):
            for name, value in scores.items():
                _log(model, f"{which}/{name}", value, prog_bar=name == model.task.headline)
        _log(model, "robust/success", total["success_rate"])
        _log(model, "robust/queries", total["queries_per_sentence"]["charged"])
        for gamma, scores in curve.items():
            for name, value in scores.items():
                _log(model, percent_name(f"robust/{name}", gamma), value)
        record = RobustnessRecord(model.task, curve, _first_successes(lines, self.examples))
        # Lightning logs the values of an epoch's end at the step of its last batch.
        step = max(0, trainer.global_step - 1)
        for logger in trainer.loggers:
            if isinstance(logger, RecordLogger):
                logger.log_robustness(record, step)

    def _attack(self, trainer: pl.Trainer, model: Model) -> tuple[list[Line], list[Tally]]:
        """Attack this process's sentences: lines and tally as given, then a tally a budget."""
        victim = ModelVictim([model])
        own = self._sample[trainer.global_rank :: trainer.world_size]
        as_given = getattr(self.attack.search, "gamma", None)
        with trainer.precision_plugin.forward_context():
            lines: list[Line] = list(result_lines(model.task, self.attack, victim, own))
            tallies = [Tally.of(model.task, lines)]
            for gamma, attack in self._budgets.items():
                # The attack as given is not made twice.
                again = gamma != as_given
                found = result_lines(model.task, attack, victim, own) if again else lines
                tallies.append(Tally.of(model.task, found))
        return lines, tallies

    def _curve(
        self, total: dict[str, Any], at_budget: list[dict[str, Any]]
    ) -> dict[float, dict[str, float]]:
        """Return budget -> scores, without those that were not computed."""
        points = dict(zip(self._budgets, at_budget, strict=True))
        points[0.0] = {"attacked": total["clean"], "success_rate": 0.0}
        curve = {}
        for gamma in self.gammas:
            point = points[gamma]
            scores = {**point["attacked"], "success": point["success_rate"]}
            curve[gamma] = {name: value for name, value in scores.items() if value is not None}
        return curve


def at_budgets(attack: Attack, gammas: Sequence[float]) -> dict[float, Attack]:
    """Return the attack at each edit budget over 0, rising; budget 0 is no attack.

    Raises:
        InputError: a budget is out of range or given twice, or the search has none.
    """
    if not all(0.0 <= gamma <= 1.0 for gamma in gammas) or len(set(gammas)) < len(gammas):
        raise InputError(f"must be different fractions in [0, 1], got {list(gammas)}", key="gammas")
    if gammas and not hasattr(attack.search, "gamma"):
        raise InputError(
            f"{type(attack.search).__name__} has no edit budget",
            key="gammas",
            expected="a search that has a gamma, as Zheng2020",
        )
    attacks = {}
    for gamma in filter(None, sorted(gammas)):
        attacks[gamma] = changed = copy.copy(attack)
        changed.search = copy.copy(attack.search)
        changed.search.gamma = gamma  # type: ignore[attr-defined]
    return attacks


def percent_name(name: str, gamma: float) -> str:
    """Return the name that a value at a budget is logged by: ``robust/success@15``."""
    return f"{name}@{100 * gamma:g}"


def _summed(trainer: pl.Trainer, model: Model, tallies: list[Tally]) -> list[dict[str, Any]]:
    """Return the scores of tallies, each added up over the processes."""
    rows = torch.tensor([list(tally.sums.values()) for tally in tallies], device=model.device)
    total: Any = trainer.strategy.reduce(rows, reduce_op="sum")
    for tally, row in zip(tallies, total.tolist(), strict=True):
        tally.sums = dict(zip(tally.sums, row, strict=True))
    return [tally.scores() for tally in tallies]


def _first_successes(lines: Iterable[Line], count: int) -> list[Line]:
    """Return the first of the sentences, over all processes, that the attack succeeded on."""
    found = sorted((line for line in lines if line["success"]), key=lambda line: line["id"])
    return sorted(gathered(found[:count]), key=lambda line: line["id"])[:count]


def _log(model: Model, name: str, value: float | None, prog_bar: bool = False) -> None:
    if value is not None:
        model.log(name, value, prog_bar=prog_bar)
