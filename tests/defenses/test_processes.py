"""Two processes train with every defense as one does: same parameters, same values."""

from collections.abc import Callable
from types import MethodType
from typing import Any

import pytest
import pytorch_lightning as pl
import torch

from robustparse.data.treebank import TreebankDataModule
from robustparse.defenses import (
    FGM,
    PGD,
    FreeLB,
    PerturbationAdversary,
    RobustnessEvaluation,
    SubstitutionAdversary,
)
from robustparse.models.dependency.biaffine import BiaffineParser
from robustparse.perturbations import Casing, FinalStop, Typos
from robustparse.tracking.csv import CsvLogger
from robustparse.tracking.examples import FOLDER
from sample_runs import lexicon_attack, sentences, trained_parser, trainer, write_sample

CHEAP = {"ranking": "random", "share_budget": True}


def sgd(self: BiaffineParser) -> torch.optim.Optimizer:
    """Adam would blow rounding errors of a zero gradient up to whole steps."""
    return torch.optim.SGD(self.parameters(), 0.05)


def parser_without_dropout() -> BiaffineParser:
    parser = trained_parser().train()
    parser.dropout = parser.encoder.dropout = 0.0
    for module in parser.modules():
        if hasattr(module, "dropout"):
            module.dropout = 0.0
    parser.configure_optimizers = MethodType(sgd, parser)
    return parser


def substitution(**settings: Any) -> SubstitutionAdversary:
    return SubstitutionAdversary(lexicon_attack(CHEAP), fraction=0.4, seed=2, **settings)


def noise(**settings: Any) -> PerturbationAdversary:
    return PerturbationAdversary([Typos(), FinalStop(), Casing()], **settings)


def monitor() -> RobustnessEvaluation:
    return RobustnessEvaluation(lexicon_attack(), every_n_epochs=2, sentences=9, gammas=[0.0, 0.3])


DEFENSES: dict[str, Callable[[], list[pl.Callback]]] = {
    "fgm": lambda: [FGM(epsilon=1.5, weight=0.7), monitor()],
    "pgd": lambda: [PGD(epsilon=1.5, random_start=True, mix="mean", seed=4)],
    "pgd without clean passes": lambda: [PGD(epsilon=1.5, random_start=True, mix="adv", seed=4)],
    "freelb": lambda: [FreeLB(epsilon=1.5, seed=4)],
    "substitution": lambda: [substitution(budget=6)],
    "replacing": lambda: [substitution(mode="replace")],
    "noise": lambda: [noise(seed=1, mode="replace"), noise(seed=2, fraction=0.3)],
    "both": lambda: [
        substitution(budget=6),
        PGD(epsilon=1.5, random_start=True),
        monitor(),
    ],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", DEFENSES)
def test_two_processes_equal_one(tmp_path, name):
    path = write_sample(tmp_path / "s-train.conllu", sentences(30))
    write_sample(tmp_path / "s-dev.conllu", sentences(15, "dev"))
    runs: list[tuple[dict[str, torch.Tensor], dict[str, float]]] = []
    for settings in ({"devices": 1}, {"devices": 2, "strategy": "ddp_fork"}):
        parser = parser_without_dropout()
        data = TreebankDataModule(folder=str(path.parent), batch_words=90)
        run = trainer(
            *DEFENSES[name](),
            **settings,
            max_epochs=2,
            accumulate_grad_batches=2,
            gradient_clip_val=0.5,
            log_every_n_steps=1,
            default_root_dir=str(tmp_path),
            logger=CsvLogger(str(tmp_path / f"run{settings['devices']}")),
        )
        run.fit(parser, datamodule=data)
        assert run.global_step == 4 or settings["devices"] == 2  # its steps are its children's
        values = {key: float(value) for key, value in run.callback_metrics.items()}
        runs.append((parser.state_dict(), values))
    (one, values), (two, others) = runs
    assert not torch.equal(one["arc_attn.weight"], trained_parser().arc_attn.weight)
    for key, weight in one.items():
        torch.testing.assert_close(two[key], weight, rtol=0, atol=1e-12)
    monitored = name in ("fgm", "both")
    names = [key for key in values if key.startswith(("clean/", "robust/"))]
    assert len(names) == 12 * monitored
    assert {key: values[key] for key in names} == {key: others[key] for key in names}
    first, second = (
        {page.name: page.read_text() for page in (tmp_path / run / FOLDER).glob("*")}
        for run in ("run1", "run2")
    )
    assert len(first) == monitored
    assert first == second
