"""The defense of docs/guides/own_parts.md does what it says."""

import sys
from pathlib import Path

import pytest
import pytorch_lightning as pl
import torch
import yaml
from gradient_by_hand import ByHand, Recorder, batches, listen, loss_at, same, with_sgd
from jsonargparse import ArgumentParser

from own_parts import MODULE, block, write_module
from robustparse.models.dependency.biaffine import BiaffineParser
from sample_runs import trainer


@pytest.fixture
def defense(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pl.Callback:
    """It, made as a configuration makes it."""
    write_module(tmp_path)
    monkeypatch.delitem(sys.modules, MODULE, raising=False)
    monkeypatch.syspath_prepend(str(tmp_path))
    parser = ArgumentParser()
    parser.add_argument("--callback", type=pl.Callback)
    (given,) = yaml.safe_load(block("A defense", "yaml"))["trainer"]["callbacks+"]
    callback: pl.Callback = parser.instantiate(parser.parse_object({"callback": given})).callback
    return callback


def test_the_defense_of_the_guide(make_parser, data, defense):
    parser = with_sgd(make_parser(dropout=0.0, layers=1), rate=0.0)
    expected: BiaffineParser = make_parser(dropout=0.0, layers=1).train()
    heard, recorder = listen(parser), Recorder()
    trainer(defense, recorder, max_steps=1).fit(parser, datamodule=data)
    batch = batches(expected, data)[0][0]
    clean, unit = ByHand(lambda: defense, (1, 1), size=1.0).deltas(expected, batch, 0)
    delta = 3.0 * unit
    losses = [loss_at(expected, batch, place) for place in (clean, delta, -delta)]
    parameters = dict(expected.named_parameters())
    gradients = torch.autograd.grad(sum(losses) / 3, list(parameters.values()))
    assert len(heard) == 3
    for (_, found), place in zip(heard, (clean, delta, -delta), strict=True):
        same(found, place)
    for name, gradient in zip(parameters, gradients, strict=True):
        same(recorder.gradients[0][name], gradient)
