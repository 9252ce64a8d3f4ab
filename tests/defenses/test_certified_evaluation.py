"""Certified scores logged while training equal those of ``robustparse.certify`` on the sample."""

from pathlib import Path
from typing import Any

import pytest
import pytorch_lightning as pl
import torch
from jsonargparse import ArgumentParser
from pytorch_lightning.callbacks import EarlyStopping
from pytorch_lightning.demos.boring_classes import BoringModel

import robustparse as rp
from robustparse.data.treebank_datamodule import TreebankDataModule
from robustparse.defenses import CertifiedEvaluation
from robustparse.errors import InputError
from robustparse.types import Example
from sample_runs import sample_folder, sample_table, trained_parser, trainer


class Watch(pl.Callback):
    """The weights and the logged values at the end of each epoch."""

    def __init__(self) -> None:
        self.weights: list[dict[str, torch.Tensor]] = []
        self.values: list[dict[str, float]] = []

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        state = {name: weight.clone() for name, weight in pl_module.state_dict().items()}
        self.weights.append(state)
        logged = trainer.callback_metrics.items()
        names = {key: float(value) for key, value in logged if key.startswith("certified/")}
        self.values.append(names)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> TreebankDataModule:
    return sample_folder(tmp_path_factory.mktemp("sample"), 25)


@pytest.mark.parametrize(("edits", "cap"), [(1, 1000), ("all", 6)])
def test_values_are_those_of_certify(data, edits, cap):
    parser, watch = trained_parser().train(), Watch()
    monitor = CertifiedEvaluation(
        sample_table(), edits=edits, cap=cap, every_n_epochs=2, sentences=8, seed=1
    )
    stop = EarlyStopping("certified/las", mode="max", check_on_train_epoch_end=True, strict=False)
    run = trainer(monitor, watch, stop, max_epochs=2)
    run.fit(parser, datamodule=data)
    assert not watch.values[0]  # only every second epoch
    examples: list[Example] = monitor._sample
    assert len({example.id for example in examples}) == 8
    parser.load_state_dict(watch.weights[1])
    results = rp.certify(parser.eval(), examples, sample_table(), edits=[edits], cap=cap)
    bounds = results.summary["certified"][str(edits)]
    share = 100 * bounds["undecided"] / 8
    expected: dict[str, Any] = {**bounds["lower"], "undecided": share}
    assert watch.values[1] == {
        f"certified/{name}": pytest.approx(value, abs=1e-4) for name, value in expected.items()
    }
    assert bounds["lower"]["las"] < results.summary["clean"]["las"]
    assert (share > 0) == (cap == 6)


def test_a_configuration_names_the_file_of_a_table(tmp_path: Path) -> None:
    sample_table().write(tmp_path / "table.jsonl")
    parser = ArgumentParser(exit_on_error=False)
    parser.add_subclass_arguments(pl.Callback, "callback")
    settings = {"table": str(tmp_path / "table.jsonl"), "edits": "all"}
    name = "robustparse.defenses.CertifiedEvaluation"
    config = parser.parse_object({"callback": {"class_path": name, "init_args": settings}})
    monitor = parser.instantiate_classes(config).callback
    assert monitor.exhaustive.substitutes.digest == sample_table().digest
    assert monitor.exhaustive.edits == ["all"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"every_n_epochs": 0},
        {"sentences": 0},
        {"seed": -1},
        {"cap": 0},
        {"edits": 0},
        {"table": "missing.jsonl"},
    ],
    ids=str,
)
def test_settings_that_cannot_be_used(wrong, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError):
        CertifiedEvaluation(**{"table": sample_table(), **wrong})


def test_a_second_one_and_models_of_other_libraries(data):
    two = [CertifiedEvaluation(sample_table(), sentences=5) for _ in range(2)]
    with pytest.raises(InputError) as error:
        trainer(*two).fit(trained_parser(), datamodule=data)
    assert error.value.key == "trainer.callbacks"
    loader = torch.utils.data.DataLoader([0.0])
    with pytest.raises(InputError) as error:
        trainer(two[0]).fit(BoringModel(), loader)
    assert error.value.key == "certified evaluation: model"
