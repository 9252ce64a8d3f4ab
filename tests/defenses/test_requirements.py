"""Defenses reject the models and data of other libraries."""

import pytest
import torch
from pytorch_lightning.demos.boring_classes import BoringModel
from pytorch_lightning.strategies import DeepSpeedStrategy, FSDPStrategy, ModelParallelStrategy

from robustparse.defenses import FGM, RobustnessEvaluation, SubstitutionAdversary
from robustparse.errors import InputError
from sample_runs import lexicon_attack, trained_parser, trainer


@pytest.mark.parametrize(
    ("defense", "owner"),
    [
        (RobustnessEvaluation, "robustness evaluation"),
        (SubstitutionAdversary, "substitution adversary"),
    ],
)
@pytest.mark.parametrize(
    ("model", "key", "message"),
    [
        (trained_parser, "data", "must be a DataModule, got NoneType"),
        (BoringModel, "model", "must be a robustparse model, got BoringModel"),
    ],
)
def test_models_and_data_of_other_libraries(defense, owner, model, key, message):
    loader = torch.utils.data.DataLoader([0.0])
    with pytest.raises(InputError) as error:
        trainer(defense(lexicon_attack())).fit(model(), loader)
    assert (error.value.key, error.value.found) == (f"{owner}: {key}", message)


@pytest.mark.parametrize("strategy", [DeepSpeedStrategy, FSDPStrategy, ModelParallelStrategy])
@pytest.mark.parametrize("defense", [FGM(), SubstitutionAdversary(lexicon_attack())])
def test_a_model_divided_between_processes(strategy, defense, monkeypatch):
    run = trainer(defense)
    # These strategies cannot be chosen without a GPU.
    monkeypatch.setattr(run._accelerator_connector, "strategy", object.__new__(strategy))
    with pytest.raises(InputError) as error:
        defense.on_fit_start(run, trained_parser())
    assert error.value.key == "trainer.strategy"
