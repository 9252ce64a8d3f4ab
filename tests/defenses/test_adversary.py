"""What all gradient adversaries share: schedule, dropout, precision, resume, losses."""

from typing import Any

import pytest
import pytorch_lightning as pl
import torch
from gradient_by_hand import listen, with_sgd
from gradient_methods import METHODS, PASSES, every_method

from robustparse.data.batch import Batch
from robustparse.defenses.fgm import FGM
from robustparse.models.dependency.biaffine import BiaffineParser
from sample_runs import trainer


@every_method
def test_the_schedule_counts_optimizer_steps(make_parser, data, name):
    """Of 6 steps of two batches each, the second and the fifth have the adversary."""
    parser = with_sgd(make_parser(dropout=0.0), rate=0.0)
    heard = listen(parser)
    adversary = METHODS[name](start_step=1, every=3)
    trainer(adversary, max_epochs=6, accumulate_grad_batches=2).fit(parser, datamodule=data)
    passes = PASSES[name]
    counts = [1, 1, passes, passes, 1, 1, 1, 1, passes, passes, 1, 1]
    expected = [batch for batch, count in enumerate(counts) for _ in range(count)]
    met: list[Batch] = []
    found = []
    for batch, delta in heard:
        if not met or batch is not met[-1]:
            met.append(batch)
        found.append(len(met) - 1)
        assert (delta is None) == (counts[len(met) - 1] == 1)
    assert found == expected


@every_method
def test_epsilon_warms_up_from_the_start_step(make_parser, data, name):
    data.batch_words = 15
    parser = with_sgd(make_parser(dropout=0.0), rate=0.0)
    heard = listen(parser)
    far = {} if name == "FGM" else {"step_size": 50.0}  # to the rim in one step
    adversary = METHODS[name](epsilon=2.0, start_step=1, epsilon_warmup_steps=4, **far)
    trainer(adversary, max_epochs=6).fit(parser, datamodule=data)
    last = heard[PASSES[name] :: PASSES[name]]
    norms = [delta.flatten(1).norm(dim=1) for _, delta in last]
    for norm, epsilon in zip(norms, (0.5, 1.0, 1.5, 2.0, 2.0), strict=True):
        torch.testing.assert_close(norm, torch.full_like(norm, epsilon))


def losses_of(parser: BiaffineParser) -> list[torch.Tensor]:
    """Every sentence's loss in every pass from now on."""
    kept = []
    inner = parser.losses

    def losses(scores: Any, batch: Batch) -> torch.Tensor:
        kept.append(inner(scores, batch).detach())
        return inner(scores, batch)

    parser.losses = losses
    return kept


@every_method
@pytest.mark.parametrize("same_dropout", [False, True])
def test_dropout_masks_are_the_same_in_all_passes_or_fresh(make_parser, data, name, same_dropout):
    """So small an delta alone changes no loss by more than rounding."""
    ends = []
    for _ in range(2):
        parser = make_parser(dropout=0.33).train()
        kept = losses_of(parser)
        adversary = METHODS[name](epsilon=1e-9, same_dropout=same_dropout)
        trainer(adversary, max_epochs=2).fit(parser, datamodule=data)
        ends.append(parser.state_dict())
    for weight, other in zip(ends[0].values(), ends[1].values(), strict=True):
        assert torch.equal(weight, other)
    passes = PASSES[name]
    assert len(kept) == 4 * passes
    for start in range(0, len(kept), passes):
        first, *others = kept[start : start + passes]
        for other in others:
            assert ((first - other).abs().max() < 1e-6) == same_dropout
    firsts = [kept[start] for start in range(0, len(kept), passes)]
    firsts.sort(key=lambda losses: (len(losses), float(losses[0])))
    assert (firsts[0] - firsts[1]).abs().max() > 1e-3  # every step has masks of its own


@every_method
def test_half_precision(make_parser, data, name):
    parser = make_parser().float().train()
    before = {key: value.clone() for key, value in parser.state_dict().items()}
    heard = listen(parser)
    adversary = METHODS[name](epsilon=3.0)
    trainer(adversary, precision="bf16-mixed").fit(parser, datamodule=data)
    assert len(heard) == 2 * PASSES[name]
    for batch, delta in heard[PASSES[name] - 1 :: PASSES[name]]:
        assert delta.dtype == torch.float32
        norms = delta.flatten(1).norm(dim=1)
        torch.testing.assert_close(norms, torch.full((len(batch),), 3.0), rtol=1e-5, atol=0)
    after = parser.state_dict()
    assert all(torch.isfinite(weight).all() for weight in after.values())
    assert not torch.equal(before["arc_attn.weight"], after["arc_attn.weight"])


@every_method
def test_a_run_resumed_within_an_epoch_is_bit_identical(make_parser, data, name, tmp_path):
    """With a schedule, an epsilon still rising, and dropout."""
    schedule = {"start_step": 1, "every": 2, "epsilon_warmup_steps": 4}
    ends = []
    data.batch_words = 8
    for checkpoint in (None, tmp_path / "step=3.ckpt"):
        parser = make_parser(dropout=0.33).train()
        saver = pl.callbacks.ModelCheckpoint(
            tmp_path, filename="{step}", every_n_train_steps=3, save_top_k=-1
        )
        run = trainer(METHODS[name](**schedule), saver, max_epochs=3, enable_checkpointing=True)
        run.fit(parser, datamodule=data, ckpt_path=checkpoint)
        assert run.global_step == 6
        ends.append(parser.state_dict())
    for key, weight in ends[0].items():
        assert torch.equal(weight, ends[1][key])


@every_method
def test_the_loss_of_the_last_pass_is_logged(make_parser, data, name):
    parser = with_sgd(make_parser(dropout=0.0), rate=0.0)
    kept = losses_of(parser)
    run = trainer(METHODS[name](), max_steps=1)
    run.fit(parser, datamodule=data)
    words = batch_words(parser, data)
    assert float(run.callback_metrics["train/loss"]) == pytest.approx(
        float(kept[-1 if name == "PGD alone" else 0].sum() / words), rel=1e-12
    )
    logged = float(run.callback_metrics["train/adversarial_loss"])
    assert logged == pytest.approx(float(kept[-1].sum() / words), rel=1e-12)


@pytest.mark.parametrize(
    ("ends", "alike"),
    [({"max_steps": 1}, False), ({"max_steps": 2}, True)]
    + [({"max_epochs": epochs, "accumulate_grad_batches": 2}, epochs == 2) for epochs in (1, 2)],
)
def test_without_the_adversary_the_loss_of_the_only_pass_is_logged(make_parser, data, ends, alike):
    """Not that of an earlier batch again; the adversary comes in every other step."""
    run = trainer(FGM(epsilon=5.0, every=2), **ends)
    run.fit(make_parser(dropout=0.0), datamodule=data)
    clean, last = (run.callback_metrics[f"train/{name}"] for name in ("loss", "adversarial_loss"))
    assert (clean == last) == alike


def batch_words(parser: BiaffineParser, data: Any) -> int:
    return int(next(iter(data.train_dataloader())).lengths.sum())


class Failing(pl.Callback):
    def on_before_optimizer_step(self, *_: Any) -> None:
        raise KeyError("broken")


@every_method
def test_the_parser_is_left_without_an_offset(make_parser, data, name):
    parser = make_parser()
    trainer(METHODS[name]()).fit(parser, datamodule=data)
    assert parser.delta_source is None
    with pytest.raises(KeyError, match="broken"):
        trainer(METHODS[name](), Failing()).fit(parser, datamodule=data)
    assert parser.delta_source is None


def test_both_losses_are_whole_under_accumulation(make_parser, data):
    """At a tiny delta both passes have one loss; Lightning divides that of its own pass."""
    adversary = FGM(epsilon=1e-6)
    run = trainer(adversary, max_epochs=1, accumulate_grad_batches=4)
    run.fit(make_parser(dropout=0.0), datamodule=data)
    clean, adversarial = (
        float(run.callback_metrics[f"train/{name}"]) for name in ("loss", "adversarial_loss")
    )
    assert clean == pytest.approx(adversarial, rel=1e-5)
