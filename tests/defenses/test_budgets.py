"""Robustness curves while training: a budget's values are those of the attack made at it."""

from typing import Any

import pytest
import pytorch_lightning as pl
from pytorch_lightning.loggers.logger import DummyLogger

from robustparse.attacks.results import AttackResult
from robustparse.data.treebank_datamodule import TreebankDataModule
from robustparse.defenses.robustness_evaluation import (
    RobustnessEvaluation,
    at_budgets,
    percent_name,
)
from robustparse.errors import InputError
from robustparse.evaluation.example_records import example_record
from robustparse.evaluation.records import RobustnessRecord
from robustparse.models.victim import ModelVictim
from robustparse.tasks.dependency import DEPENDENCY
from sample_runs import lexicon_attack, sample_folder, trained_parser, trainer

GAMMAS = [0.0, 0.05, 0.1, 0.15, 0.2]


class Memory(DummyLogger):
    """Values and records, by the step they were logged at."""

    def __init__(self) -> None:
        super().__init__()
        self.values: dict[int, dict[str, float]] = {}
        self.records: dict[int, RobustnessRecord] = {}

    def log_metrics(self, metrics: Any, step: Any = None) -> None:
        if any(name.startswith("robust/") for name in metrics):
            self.values[step] = metrics

    def log_robustness(self, record: RobustnessRecord, step: int) -> None:
        self.records[step] = record


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> TreebankDataModule:
    return sample_folder(tmp_path_factory.mktemp("sample"), 12)


TASK = DEPENDENCY


def scores(results: list[AttackResult]) -> dict[str, float]:
    lines = [example_record(TASK, result) for result in results]
    words = sum(line["counted"] for line in lines)
    return {
        "uas": 100 * sum(line["attacked"]["correct_heads"] for line in lines) / words,
        "las": 100 * sum(line["attacked"]["correct_labels"] for line in lines) / words,
        "success": 100 * sum(r.success for r in results) / len(results),
    }


def test_every_budget_is_the_attack_at_that_budget(data):
    parser, memory = trained_parser().train(), Memory()
    monitor = RobustnessEvaluation(
        lexicon_attack(seed=2), sentences=12, gammas=GAMMAS[::-1], examples=3
    )
    ran: list[float] = []
    for attack in (monitor.attack, *monitor._budgets.values()):
        attack.run = _counted(attack, ran)
    run = trainer(monitor, logger=memory)
    run.fit(parser, datamodule=data)
    assert ran == [0.15, 0.05, 0.1, 0.2]  # as it is given, then the others, nothing twice
    (step,) = memory.values
    assert step == run.global_step - 1
    values, record = memory.values[step], memory.records[step]
    victim, sample = ModelVictim([parser]), data.examples("dev")
    assert list(record.curve) == GAMMAS
    for gamma in GAMMAS:
        if gamma:
            results = list(lexicon_attack({"gamma": gamma}, seed=2).run(sample, victim))
            expected = scores(results)
        else:
            clean = {"uas": values["clean/uas"], "las": values["clean/las"]}
            expected = {**clean, "success": 0.0}
        for name, value in expected.items():
            logged = values[percent_name(f"robust/{name}", gamma)]
            assert logged == pytest.approx(value, abs=1e-4)
            assert record.curve[gamma][name] == pytest.approx(value, abs=1e-4)
    assert values["robust/las@15"] == values["robust/las"]
    las = [record.curve[gamma]["las"] for gamma in GAMMAS]
    assert las[0] > las[1] > las[4]
    found = sorted(lexicon_attack(seed=2).run(sample, victim), key=lambda result: result.id)
    assert (
        record.examples == [example_record(TASK, result) for result in found if result.success][:3]
    )


def _counted(attack: Any, ran: list[float]) -> Any:
    run = attack.run

    def counting(*arguments: Any) -> Any:
        ran.append(attack.search.gamma)
        return run(*arguments)

    return counting


def test_without_budgets_and_examples_there_is_nothing_more(data):
    memory = Memory()
    monitor = RobustnessEvaluation(lexicon_attack(), sentences=5, examples=0)
    trainer(monitor, logger=memory).fit(trained_parser(), datamodule=data)
    (record,) = memory.records.values()
    assert (dict(record.curve), list(record.examples)) == ({}, [])
    assert not any("@" in name for name in next(iter(memory.values.values())))


def test_names_of_budgets():
    names = [percent_name("robust/uas", gamma) for gamma in (0.0, 0.05, 0.07, 0.15, 0.125, 1.0)]
    assert [name.partition("@")[2] for name in names] == ["0", "5", "7", "15", "12.5", "100"]


def test_the_attack_given_is_not_changed():
    attack = lexicon_attack({"gamma": 0.3}, budget=9)
    made = at_budgets(attack, [0.2, 0.0, 0.1])
    assert [(gamma, one.search.gamma) for gamma, one in made.items()] == [(0.1, 0.1), (0.2, 0.2)]
    assert (attack.search.gamma, made[0.1].budget) == (0.3, 9)


class Unbounded:
    """A search without a budget."""


@pytest.mark.parametrize("gammas", [[0.1, 1.5], [-0.1], [0.1, 0.1]])
def test_budgets_out_of_range(gammas):
    with pytest.raises(InputError) as error:
        RobustnessEvaluation(lexicon_attack(), gammas=gammas)
    assert error.value.key == "gammas"
    assert error.value.found == f"must be different fractions in [0, 1], got {sorted(gammas)}"


def test_a_search_without_a_budget_has_no_curve():
    attack = lexicon_attack()
    attack.search = Unbounded()
    RobustnessEvaluation(attack)
    with pytest.raises(InputError, match="Unbounded has no edit budget") as error:
        RobustnessEvaluation(attack, gammas=[0.1])
    assert (error.value.key, error.value.expected) == (
        "gammas",
        "a search with a gamma, such as Zheng2020",
    )


class Stop(pl.Callback):
    """The epochs that were trained."""

    def __init__(self) -> None:
        self.epochs = 0

    def on_train_epoch_start(self, *_: Any) -> None:
        self.epochs += 1


def test_early_stopping_and_the_best_checkpoint_go_by_robust_scores(data, tmp_path):
    """With a rate of zero no score ever rises: patience 2 ends training after the third epoch."""
    parser, count = trained_parser(), Stop()
    parser.optimization.learning_rate = 0.0
    best = pl.callbacks.ModelCheckpoint(
        *(tmp_path, "best"), monitor="robust/las", mode="max", save_on_train_epoch_end=True
    )
    stop = pl.callbacks.EarlyStopping(
        "robust/las", mode="max", patience=2, check_on_train_epoch_end=True
    )
    monitor = RobustnessEvaluation(lexicon_attack(), sentences=5, examples=0)
    run = trainer(monitor, stop, best, count, max_epochs=9, enable_checkpointing=True)
    run.fit(parser, datamodule=data)
    assert count.epochs == 3
    assert float(best.best_model_score) == float(run.callback_metrics["robust/las"])
    assert (tmp_path / "best.ckpt").exists()
