"""Two processes train with every defense as one does: same parameters, same values."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from types import MethodType
from typing import Any

import pytest
import pytorch_lightning as pl
import torch

from robustparse.attacks.attack import Attack
from robustparse.data.datamodule import Batches, DataModule
from robustparse.data.text_datamodule import TextDataModule
from robustparse.defenses import (
    ASCC,
    FGM,
    PGD,
    CertifiedEvaluation,
    FreeLB,
    PerturbationAdversary,
    RobustnessEvaluation,
    SubstitutionAdversary,
)
from robustparse.models.base import Model
from robustparse.perturbations import Casing, FinalStop, Typos
from robustparse.tracking.csv import CsvLogger
from robustparse.tracking.examples import FOLDER
from sample_runs import (
    lexicon_attack,
    sample_folder,
    sample_table,
    sentences,
    trained_parser,
    trainer,
    write_table,
)
from sample_texts import review_attack, texts, trained_classifier, write_texts

CHEAP = {"ranking": "random"}


def sgd(self: Model) -> torch.optim.Optimizer:
    """Adam would blow rounding errors of a zero gradient up to whole steps."""
    return torch.optim.SGD(self.parameters(), 0.05)


def without_dropout(model: Model) -> Model:
    model.train()
    for module in model.modules():
        if hasattr(module, "dropout"):
            module.dropout = 0.0
    model.configure_optimizers = MethodType(sgd, model)
    return model


def treebank(folder: Path) -> DataModule:
    return sample_folder(folder, 15, words=90)


def reviews(folder: Path) -> DataModule:
    write_texts(folder / "s-train.tsv", texts(30))
    write_texts(folder / "s-dev.tsv", texts(15, "dev"))
    return TextDataModule(folder=str(folder), batches=Batches(texts=9))


def substitution(attack: Callable[..., Attack], **settings: Any) -> SubstitutionAdversary:
    return SubstitutionAdversary(attack(CHEAP), fraction=0.4, seed=2, **settings)


def noise(**settings: Any) -> PerturbationAdversary:
    return PerturbationAdversary([Typos(), FinalStop(), Casing()], **settings)


def monitor(attack: Callable[..., Attack]) -> RobustnessEvaluation:
    return RobustnessEvaluation(attack(), every_n_epochs=2, sentences=9, gammas=[0.0, 0.3])


def mixtures() -> ASCC:
    table = write_table(Path(tempfile.mkdtemp()) / "table.jsonl", [*sentences(30), *texts(30)])
    return ASCC(str(table), steps=2, seed=4)


def proof() -> CertifiedEvaluation:
    return CertifiedEvaluation(sample_table(), cap=9, sentences=9, every_n_epochs=2)


Defense = Callable[[Callable[..., Attack]], list[pl.Callback]]
DEFENSES: dict[str, Defense] = {
    "fgm": lambda attack: [FGM(epsilon=1.5, weight=0.7), monitor(attack), proof()],
    "pgd": lambda _: [PGD(epsilon=1.5, random_start=True, mix="mean", seed=4)],
    "pgd without clean passes": lambda _: [PGD(epsilon=1.5, random_start=True, mix="adv", seed=4)],
    "freelb": lambda _: [FreeLB(epsilon=1.5, seed=4)],
    "ascc": lambda _: [mixtures()],
    "substitution": lambda attack: [substitution(attack, budget=6)],
    "agreement": lambda attack: [substitution(attack, budget=6, loss="agreement")],
    "replacing": lambda attack: [substitution(attack, mode="replace")],
    "noise": lambda _: [noise(seed=1, mode="replace"), noise(seed=2, fraction=0.3)],
    "both": lambda attack: [
        substitution(attack, budget=6),
        PGD(epsilon=1.5, random_start=True),
        monitor(attack),
    ],
}


PARSER = (trained_parser, treebank, lexicon_attack, "arc_attn.weight")
CLASSIFIER = (trained_classifier, reviews, review_attack, "output.weight")
CASES = {name: (name, PARSER) for name in DEFENSES} | {
    f"{name} on texts": (name, CLASSIFIER) for name in ("both", "noise", "ascc", "agreement")
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_two_processes_equal_one(tmp_path, case):
    name, (make, data_in, attack, learnt) = CASES[case]
    runs: list[tuple[dict[str, torch.Tensor], dict[str, float]]] = []
    for settings in ({"devices": 1}, {"devices": 2, "strategy": "ddp_fork"}):
        model, data = without_dropout(make()), data_in(tmp_path)
        run = trainer(
            *DEFENSES[name](attack),
            **settings,
            max_epochs=2,
            accumulate_grad_batches=2,
            gradient_clip_val=0.5,
            log_every_n_steps=1,
            default_root_dir=str(tmp_path),
            logger=CsvLogger(str(tmp_path / f"run{settings['devices']}")),
        )
        run.fit(model, datamodule=data)
        assert run.global_step == 4 or settings["devices"] == 2  # its steps are its children's
        values = {key: float(value) for key, value in run.callback_metrics.items()}
        runs.append((model.state_dict(), values))
    (one, values), (two, others) = runs
    assert not torch.equal(one[learnt], make().state_dict()[learnt])
    for key, weight in one.items():
        torch.testing.assert_close(two[key], weight, rtol=0, atol=1e-12)
    monitored = name in ("fgm", "both")
    names = [key for key in values if key.startswith(("clean/", "robust/"))]
    # Of each score: clean, robust, at two budgets; and success, at these too, and queries.
    assert len(names) == (4 * len(make().task.scores.names) + 4) * monitored
    names += [key for key in values if key.startswith("certified/")]
    assert ("certified/las" in names) == (name == "fgm")
    assert {key: values[key] for key in names} == {key: others[key] for key in names}
    first, second = (
        {page.name: page.read_text() for page in (tmp_path / run / FOLDER).glob("*")}
        for run in ("run1", "run2")
    )
    assert len(first) == monitored
    assert first == second
