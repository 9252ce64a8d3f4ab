"""Gradient adversaries under ``16-mixed``: half precision has no numbers below 6e-8."""

import pytest
import torch
from pytorch_lightning.plugins import MixedPrecision

from robustparse.defenses.passes import Passes
from robustparse.defenses.pgd import PGD
from sample_runs import trainer


@pytest.mark.parametrize("scale", [1.0, 2.0**14])
def test_the_ascent_sees_gradients_too_small_for_half_precision(
    make_parser, data, monkeypatch, scale
):
    """Of a loss so small that its gradient is zero in half precision unless scaled."""
    found = []
    ascend = Passes.gradient

    def kept(self: Passes, delta: torch.Tensor) -> torch.Tensor:
        found.append(ascend(self, delta))
        return found[-1]

    monkeypatch.setattr(Passes, "gradient", kept)
    parser = make_parser(dropout=0.0)
    whole = type(parser).loss
    monkeypatch.setattr(
        type(parser), "loss", lambda *given: (1e-8 * whole(*given)[0].half(), whole(*given)[1])
    )
    scaler = torch.amp.GradScaler("cpu", init_scale=scale)
    run = trainer(
        PGD(epsilon=1.0, steps=2, random_start=True),
        max_steps=1,
        plugins=[MixedPrecision("16-mixed", "cpu", scaler)],
    )
    run.fit(parser, datamodule=data)
    assert len(found) == 2
    assert all(bool(gradient.any()) == (scale > 1) for gradient in found)
