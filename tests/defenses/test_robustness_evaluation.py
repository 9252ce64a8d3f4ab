"""Robust scores logged while training equal those of the same attack run by itself."""

from typing import Any

import pytest
import pytorch_lightning as pl
import torch
from pytorch_lightning.loggers.logger import DummyLogger

from robustparse.attacks.candidates.lexicon import Lexicon
from robustparse.attacks.results import AttackResult
from robustparse.data.treebank_datamodule import TreebankDataModule
from robustparse.defenses.robustness_evaluation import RobustnessEvaluation
from robustparse.errors import InputError
from robustparse.evaluation.example_records import example_record
from robustparse.models.victim import ModelVictim
from robustparse.tasks.dependency import DEPENDENCY
from sample_runs import lexicon_attack, sample_folder, trained_parser, trainer

NAMES = ("clean/uas", "clean/las", "robust/uas", "robust/las", "robust/success", "robust/queries")


class Memory(DummyLogger):
    """What was logged, by epoch."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: dict[int, dict[str, float]] = {}

    def log_metrics(self, metrics: Any, step: Any = None) -> None:
        known = {name: value for name, value in metrics.items() if name in NAMES}
        if known:
            self.rows[int(metrics["epoch"])] = known


class Snapshots(pl.Callback):
    """The weights at the end of each epoch."""

    def __init__(self) -> None:
        self.weights: list[dict[str, torch.Tensor]] = []

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        state = {name: weight.clone() for name, weight in pl_module.state_dict().items()}
        self.weights.append(state)


class Spy(RobustnessEvaluation):
    """Keeps which sentences were attacked, and the seed."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.asked: list[tuple[list[int], int]] = []
        run = self.attack.run

        def spying(examples: Any, victim: Any, statistics: Any) -> Any:
            self.asked.append(([example.id for example in examples], self.attack.seed))
            return run(examples, victim, statistics)

        self.attack.run = spying


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> TreebankDataModule:
    return sample_folder(tmp_path_factory.mktemp("sample"), 40)


def by_hand(results: list[AttackResult]) -> dict[str, float]:
    lines = [example_record(DEPENDENCY, result) for result in results]
    words = sum(line["counted"] for line in lines)
    return {
        "clean/uas": 100 * sum(line["clean"]["correct_heads"] for line in lines) / words,
        "clean/las": 100 * sum(line["clean"]["correct_labels"] for line in lines) / words,
        "robust/uas": 100 * sum(line["attacked"]["correct_heads"] for line in lines) / words,
        "robust/las": 100 * sum(line["attacked"]["correct_labels"] for line in lines) / words,
        "robust/success": 100 * sum(r.success for r in results) / len(results),
        "robust/queries": sum(r.charged for r in results) / len(results),
    }


def test_values_are_those_of_the_attack_run_by_itself(data):
    parser, memory, snapshots = trained_parser().train(), Memory(), Snapshots()
    monitor = Spy(lexicon_attack(seed=4), every_n_epochs=2, sentences=15, seed=1)
    run = trainer(snapshots, monitor, max_epochs=4, logger=memory)
    run.fit(parser, datamodule=data)
    assert list(memory.rows) == [1, 3]
    ids, _ = monitor.asked[0]
    assert monitor.asked == [(ids, 4), (ids, 4)]
    assert len(set(ids)) == 15
    assert ids != list(range(15))
    sample = [data.examples("dev")[index] for index in ids]
    for epoch, row in memory.rows.items():
        parser.load_state_dict(snapshots.weights[epoch])
        expected = by_hand(list(lexicon_attack(seed=4).run(sample, ModelVictim([parser]))))
        assert row == {name: pytest.approx(expected[name], abs=1e-4) for name in NAMES}
        assert row["robust/las"] < row["clean/las"]
    assert memory.rows[1] != memory.rows[3]
    assert {name for name in NAMES if name in run.callback_metrics} == set(NAMES)


def test_an_attack_that_can_change_nothing_is_no_robustness(data, caplog):
    attack = lexicon_attack()
    attack.candidates = Lexicon({"zyx": ["zyxt"]})
    monitor = RobustnessEvaluation(attack, sentences=7)
    trainer(monitor, max_epochs=2).fit(trained_parser().train(), datamodule=data)
    found = [one for one in caplog.messages if one.startswith("robustness evaluation: ")]
    assert len(found) == 2
    assert all(
        " could change only 0 of 7 sentences (7 have an attackable word)" in one for one in found
    )


def test_training_continues_as_if_nothing_had_been_attacked(data):
    final = []
    for callbacks in ([], [RobustnessEvaluation(lexicon_attack(), sentences=10)]):
        parser = trained_parser().train()
        parser.encoder.lstm.eval()
        trainer(*callbacks, max_epochs=2).fit(parser, datamodule=data)
        assert parser.training
        assert not parser.encoder.lstm.training
        final.append(parser.state_dict())
    for name, weight in final[0].items():
        assert torch.equal(weight, final[1][name])


def test_another_seed_draws_another_sample_and_a_small_file_is_taken_whole(data):
    drawn = []
    for seed, count in ((0, 15), (0, 15), (1, 15), (0, 1000)):
        monitor = Spy(lexicon_attack(budget=1), sentences=count, seed=seed)
        trainer(monitor).fit(trained_parser(), datamodule=data)
        drawn.append(monitor.asked[0][0])
    first, again, other, whole = drawn
    assert first == again != other
    assert whole == list(range(40))


@pytest.mark.parametrize(
    ("setting", "value", "found"),
    [
        ("every_n_epochs", 0, "must be >= 1, got 0"),
        ("sentences", 0, "must be >= 1, got 0"),
        ("seed", -1, "must be >= 0 and below 2**64, got -1"),
        ("examples", -1, "must be >= 0, got -1"),
    ],
)
def test_settings_out_of_range(setting, value, found):
    with pytest.raises(InputError) as error:
        RobustnessEvaluation(lexicon_attack(), **{setting: value})
    assert error.value.key == f"robustness evaluation: {setting}"
    assert error.value.found == found


def test_a_second_one_would_log_the_same_values(data):
    two = [RobustnessEvaluation(lexicon_attack(), sentences=5) for _ in range(2)]
    with pytest.raises(InputError, match="has 2 robustness evaluations, whose values") as error:
        trainer(*two).fit(trained_parser(), datamodule=data)
    assert error.value.key == "trainer.callbacks"
    assert error.value.remedy.startswith("keep one of them")
