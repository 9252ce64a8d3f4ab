"""PGD through a real Trainer against ascent and losses written out by hand, in float64."""

import copy
from typing import Any

import pytest
import torch
from gradient_by_hand import (
    EPSILON,
    WEIGHT,
    Recorder,
    ascent_by_hand,
    batches,
    linf_step,
    listen,
    loss_at,
    same,
    sentence_step,
    start_by_hand,
    steps_by_hand,
    token_step,
    with_sgd,
)

from robustparse.data.batch import Batch
from robustparse.defenses.fgm import FGM
from robustparse.defenses.norms import LinfBall, ball
from robustparse.defenses.pgd import PGD
from robustparse.models.dependency.biaffine import BiaffineParser
from sample_runs import trainer

SIZE, SEED = 0.9, 7
BALLS = {
    "l2 by sentence": ({}, sentence_step),
    "l2 by token": ({"per": "token"}, token_step),
    "linf": ({"norm": "linf"}, linf_step),
}


def zeros(parser: BiaffineParser, batch: Batch) -> torch.Tensor:
    return torch.zeros_like(parser.embed(batch)).detach()


def random_start(parser: BiaffineParser, batch: Batch, epoch: int, **kind: str) -> torch.Tensor:
    draw = ball(kind.get("norm", "l2"), kind.get("per", "sentence")).draw
    return start_by_hand(parser, batch, SEED, epoch, draw)


def largest_norm(delta: torch.Tensor, step: Any) -> torch.Tensor:
    if step is linf_step:
        return delta.abs().max()
    return (delta if step is token_step else delta.flatten(1)).norm(dim=-1).max()


@pytest.mark.parametrize("name", BALLS)
@pytest.mark.parametrize("anywhere", [False, True])
def test_every_pass_has_the_offset_of_the_loop_written_out(make_parser, data, name, anywhere):
    kind, step = BALLS[name]
    parser = with_sgd(make_parser(dropout=0.0), rate=0.0)  # the weights stay
    expected = copy.deepcopy(parser)
    heard = listen(parser)
    settings = {"epsilon": EPSILON, "steps": 3, "step_size": SIZE, "seed": SEED, **kind}
    trainer(PGD(random_start=anywhere, **settings)).fit(parser, datamodule=data)
    passes = 5 if anywhere else 4
    assert len(heard) == 2 * passes
    for index, batch in enumerate(batches(expected, data)[0]):
        deltas = [delta for _, delta in heard[index * passes : (index + 1) * passes]]
        assert not deltas[0].any()
        start = random_start(expected, batch, 0, **kind) if anywhere else zeros(expected, batch)
        by_hand = ascent_by_hand(expected, batch, start, 3, SIZE, step)
        for ours, theirs in zip(deltas[passes - 4 :], by_hand, strict=True):
            same(ours, theirs)
        # The projection has work to do.
        assert float(largest_norm(by_hand[-1], step)) == pytest.approx(EPSILON, rel=1e-12)


def total(mix: str, anywhere: bool) -> Any:
    def of(parser: BiaffineParser, batch: Batch, epoch: int) -> torch.Tensor:
        start = random_start(parser, batch, epoch) if anywhere else zeros(parser, batch)
        delta = ascent_by_hand(parser, batch, start, 3, SIZE)[-1]
        clean, adversarial = loss_at(parser, batch, None), loss_at(parser, batch, delta)
        if mix == "adv":
            return adversarial
        return (clean + WEIGHT * adversarial) * (0.5 if mix == "mean" else 1.0)

    return of


@pytest.mark.parametrize("mix", ["sum", "mean", "adv"])
@pytest.mark.parametrize("anywhere", [False, True])
def test_training_equals_the_loss_written_out(make_parser, data, mix, anywhere):
    parser = with_sgd(make_parser(dropout=0.0))
    expected = copy.deepcopy(parser)
    recorder = Recorder()
    adversary = PGD(
        epsilon=EPSILON,
        step_size=SIZE,
        random_start=anywhere,
        seed=SEED,
        mix=mix,
        weight=1.0 if mix == "adv" else WEIGHT,
    )
    settings = {"max_epochs": 2, "accumulate_grad_batches": 2, "gradient_clip_val": 0.5}
    trainer(adversary, recorder, **settings).fit(parser, datamodule=data)
    epochs = batches(expected, data, 2)
    gradients = steps_by_hand(expected, epochs, 2, 0.5, total(mix, anywhere))
    assert len(recorder.gradients) == len(gradients) == 2
    for ours, theirs in zip(recorder.gradients, gradients, strict=True):
        for name, gradient in ours.items():
            same(gradient, theirs[name])
    for name, weight in parser.state_dict().items():
        same(weight, expected.state_dict()[name])


@pytest.mark.parametrize("mix", ["sum", "mean", "adv"])
def test_one_step_from_zero_is_the_fast_gradient_method(make_parser, data, mix):
    ends = []
    for adversary in (
        FGM(epsilon=EPSILON, mix=mix),
        PGD(epsilon=EPSILON, steps=1, mix=mix),
    ):
        parser = with_sgd(make_parser(dropout=0.0))
        trainer(adversary).fit(parser, datamodule=data)
        ends.append(parser.state_dict())
    for name, weight in ends[0].items():
        same(weight, ends[1][name])


@pytest.mark.parametrize("mix", ["sum", "adv"])
def test_an_offset_does_not_depend_on_the_rest_of_the_batch(make_parser, data, mix):
    deltas: list[dict[int, torch.Tensor]] = []
    for batch_words in (15, 8):
        data.batch_words = batch_words
        parser = with_sgd(make_parser(dropout=0.0), rate=0.0)  # the weights stay
        heard = listen(parser)
        adversary = PGD(epsilon=EPSILON, random_start=True, mix=mix)
        trainer(adversary).fit(parser, datamodule=data)
        deltas.append({})
        passes = 5 if mix == "sum" else 4
        for batch, delta in heard[passes - 1 :: passes]:
            for row, (id_, length) in enumerate(zip(batch.ids, batch.lengths, strict=True)):
                assert not delta[row, 0].any()
                assert not delta[row, 1 + length :].any()
                deltas[-1][int(id_)] = delta[row, : 1 + length]
    together, apart = deltas
    assert set(together) == set(apart) == {0, 1, 2}
    for id_, delta in together.items():
        same(delta, apart[id_])


def test_random_starts_differ_by_seed_epoch_and_sentence(make_parser, data):
    data.batch_words = 15
    starts = []
    for seed in (0, 1):
        parser = with_sgd(make_parser(dropout=0.0), rate=0.0)
        heard = listen(parser)
        adversary = PGD(epsilon=1.0, steps=1, step_size=1e-9, random_start=True, seed=seed)
        trainer(adversary, max_epochs=2).fit(parser, datamodule=data)
        starts += [delta[row, 1] for _, delta in heard[1::3] for row in range(3)]
    assert len(starts) == 12
    for index, start in enumerate(starts):
        assert all((start - other).abs().max() > 1e-3 for other in starts[:index])


def test_the_inner_steps_leave_no_gradient_on_parameters(make_parser, data):
    """A weight of next to nothing leaves the clean gradients."""
    clean, parser = Recorder(), with_sgd(make_parser(dropout=0.0))
    trainer(clean, max_steps=1).fit(parser, datamodule=data)
    perturbed, parser = Recorder(), with_sgd(make_parser(dropout=0.0))
    adversary = PGD(epsilon=EPSILON, weight=1e-15)
    trainer(adversary, perturbed, max_steps=1).fit(parser, datamodule=data)
    for name, gradient in clean.gradients[0].items():
        same(gradient, perturbed.gradients[0][name])


def test_signs_of_the_largest_norm(make_parser, data):
    parser = make_parser(dropout=0.0)
    heard = listen(parser)
    adversary = FGM(epsilon=0.25, norm="linf")
    assert isinstance(adversary.ball, LinfBall)
    trainer(adversary).fit(parser, datamodule=data)
    for batch, delta in heard[1::2]:
        assert (delta[:, 1:][batch.mask].abs() == 0.25).double().mean() > 0.99
