"""Gradient adversaries through a real Trainer against their algorithms by hand, in float64."""

import copy

import numpy as np
import pytest
import torch
from gradient_by_hand import (
    EPSILON,
    ByHand,
    Recorder,
    batches,
    linf_step,
    listen,
    loss_at,
    same,
    token_step,
    train_by_hand,
    with_sgd,
)
from gradient_methods import METHODS, PASSES, every_method

from robustparse.data.datamodule import Batches
from robustparse.data.treebank_datamodule import TreebankDataModule
from robustparse.defenses import FGM, PGD, FreeLB
from robustparse.defenses.norms import LinfBall, ball
from robustparse.models.dependency.parser import DependencyParser
from sample_runs import trainer

W = 0.6  # the weight of the adversarial loss
CLIP, TWO = {"gradient_clip_val": 0.5}, {"accumulate_grad_batches": 2}


def pgd(**settings):
    return lambda: PGD(epsilon=EPSILON, step_size=0.9, seed=7, **settings)


def cube(rng: np.random.Generator, length: int, dim: int) -> np.ndarray:
    return rng.uniform(-1, 1, (length, dim)) / (length * dim) ** 0.5


def freelb(**settings):
    return lambda: FreeLB(epsilon=EPSILON, step_size=0.9, steps=4, seed=7, **settings)


ANYWHERE = {"random_start": True}
L2, TOKEN, LINF = (
    ball(*kind).draw for kind in (("l2", "sentence"), ("l2", "token"), ("linf", "sentence"))
)
CASES = {
    "fgm": ByHand(lambda: FGM(epsilon=EPSILON, weight=W), (1, W), EPSILON),
    "fgm clipped": ByHand(lambda: FGM(epsilon=EPSILON, weight=W), (1, W), EPSILON, settings=CLIP),
    "fgm accumulated": ByHand(
        lambda: FGM(epsilon=EPSILON, weight=W), (1, W), EPSILON, settings={**TWO, "max_epochs": 2}
    ),
    "fgm mean": ByHand(lambda: FGM(epsilon=EPSILON, mix="mean"), (0.5, 0.5), EPSILON),
    "fgm adv": ByHand(lambda: FGM(epsilon=EPSILON, mix="adv"), (0, 1), EPSILON),
    # From zero, any longer step ends at the same place of the rim.
    "pgd of one step": ByHand(lambda: PGD(epsilon=EPSILON, steps=1), (1, 1), EPSILON),
    "pgd sum": ByHand(pgd(weight=W), (1, 0, 0, W)),
    "pgd sum anywhere": ByHand(
        pgd(weight=W, **ANYWHERE), (1, 0, 0, 0, W), start=L2, settings={**CLIP, "max_epochs": 2}
    ),
    "pgd mean": ByHand(pgd(mix="mean", weight=W), (0.5, 0, 0, W / 2), settings={**TWO, **CLIP}),
    "pgd mean anywhere": ByHand(
        pgd(mix="mean", weight=W, **ANYWHERE), (0.5, 0, 0, 0, W / 2), start=L2, settings=TWO
    ),
    "pgd adv": ByHand(pgd(mix="adv"), (0, 0, 0, 1), settings=TWO),
    "pgd adv anywhere": ByHand(
        pgd(mix="adv", **ANYWHERE), (0, 0, 0, 1), clean=False, start=L2, settings={**TWO, **CLIP}
    ),
    "pgd by token": ByHand(pgd(per="token"), (1, 0, 0, 1), step=token_step),
    "pgd by token anywhere": ByHand(
        pgd(per="token", **ANYWHERE), (1, 0, 0, 0, 1), start=TOKEN, step=token_step
    ),
    "pgd linf": ByHand(pgd(norm="linf"), (1, 0, 0, 1), step=linf_step),
    "pgd linf anywhere": ByHand(
        pgd(norm="linf", **ANYWHERE), (1, 0, 0, 0, 1), start=LINF, step=linf_step
    ),
    "freelb": ByHand(freelb(), (0.25,) * 4, clean=False, start=cube, settings={"max_epochs": 2}),
    "freelb accumulated": ByHand(
        freelb(), (0.25,) * 4, clean=False, start=cube, settings={**TWO, **CLIP}
    ),
}


def largest_norm(delta, step) -> float:
    if step is linf_step:
        return float(delta.abs().max())
    return float((delta if step is token_step else delta.flatten(1)).norm(dim=-1).max())


@pytest.mark.parametrize("name", CASES)
def test_passes_gradients_and_weights_are_those_written_out(make_parser, data, name):
    check_passes(make_parser(dropout=0.0, layers=1), data, CASES[name])


@pytest.mark.parametrize("name", ["fgm", "pgd sum anywhere", "freelb accumulated"])
def test_passes_of_a_stack_pointer_parser(pointer, data, name):
    check_passes(pointer, data, CASES[name])


def check_passes(parser: DependencyParser, data: TreebankDataModule, method: ByHand) -> None:
    parser = with_sgd(parser)
    expected = copy.deepcopy(parser)
    heard, recorder = listen(parser), Recorder()
    run = trainer(method.adversary(), recorder, **method.settings)
    run.fit(parser, datamodule=data)
    deltas, gradients = train_by_hand(expected, batches(expected, data, run.max_epochs), method)
    assert len(heard) == len(deltas) == 2 * run.max_epochs * len(method.weights)  # and no pass more
    for (_, ours), theirs in zip(heard, deltas, strict=True):
        same(ours, theirs)
    # The projection has work to do, or the step ends on the rim.
    assert largest_norm(deltas[-1], method.step) == pytest.approx(EPSILON, rel=1e-12)
    assert len(recorder.gradients) == len(gradients) == run.global_step
    for ours, theirs in zip(recorder.gradients, gradients, strict=True):
        assert set(ours) == set(theirs)
        for parameter, gradient in ours.items():
            same(gradient, theirs[parameter])
    for parameter, weight in parser.state_dict().items():
        same(weight, expected.state_dict()[parameter])


def test_a_step_with_the_parsers_own_optimizer(make_parser, data):
    parser = make_parser(dropout=0.0, layers=1).train()
    expected = copy.deepcopy(parser)
    adam = torch.optim.Adam(expected.parameters(), 2e-3, betas=(0.9, 0.9), eps=1e-12)
    method = CASES["fgm"]
    trainer(method.adversary(), max_steps=1).fit(parser, datamodule=data)
    batch = batches(expected, data)[0][0]
    clean, delta = method.deltas(expected, batch, 0)
    (loss_at(expected, batch, clean) + W * loss_at(expected, batch, delta)).backward()
    noise = {name: weight.grad.abs() < 1e-10 for name, weight in expected.named_parameters()}
    adam.step()
    for name, weight in parser.named_parameters():  # Adam makes a full step of a rounding error
        same(weight[~noise[name]], expected.state_dict()[name][~noise[name]])


@every_method
def test_a_delta_depends_on_no_other_sentence_and_spares_root_and_padding(make_parser, data, name):
    deltas: list[dict[int, torch.Tensor]] = []
    for batch_words in (15, 8):
        data.batches = Batches(words=batch_words)
        parser = with_sgd(make_parser(dropout=0.0, layers=1), rate=0.0)  # the weights stay
        heard = listen(parser)
        far = {} if name == "FGM" else {"step_size": 50.0}  # to the rim in one step
        trainer(METHODS[name](epsilon=2.5, **far)).fit(parser, datamodule=data)
        deltas.append({})
        for batch, delta in heard[PASSES[name] - 1 :: PASSES[name]]:
            for row, (id_, length) in enumerate(zip(batch.ids, batch.lengths, strict=True)):
                deltas[-1][int(id_)] = own = delta[row, 1 : 1 + length]
                assert (own.abs().sum(-1) > 0).all()
                assert not delta[row, 0].any()
                assert not delta[row, 1 + length :].any()
                same(own.norm(), torch.tensor(2.5, dtype=torch.float64))
    together, apart = deltas
    assert set(together) == set(apart) == {0, 1, 2}
    for id_, delta in together.items():
        same(delta, apart[id_])


def test_one_pass_from_zero_is_clean_training(make_parser, data):
    ends = []
    for callbacks in ([], [FreeLB(steps=1, random_start=False)]):
        parser = with_sgd(make_parser(dropout=0.33, layers=1).train())
        trainer(*callbacks).fit(parser, datamodule=data)
        ends.append(parser.state_dict())
    for name, weight in ends[0].items():
        same(weight, ends[1][name])


def test_random_starts_differ_by_seed_epoch_and_sentence(make_parser, data):
    data.batches = Batches(words=15)
    starts = []
    for seed in (0, 1):
        parser = with_sgd(make_parser(dropout=0.0, layers=1), rate=0.0)
        heard = listen(parser)
        adversary = PGD(epsilon=1.0, steps=1, step_size=1e-9, random_start=True, seed=seed)
        trainer(adversary, max_epochs=2).fit(parser, datamodule=data)
        starts += [delta[row, 1] for _, delta in heard[1::3] for row in range(3)]
    assert len(starts) == 12
    for index, start in enumerate(starts):
        assert all((start - other).abs().max() > 1e-3 for other in starts[:index])


def test_the_inner_steps_leave_no_gradient_on_parameters(make_parser, data):
    """A weight of next to nothing leaves the clean gradients."""
    clean, parser = Recorder(), with_sgd(make_parser(dropout=0.0, layers=1))
    trainer(clean, max_steps=1).fit(parser, datamodule=data)
    perturbed, parser = Recorder(), with_sgd(make_parser(dropout=0.0, layers=1))
    adversary = PGD(epsilon=EPSILON, weight=1e-15)
    trainer(adversary, perturbed, max_steps=1).fit(parser, datamodule=data)
    for name, gradient in clean.gradients[0].items():
        same(gradient, perturbed.gradients[0][name])


def test_signs_of_the_largest_norm(make_parser, data):
    parser = make_parser(dropout=0.0, layers=1).train()
    heard = listen(parser)
    adversary = FGM(epsilon=0.25, norm="linf")
    assert isinstance(adversary.ball, LinfBall)
    trainer(adversary).fit(parser, datamodule=data)
    for batch, delta in heard[1::2]:
        assert (delta[:, 1:][batch.mask].abs() == 0.25).double().mean() > 0.99


@pytest.mark.parametrize(
    ("settings", "side"),
    [
        ({}, 2.0 / 60**0.5),
        ({"start_size": 0.5}, 0.5 / 60**0.5),
        ({"per": "token"}, 2.0 / 10**0.5),
        ({"norm": "linf", "start_size": 0.1}, 0.1),
    ],
)
def test_the_cube_of_freelbs_random_starts(settings, side):
    rng = np.random.Generator(np.random.Philox(0))
    method = FreeLB(epsilon=2.0, **settings)
    drawn = 2.0 * np.stack([method.draw(rng, 6, 10) for _ in range(100)])
    assert drawn.max() <= side
    assert np.abs(np.sort(drawn, None) / side - np.linspace(-1, 1, drawn.size)).max() < 0.03
