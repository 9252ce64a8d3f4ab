"""FGM through a real Trainer against a loss written out by hand, in float64."""

import copy
from typing import Any

import pytest
import pytorch_lightning as pl
import torch
from gradient_by_hand import (
    EPSILON,
    WEIGHT,
    Recorder,
    batches,
    listen,
    same,
    steps_by_hand,
    total_by_hand,
    with_sgd,
)

from robustparse.defenses.fgm import FGM
from robustparse.errors import InputError
from sample_runs import trainer


@pytest.mark.parametrize(("accumulate", "clip"), [(1, None), (1, 0.5), (2, None), (2, 0.5)])
def test_training_equals_the_loss_written_out(make_parser, data, accumulate, clip):
    parser = with_sgd(make_parser(dropout=0.0))
    expected = copy.deepcopy(parser)
    recorder = Recorder()
    trainer(
        FGM(epsilon=EPSILON, weight=WEIGHT),
        recorder,
        max_epochs=2,
        accumulate_grad_batches=accumulate,
        gradient_clip_val=clip,
    ).fit(parser, datamodule=data)
    gradients = steps_by_hand(expected, batches(expected, data, 2), accumulate, clip)
    assert len(recorder.gradients) == len(gradients) == 4 // accumulate
    for ours, theirs in zip(recorder.gradients, gradients, strict=True):
        assert set(ours) == set(theirs)
        for name, gradient in ours.items():
            same(gradient, theirs[name])
    for name, weight in parser.state_dict().items():
        same(weight, expected.state_dict()[name])


def test_a_step_with_the_parsers_own_optimizer(make_parser, data):
    parser = make_parser(dropout=0.0)
    expected = copy.deepcopy(parser)
    adam = torch.optim.Adam(expected.parameters(), 2e-3, betas=(0.9, 0.9), eps=1e-12)
    adversary = FGM(epsilon=EPSILON, weight=WEIGHT)
    trainer(adversary, max_steps=1).fit(parser, datamodule=data)
    total_by_hand(expected, batches(expected, data)[0][0]).backward()
    noise = {name: weight.grad.abs() < 1e-10 for name, weight in expected.named_parameters()}
    adam.step()
    for name, weight in parser.named_parameters():  # Adam makes a full step of a rounding error
        same(weight[~noise[name]], expected.state_dict()[name][~noise[name]])


def test_a_sentences_offset_has_the_norm_epsilon_and_spares_root_and_padding(make_parser, data):
    data.batch_words = 15
    parser = with_sgd(make_parser(dropout=0.0))
    heard = listen(parser)
    trainer(FGM(epsilon=2.5)).fit(parser, datamodule=data)
    (batch, clean), (again, delta) = heard
    assert batch is again
    assert len(batch) == 3
    assert not clean.any()
    same(delta.flatten(1).norm(dim=1), torch.full((3,), 2.5, dtype=torch.float64))
    assert not delta[:, 0].any()
    assert not delta[:, 1:][~batch.mask].any()
    assert (delta[:, 1:][batch.mask].abs().sum(-1) > 0).all()


def test_an_offset_does_not_depend_on_the_rest_of_the_batch(make_parser, data):
    deltas: list[dict[int, torch.Tensor]] = []
    for batch_words in (15, 8):
        data.batch_words = batch_words
        parser = with_sgd(make_parser(dropout=0.0), rate=0.0)  # the weights stay
        heard = listen(parser)
        trainer(FGM(epsilon=EPSILON)).fit(parser, datamodule=data)
        deltas.append({})
        for batch, delta in heard[1::2]:
            for row, (id_, length) in enumerate(zip(batch.ids, batch.lengths, strict=True)):
                deltas[-1][int(id_)] = delta[row, : 1 + length]
    together, apart = deltas
    assert set(together) == set(apart) == {0, 1, 2}
    for id_, delta in together.items():
        same(delta, apart[id_])


class Failing(pl.Callback):
    def on_before_optimizer_step(self, *_: Any) -> None:
        raise KeyError("broken")


def test_the_parser_is_left_without_an_offset(make_parser, data):
    parser = make_parser()
    heard = listen(parser)
    trainer(FGM()).fit(parser, datamodule=data)
    assert len(heard) == 4
    assert parser.delta_source is None
    with pytest.raises(KeyError, match="broken"):
        trainer(FGM(), Failing()).fit(parser, datamodule=data)
    assert parser.delta_source is None
    heard.clear()
    trainer().fit(parser, datamodule=data)
    assert [delta for _, delta in heard] == [None, None]


@pytest.mark.parametrize("value", [0.0, -1.0])
def test_weight_out_of_range(value):
    with pytest.raises(InputError, match=f"weight must be > 0, got {value}"):
        FGM(weight=value)
