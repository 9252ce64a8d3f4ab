"""Two processes train with every defense as one does: same parameters, same figures."""

from types import MethodType
from typing import Any

import pytest
import pytorch_lightning as pl
import torch

from robustparse.data.treebank import TreebankDataModule
from robustparse.defenses.fgm import FGM
from robustparse.defenses.freelb import FreeLB
from robustparse.defenses.monitor import RobustnessEvaluation
from robustparse.defenses.pgd import PGD
from robustparse.defenses.substitution import SubstitutionAdversary
from robustparse.models.dependency.biaffine import BiaffineParser
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


def defense(name: str) -> list[pl.Callback]:
    substitution = SubstitutionAdversary(lexicon_attack(CHEAP), share=0.4, budget=6, seed=2)
    return {
        "gradient": [FGM(epsilon=1.5, weight=0.7)],
        "pgd": [PGD(epsilon=1.5, random_start=True, mix="mean", seed=4)],
        "pgd alone": [PGD(epsilon=1.5, random_start=True, mix="adv", seed=4)],
        "freelb": [FreeLB(epsilon=1.5, seed=4)],
        "substitution": [substitution],
        "replacing": [SubstitutionAdversary(lexicon_attack(CHEAP), share=0.4, mode="replace")],
        "both": [substitution, PGD(epsilon=1.5, random_start=True)],
    }[name]


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["gradient", "pgd", "pgd alone", "freelb", "substitution", "replacing", "both"]
)
def test_two_processes_equal_one(tmp_path, name):
    path = write_sample(tmp_path / "s-train.conllu", sentences(40))
    write_sample(tmp_path / "s-dev.conllu", sentences(15, "dev"))
    runs: list[tuple[dict[str, torch.Tensor], dict[str, float]]] = []
    for settings in ({"devices": 1}, {"devices": 2, "strategy": "ddp_fork"}):
        parser = parser_without_dropout()
        data = TreebankDataModule(folder=str(path.parent), batch_words=120)
        callbacks: list[Any] = defense(name)
        callbacks.append(RobustnessEvaluation(lexicon_attack(), sentences=9, gammas=[0.0, 0.3]))
        run = trainer(
            *callbacks,
            **settings,
            max_epochs=3,
            accumulate_grad_batches=2,
            gradient_clip_val=0.5,
            default_root_dir=str(tmp_path),
            logger=CsvLogger(str(tmp_path / f"run{settings['devices']}")),
        )
        run.fit(parser, datamodule=data)
        assert run.global_step == 6 or settings["devices"] == 2  # its steps are its children's
        figures = {key: float(value) for key, value in run.callback_metrics.items()}
        runs.append((parser.state_dict(), figures))
    (one, figures), (two, others) = runs
    assert not torch.equal(one["arc_attn.weight"], trained_parser().arc_attn.weight)
    for key, weight in one.items():
        torch.testing.assert_close(two[key], weight, rtol=0, atol=1e-12)
    names = [key for key in figures if key.startswith(("clean/", "robust/"))]
    assert len(names) == 12
    assert {key: figures[key] for key in names} == {key: others[key] for key in names}
    first, second = (
        {page.name: page.read_text() for page in (tmp_path / run / FOLDER).iterdir()}
        for run in ("run1", "run2")
    )
    assert len(first) == 3
    assert first == second
