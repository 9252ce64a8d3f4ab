"""What all gradient adversaries share: schedule, dropout, precision, resume, losses, mistakes."""

from typing import Any

import pytest
import pytorch_lightning as pl
import torch
from gradient_by_hand import listen, with_sgd
from gradient_methods import METHODS, PASSES, every_method
from pytorch_lightning.demos.boring_classes import BoringModel
from pytorch_lightning.plugins import MixedPrecision

from robustparse.data.batch import Batch
from robustparse.data.datamodule import Batches
from robustparse.defenses import FGM, PGD, EmbeddingAdversary, FreeLB, PerturbedBatch, TrainingPass
from robustparse.errors import InputError
from robustparse.models.dependency.biaffine import BiaffineParser
from sample_runs import trainer


@every_method
def test_the_schedule_counts_optimizer_steps_and_epsilon_warms_up(make_parser, data, name):
    """Of 4 steps of two batches each, the second and the fourth have the adversary."""
    parser = with_sgd(make_parser(dropout=0.0, layers=1), rate=0.0)
    heard = listen(parser)
    far = {} if name == "FGM" else {"step_size": 50.0}  # to the rim in one step
    adversary = METHODS[name](epsilon=2.0, start_step=1, every=2, epsilon_warmup_steps=4, **far)
    trainer(adversary, max_epochs=4, accumulate_grad_batches=2).fit(parser, datamodule=data)
    passes = PASSES[name]
    counts = [1, 1, passes, passes, 1, 1, passes, passes]
    met: list[Batch] = []
    places: list[int] = []
    last: dict[int, torch.Tensor | None] = {}
    for batch, delta in heard:
        if not met or batch is not met[-1]:
            met.append(batch)
        places.append(len(met) - 1)
        last[len(met) - 1] = delta
    assert places == [place for place, count in enumerate(counts) for _ in range(count)]
    assert [place for place, delta in last.items() if delta is not None] == [2, 3, 6, 7]
    for place, epsilon in ((2, 0.5), (3, 0.5), (6, 1.5), (7, 1.5)):  # a quarter, three quarters
        norms = last[place].flatten(1).norm(dim=1)
        torch.testing.assert_close(norms, torch.full_like(norms, epsilon))


@every_method
def test_epsilon_has_warmed_up_by_the_last_of_its_steps(name):
    adversary = METHODS[name](start_step=1, every=1, epsilon_warmup_steps=4)
    assert [adversary.strength(step) for step in range(7)] == [0, 0.25, 0.5, 0.75, 1, 1, 1]


def losses_of(parser: BiaffineParser) -> list[torch.Tensor]:
    """Every sentence's loss in every pass from now on."""
    kept = []
    inner = parser.loss

    def losses(scores: Any, batch: Batch) -> torch.Tensor:
        kept.append(inner(scores, batch).detach())
        return inner(scores, batch)

    parser.loss = losses
    return kept


@every_method
@pytest.mark.parametrize("same_dropout", [False, True])
def test_dropout_masks_are_the_same_in_all_passes_or_fresh(make_parser, data, name, same_dropout):
    """So small a delta changes no loss by more than rounding."""
    data.batches = Batches(words=15)
    parser = with_sgd(make_parser(dropout=0.33, layers=1).train(), rate=0.0)
    kept = losses_of(parser)
    adversary = METHODS[name](epsilon=1e-9, same_dropout=same_dropout)
    trainer(adversary, max_epochs=2).fit(parser, datamodule=data)
    passes = PASSES[name]
    assert len(kept) == 2 * passes
    for start in (0, passes):
        first, *others = kept[start : start + passes]
        for other in others:
            assert ((first - other).abs().max() < 1e-6) == same_dropout
    first, second = (losses.sort().values for losses in (kept[0], kept[passes]))
    assert (first - second).abs().max() > 1e-3  # every step has masks of its own


@every_method
@pytest.mark.filterwarnings("ignore:The dirpath has changed")
def test_a_run_resumed_within_an_epoch_is_bit_identical(make_parser, data, name, tmp_path):
    """With a schedule, an epsilon still rising, and dropout."""
    schedule = {"start_step": 1, "every": 2, "epsilon_warmup_steps": 4}
    ends = []
    for folder, checkpoint in (("whole", None), ("resumed", tmp_path / "whole" / "step=3.ckpt")):
        parser = make_parser(dropout=0.33, layers=1).train()
        saver = pl.callbacks.ModelCheckpoint(
            tmp_path / folder, filename="{step}", every_n_train_steps=3, save_top_k=-1
        )
        run = trainer(METHODS[name](**schedule), saver, max_epochs=2, enable_checkpointing=True)
        run.fit(parser, datamodule=data, ckpt_path=checkpoint)
        assert run.global_step == 4
        ends.append(parser.state_dict())
    for key, weight in ends[0].items():
        assert torch.equal(weight, ends[1][key])


@every_method
def test_bfloat16(make_parser, data, name):
    data.batches = Batches(words=15)
    parser = make_parser(layers=1).float().train()
    before = {key: value.clone() for key, value in parser.state_dict().items()}
    heard = listen(parser)
    adversary = METHODS[name](epsilon=3.0)
    trainer(adversary, precision="bf16-mixed").fit(parser, datamodule=data)
    assert len(heard) == PASSES[name]
    batch, delta = heard[-1]
    assert delta.dtype == torch.float32
    norms = delta.flatten(1).norm(dim=1)
    torch.testing.assert_close(norms, torch.full((len(batch),), 3.0), rtol=1e-5, atol=0)
    after = parser.state_dict()
    assert all(torch.isfinite(weight).all() for weight in after.values())
    assert not torch.equal(before["arc_attn.weight"], after["arc_attn.weight"])


@pytest.mark.parametrize("scale", [1.0, 2.0**14])
def test_the_ascent_sees_gradients_too_small_for_half_precision(
    make_parser, data, monkeypatch, scale
):
    """Of a loss so small that its gradient is zero in half precision unless scaled."""
    found = []
    gradient_of = PerturbedBatch.gradient

    def kept(self: PerturbedBatch, delta: torch.Tensor) -> torch.Tensor:
        found.append(gradient_of(self, delta))
        return found[-1]

    monkeypatch.setattr(PerturbedBatch, "gradient", kept)
    parser = make_parser(dropout=0.0, layers=1).train()
    whole = type(parser).loss
    monkeypatch.setattr(type(parser), "loss", lambda *given: 1e-8 * whole(*given).half())
    scaler = torch.amp.GradScaler("cpu", init_scale=scale)
    run = trainer(
        PGD(epsilon=1.0, steps=2, random_start=True),
        max_steps=1,
        plugins=[MixedPrecision("16-mixed", "cpu", scaler)],
    )
    run.fit(parser, datamodule=data)
    assert len(found) == 2
    assert all(bool(gradient.any()) == (scale > 1) for gradient in found)


@every_method
def test_the_loss_of_the_last_pass_is_logged_whole(make_parser, data, name):
    """Lightning divides that of its own pass by the batches of a step."""
    parser = with_sgd(make_parser(dropout=0.0, layers=1), rate=0.0)
    kept = losses_of(parser)
    run = trainer(METHODS[name](), max_epochs=1, accumulate_grad_batches=4)
    run.fit(parser, datamodule=data)
    batches = data.train_dataloader()
    batches.sampler.set_epoch(0)
    *_, last = batches
    words, passes = float(last.lengths.sum()), PASSES[name]
    own = -1 if name == "PGD without clean passes" else -passes
    for key, place in (("train/loss", own), ("train/adversarial_loss", -1)):
        expected = float(kept[place].sum()) / words
        assert float(run.callback_metrics[key]) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("ends", "alike"),
    [({"max_steps": 1}, False), ({"max_steps": 2}, True)]
    + [({"max_epochs": epochs, "accumulate_grad_batches": 2}, epochs == 2) for epochs in (1, 2)],
)
def test_without_the_adversary_the_loss_of_the_only_pass_is_logged(make_parser, data, ends, alike):
    """Not that of an earlier batch again; the adversary comes in every other step."""
    run = trainer(FGM(epsilon=5.0, every=2), **ends)
    run.fit(make_parser(dropout=0.0, layers=1).train(), datamodule=data)
    clean, last = (run.callback_metrics[f"train/{name}"] for name in ("loss", "adversarial_loss"))
    assert (clean == last) == alike


class Failing(pl.Callback):
    def on_before_optimizer_step(self, *_: Any) -> None:
        raise KeyError("broken")


def test_the_parser_is_left_without_a_delta(make_parser, data):
    parser = make_parser(layers=1).train()
    heard = listen(parser)
    trainer(FGM()).fit(parser, datamodule=data)
    assert parser.delta_source is None
    with pytest.raises(KeyError, match="broken"):
        trainer(FGM(), Failing()).fit(parser, datamodule=data)
    assert parser.delta_source is None
    heard.clear()
    trainer().fit(parser, datamodule=data)
    assert [delta for _, delta in heard] == [None, None]


class Silent(EmbeddingAdversary):
    def passes(self, batch: PerturbedBatch) -> Any:
        return iter(())


class Unprepared(EmbeddingAdversary):
    def passes(self, batch: PerturbedBatch) -> Any:
        yield TrainingPass(batch.zeros(), ascend=False)
        yield TrainingPass(batch.last_gradient())


@pytest.mark.parametrize(
    ("method", "says"),
    [
        (Silent, "yields no training pass"),  # its StopIteration would end the epoch unnoticed
        (Unprepared, "the backward pass left no gradient on the delta"),
    ],
)
def test_mistakes_of_a_method_are_told(make_parser, data, method, says):
    with pytest.raises(RuntimeError, match=says):
        trainer(method()).fit(make_parser(layers=1).train(), datamodule=data)


# What they refuse


@pytest.mark.parametrize(
    ("methods", "setting", "value", "found"),
    [
        *(
            ("all", "epsilon", value, f"must be > 0 and finite, got {value}")
            for value in (0.0, -1.0)
        ),
        ("all", "epsilon", float("nan"), "must be > 0 and finite, got nan"),
        ("all", "epsilon", float("inf"), "must be > 0 and finite, got inf"),
        ("all", "norm", "l1", "must be one of l2, linf, got 'l1'"),
        ("all", "per", "batch", "must be one of sentence, token, got 'batch'"),
        ("all", "seed", -1, "must be >= 0 and below 2**64, got -1"),
        ("all", "start_step", -1, "must be >= 0, got -1"),
        ("all", "every", 0, "must be >= 1, got 0"),
        ("all", "epsilon_warmup_steps", -1, "must be >= 0, got -1"),
        ("PGD FreeLB", "steps", 0, "must be >= 1, got 0"),
        ("PGD FreeLB", "step_size", 0.0, "must be > 0 and finite, got 0.0"),
        ("PGD FreeLB", "step_size", -0.5, "must be > 0 and finite, got -0.5"),
        ("FGM PGD", "weight", 0.0, "must be > 0 and finite, got 0.0"),
        ("FGM PGD", "weight", -1.0, "must be > 0 and finite, got -1.0"),
        ("FGM PGD", "mix", "max", "must be one of sum, mean, adv, got 'max'"),
        ("FreeLB", "start_size", 0.0, "must be > 0 and finite, got 0.0"),
        ("FreeLB", "start_size", -1.0, "must be > 0 and finite, got -1.0"),
    ],
)
def test_settings_out_of_range(methods, setting, value, found):
    for name in METHODS if methods == "all" else methods.split():
        with pytest.raises(InputError) as error:
            METHODS[name](**{setting: value})
        assert error.value.key == f"gradient adversary: {setting}"
        assert error.value.found == found


@pytest.mark.parametrize("method", [FGM, PGD])
def test_a_mix_that_leaves_the_weight_without_meaning(method):
    with pytest.raises(InputError, match=r"0\.5.*mix: adv") as error:
        method(mix="adv", weight=0.5)
    assert error.value.key == "gradient adversary: weight"


@pytest.mark.parametrize("second", [PGD, FGM, FreeLB])
def test_two_gradient_adversaries_are_refused(make_parser, data, second):
    with pytest.raises(InputError, match=f"PGD and {second.__name__}.*only one") as error:
        trainer(PGD(), second()).fit(make_parser(), datamodule=data)
    assert error.value.key == "trainer.callbacks"


def test_only_models_of_ours_can_be_trained():
    with pytest.raises(InputError) as error:
        trainer(FGM()).fit(BoringModel())
    assert error.value.key == "gradient adversary: model"
    assert error.value.found == "must be a robustparse model, got BoringModel"
