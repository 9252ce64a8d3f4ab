"""What every gradient adversary refuses: settings out of range, a second one, no parser."""

from typing import Any

import pytest
import pytorch_lightning as pl
import torch
from gradient_methods import METHODS, every_method

from robustparse.defenses.fgm import FGM
from robustparse.defenses.freelb import FreeLB
from robustparse.defenses.pgd import PGD
from robustparse.errors import InputError
from sample_runs import trainer


@every_method
@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"epsilon": 0.0}, "epsilon must be > 0, got 0.0"),
        ({"epsilon": -1.0}, "epsilon must be > 0, got -1.0"),
        ({"epsilon": float("nan")}, "epsilon must be > 0, got nan"),
        ({"epsilon": float("inf")}, "epsilon must be finite, got inf"),
        ({"norm": "l1"}, "norm must be one of l2, linf, got 'l1'"),
        ({"per": "batch"}, "per must be one of sentence, token, got 'batch'"),
        ({"seed": -1}, r"seed must be >= 0 and below 2\*\*64, got -1"),
        ({"start_step": -1}, "start_step must be >= 0, got -1"),
        ({"every": 0}, "every must be >= 1, got 0"),
        ({"epsilon_warmup_steps": -1}, "epsilon_warmup_steps must be >= 0, got -1"),
    ],
)
def test_settings_out_of_range(name, settings, says):
    with pytest.raises(InputError, match=says):
        METHODS[name](**settings)


@pytest.mark.parametrize("method", [PGD, FreeLB])
@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"steps": 0}, "steps must be >= 1, got 0"),
        ({"step_size": 0.0}, "step_size must be > 0, got 0.0"),
        ({"step_size": -0.5}, "step_size must be > 0, got -0.5"),
    ],
)
def test_an_ascent_out_of_range(method, settings, says):
    with pytest.raises(InputError, match=says):
        method(**settings)


@pytest.mark.parametrize("method", [FGM, PGD])
def test_a_mix_that_does_not_exist_or_leaves_the_weight_without_meaning(method):
    with pytest.raises(InputError, match="mix must be one of sum, mean, adv, got 'max'"):
        method(mix="max")
    with pytest.raises(InputError, match=r"weight is 0\.5, but under mix: adv there is nothing"):
        method(mix="adv", weight=0.5)


@pytest.mark.parametrize("second", [PGD, FGM, FreeLB])
def test_two_gradient_adversaries_are_refused(make_parser, data, second):
    with pytest.raises(InputError, match=f"PGD and {second.__name__}.*one delta"):
        trainer(PGD(), second()).fit(make_parser(), datamodule=data)


class Stranger(pl.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(1, 1)

    def training_step(self, batch: Any, batch_idx: int) -> torch.Tensor:
        raise AssertionError("never reached")

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), 0.1)


@every_method
def test_only_parsers_can_be_trained(name):
    loader = torch.utils.data.DataLoader([0.0])
    with pytest.raises(InputError, match="needs a robustparse parser, got Stranger"):
        trainer(METHODS[name]()).fit(Stranger(), loader)
