"""FreeLB through a real Trainer against algorithm 1 of Zhu et al. 2020 by hand, in float64."""

import copy

import numpy as np
import pytest
import torch
from gradient_by_hand import (
    EPSILON,
    Recorder,
    ascent_by_hand,
    batches,
    listen,
    loss_at,
    same,
    sentence_step,
    start_by_hand,
    steps_by_hand,
    with_sgd,
)

from robustparse.data.batch import Batch
from robustparse.defenses.freelb import FreeLB
from robustparse.errors import InputError
from robustparse.models.dependency.biaffine import BiaffineParser
from sample_runs import trainer

SIZE, SEED, STEPS = 0.9, 7, 4


def adversary() -> FreeLB:
    return FreeLB(epsilon=EPSILON, step_size=SIZE, steps=STEPS, seed=SEED)


def cube(rng: np.random.Generator, length: int, dim: int) -> np.ndarray:
    return rng.uniform(-1, 1, (length, dim)) / (length * dim) ** 0.5


def offsets_by_hand(parser: BiaffineParser, batch: Batch, epoch: int) -> list[torch.Tensor]:
    start = start_by_hand(parser, batch, SEED, epoch, cube)
    return ascent_by_hand(parser, batch, start, STEPS - 1, SIZE, sentence_step)


def total_by_hand(parser: BiaffineParser, batch: Batch, epoch: int) -> torch.Tensor:
    deltas = offsets_by_hand(parser, batch, epoch)
    return sum(loss_at(parser, batch, delta) for delta in deltas) / STEPS


def test_every_pass_has_the_offset_of_the_algorithm(make_parser, data):
    parser = with_sgd(make_parser(dropout=0.0), rate=0.0)  # the weights stay
    expected = copy.deepcopy(parser)
    heard = listen(parser)
    trainer(adversary(), max_epochs=2).fit(parser, datamodule=data)
    assert len(heard) == 4 * STEPS  # and no pass more
    found = [delta for _, delta in heard]
    for epoch, given in enumerate(batches(expected, data, 2)):
        for batch in given:
            by_hand = offsets_by_hand(expected, batch, epoch)
            for delta in by_hand:
                same(found.pop(0), delta)
            assert by_hand[0].abs().max() > 1e-3
            norms = by_hand[-1].flatten(1).norm(dim=1)
            same(norms, torch.full_like(norms, EPSILON))  # the projection has work to do


@pytest.mark.parametrize(("accumulate", "clip"), [(1, None), (2, 0.5)])
def test_training_averages_the_gradients_of_all_passes(make_parser, data, accumulate, clip):
    parser = with_sgd(make_parser(dropout=0.0))
    expected = copy.deepcopy(parser)
    recorder = Recorder()
    settings = {"accumulate_grad_batches": accumulate, "gradient_clip_val": clip}
    trainer(adversary(), recorder, max_epochs=2, **settings).fit(parser, datamodule=data)
    epochs = batches(expected, data, 2)
    gradients = steps_by_hand(expected, epochs, accumulate, clip, total_by_hand)
    assert len(recorder.gradients) == len(gradients) == 4 // accumulate
    for ours, theirs in zip(recorder.gradients, gradients, strict=True):
        for name, gradient in ours.items():
            same(gradient, theirs[name])
    for name, weight in parser.state_dict().items():
        same(weight, expected.state_dict()[name])


def test_one_pass_from_zero_is_clean_training(make_parser, data):
    ends = []
    for callbacks in ([], [FreeLB(steps=1, random_start=False)]):
        parser = with_sgd(make_parser(dropout=0.33).train())
        trainer(*callbacks).fit(parser, datamodule=data)
        ends.append(parser.state_dict())
    for name, weight in ends[0].items():
        same(weight, ends[1][name])


@pytest.mark.parametrize(
    ("settings", "side"),
    [
        ({}, 2.0 / 60**0.5),
        ({"start_size": 0.5}, 0.5 / 60**0.5),
        ({"per": "token"}, 2.0 / 10**0.5),
        ({"norm": "linf", "start_size": 0.1}, 0.1),
    ],
)
def test_the_cube_of_random_starts(settings, side):
    rng = np.random.Generator(np.random.Philox(0))
    method = FreeLB(epsilon=2.0, **settings)
    drawn = 2.0 * np.stack([method.draw(rng, 6, 10) for _ in range(100)])
    assert drawn.max() <= side
    assert np.abs(np.sort(drawn, None) / side - np.linspace(-1, 1, drawn.size)).max() < 0.03


@pytest.mark.parametrize("value", [0.0, -1.0])
def test_start_size_out_of_range(value):
    with pytest.raises(InputError, match=f"start_size must be > 0, got {value}"):
        FreeLB(start_size=value)
