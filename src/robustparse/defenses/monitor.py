"""Robust scores while training: a fixed sample of development sentences is attacked."""

import copy
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch

from robustparse.attacks.attack import Attack
from robustparse.data.conllu import check_readable
from robustparse.data.datamodule import SAMPLE
from robustparse.defenses.budgets import at_budgets, percent_name
from robustparse.defenses.requirements import data_of, parser_of, tell_unmatched
from robustparse.errors import InputError, check_least, check_seed
from robustparse.evaluation.record import RecordLogger, RobustnessRecord
from robustparse.evaluation.tally import Line, Tally, result_line
from robustparse.models.victim import ModelVictim
from robustparse.types import Example

WHO = "a robustness evaluation"


class RobustnessEvaluation(pl.Callback):
    """Logs ``clean/las``, ``robust/las``, their UAS, ``robust/success`` and ``robust/queries``.

    With ``gammas`` the attack is also made at other edit budgets, and ``robust/uas@15``,
    ``robust/las@15`` and ``robust/success@15`` are logged for 15 % and so on; at budget 0 the
    scores are the clean ones. Every figure has its step and epoch. Loggers that can show them get
    some adversarial examples and the curve over the budgets besides.

    Sentences are split over the processes and the sums added up, so the figures do not depend on
    their number. Figures are logged when an epoch ends, after the validation: an ``EarlyStopping``
    on them stands behind this callback and has ``check_on_train_epoch_end``.

    Args:
        attack: the attack.
        every_n_epochs: how often.
        sentences: how many, drawn once from the development data.
        seed: of the draw.
        gammas: edit budgets to compare, shares of the words; none, only the attack as it is.
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
        check_least(WHO, every_n_epochs=every_n_epochs, sentences=sentences)
        check_least(WHO, 0, examples=examples)
        check_seed("seed", seed)
        self.attack = copy.copy(attack)
        self.every_n_epochs, self.sentences, self.seed = every_n_epochs, sentences, seed
        self.gammas, self.examples = sorted(gammas or []), examples
        self._budgets = at_budgets(self.attack, self.gammas)
        self._sample: list[Example] = []

    def on_fit_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Draw the sample.

        Raises:
            InputError: the module is no parser, or another evaluation logs the same figures; or a
                sentence of the sample cannot be read, or lacks what the attack goes by.
        """
        parser = parser_of(pl_module, WHO)
        found = [c for c in trainer.callbacks if isinstance(c, RobustnessEvaluation)]  # type: ignore[attr-defined]
        if len(found) > 1:
            raise InputError(
                f"trainer.callbacks has {len(found)} robustness evaluations, whose figures have "
                "the same names; keep one of them (its gammas compare edit budgets), and make "
                "other attacks on a checkpoint with robustparse attack"
            )
        data = data_of(trainer, WHO)
        examples, path = data.examples("dev"), data.path("dev") or SAMPLE
        order = np.random.Generator(np.random.Philox(self.seed)).permutation(len(examples))
        self._sample = [examples[index] for index in sorted(order[: self.sentences])]
        # Where nothing is validated nobody else has looked at them.
        check_readable(self._sample, path, parser.check, self.attack.punctuation)
        check_readable(self._sample, path, self.attack.check)
        tell_unmatched(examples, self.attack.constraints)

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Attack with the current weights and log."""
        if (trainer.current_epoch + 1) % self.every_n_epochs:
            return
        victim = ModelVictim(parser_of(pl_module, WHO))
        own = self._sample[trainer.global_rank :: trainer.world_size]
        as_given = getattr(self.attack.search, "gamma", None)
        with trainer.precision_plugin.forward_context():
            lines = [result_line(result) for result in self.attack.run(own, victim)]
            given = _tally(lines)
            tallies = {
                # The attack as given is not made twice.
                gamma: given if gamma == as_given else _tally(map(result_line, a.run(own, victim)))
                for gamma, a in self._budgets.items()
            }
        total, *others = _summed(trainer, pl_module, [given, *tallies.values()])
        curve = self._curve(total, dict(zip(tallies, others, strict=True)))
        _log(pl_module, _figures(total))
        for gamma, scores in curve.items():
            _log(pl_module, {percent_name(f"robust/{n}", gamma): v for n, v in scores.items()})
        record = RobustnessRecord(curve, _told(lines, self.examples))
        # Lightning logs what an epoch ends with at the step of its last batch.
        step = max(0, trainer.global_step - 1)
        for logger in trainer.loggers:
            if isinstance(logger, RecordLogger):
                logger.log_robustness(record, step)

    def _curve(
        self, total: dict[str, Any], others: dict[float, dict[str, Any]]
    ) -> dict[float, dict[str, float]]:
        """Budget -> scores, without those that were not computed."""
        curve = {}
        for gamma in self.gammas:
            scores = others[gamma] if gamma else {"attacked": total["clean"], "success_rate": 0.0}
            found = {**scores["attacked"], "success": scores["success_rate"]}
            curve[gamma] = {name: value for name, value in found.items() if value is not None}
        return curve


def _tally(lines: Iterable[Line]) -> Tally:
    tally = Tally()
    for line in lines:
        tally.add(line)
    return tally


def _summed(
    trainer: pl.Trainer, module: pl.LightningModule, tallies: list[Tally]
) -> list[dict[str, Any]]:
    """Return the scores of tallies, each added up over the processes."""
    rows = [[tally.sums[name] for name in Tally.NAMES] for tally in tallies]
    total = trainer.strategy.reduce(torch.tensor(rows, device=module.device), reduce_op="sum")
    if not isinstance(total, torch.Tensor):
        raise TypeError("the strategy reduced a tensor to something else")
    return [Tally(dict(zip(Tally.NAMES, row, strict=True))).scores() for row in total.tolist()]


def _told(lines: Iterable[Line], count: int) -> list[Line]:
    """Return the first of the sentences, over all processes, that the attack succeeded on."""
    found = sorted((line for line in lines if line["success"]), key=lambda line: line["id"])
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        parts: list[list[Line]] = [[] for _ in range(torch.distributed.get_world_size())]
        torch.distributed.all_gather_object(parts, found[:count])
        found = sorted((line for part in parts for line in part), key=lambda line: line["id"])
    return found[:count]


def _log(module: pl.LightningModule, figures: dict[str, float | None]) -> None:
    for name, value in figures.items():
        if value is not None:
            module.log(name, value, prog_bar=name.endswith("las"))


def _figures(scores: dict[str, Any]) -> dict[str, float | None]:
    """Return the tally's scores by the names they are logged under."""
    return {
        "clean/uas": scores["clean"]["uas"],
        "clean/las": scores["clean"]["las"],
        "robust/uas": scores["attacked"]["uas"],
        "robust/las": scores["attacked"]["las"],
        "robust/success": scores["success_rate"],
        "robust/queries": scores["queries_per_sentence"]["charged"],
    }
