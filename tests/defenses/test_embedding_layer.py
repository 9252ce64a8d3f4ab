"""FGM, PGD and FreeLB on a plain BERT of another library, against straight-line code in float64."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest
import pytorch_lightning as pl
import torch
from gradient_by_hand import EPSILON, Recorder, Step, linf_step, sentence_step, token_step
from gradient_methods import METHODS, PASSES, every_method
from torch.utils.data import DataLoader, IterableDataset
from transformers import BertConfig, BertForSequenceClassification

from robustparse.defenses import FGM, PGD, EmbeddingLayer, FreeLB
from robustparse.defenses.norms import ball
from robustparse.errors import InputError
from sample_runs import trainer

NAME = "model.bert.embeddings.word_embeddings"
LAYER = EmbeddingLayer(NAME, mask="attention_mask")
Batch = dict[str, torch.Tensor]


class Classifier(pl.LightningModule):
    """A module that knows nothing of robustparse."""

    def __init__(self, dropout: float = 0.0, rate: float = 0.3) -> None:
        super().__init__()
        sizes = {"hidden_size": 8, "num_attention_heads": 2, "intermediate_size": 12}
        config = BertConfig(
            vocab_size=30,
            **sizes,
            num_hidden_layers=2,
            max_position_embeddings=12,
            hidden_dropout_prob=dropout,
            attention_probs_dropout_prob=dropout,
            initializer_range=0.5,
            num_labels=3,
        )
        with torch.random.fork_rng():
            torch.manual_seed(0)
            self.model = BertForSequenceClassification(config).double().train()
        self.rate, self.losses = rate, []

    def training_step(self, batch: Batch, batch_idx: int) -> Any:
        loss = self.model(**batch).loss
        self.losses.append(float(loss.detach()))
        self.log("loss", loss, on_step=False, on_epoch=True, batch_size=len(batch["labels"]))
        return loss

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), self.rate)


class InDictionary(Classifier):
    """Returns a dictionary, and does not ask for the number of the batch."""

    def training_step(self, batch: Batch) -> Any:
        return {"loss": super().training_step(batch, 0), "more": 1}


class Seeded(Classifier):
    """Seeds dropout in every batch, as a run that is to be resumed exactly needs."""

    def on_train_batch_start(self, batch: Batch, batch_idx: int) -> None:
        torch.manual_seed(100 * self.current_epoch + batch_idx)


def make_batches(count: int, size: int = 3, length: int = 6) -> list[Batch]:
    rng = np.random.default_rng(5)
    batches = []
    for _ in range(count):
        lengths = rng.integers(2, length, size)
        lengths[0] = length  # so that halves of a batch are as wide as the batch
        mask = np.arange(length) < lengths[:, None]
        words = rng.integers(1, 30, (size, length)) * mask
        given = {"input_ids": words, "attention_mask": mask, "labels": rng.integers(0, 3, size)}
        batches.append(
            {key: torch.from_numpy(array.astype(np.int64)) for key, array in given.items()}
        )
    return batches


def fit(module: pl.LightningModule, batches: Any, *callbacks: Any, **settings: Any) -> Any:
    path = settings.pop("ckpt_path", None)
    run = trainer(*callbacks, **settings)
    loader = DataLoader(batches, batch_size=None)
    run.fit(module, train_dataloaders=loader, ckpt_path=path)
    return run


# The algorithms, written out


class Case(NamedTuple):
    """The weight of each pass's loss, of which those of weight 0 only search; see `ByHand`."""

    defense: Callable[[], pl.Callback]
    weights: tuple[float, ...]
    size: float = 0.9
    start: Callable[[np.random.Generator, int, int], np.ndarray] | None = None
    clean: bool = True
    step: Step = sentence_step
    accumulate: int = 1
    kind: type[Classifier] = Classifier


def loss_at(model: BertForSequenceClassification, batch: Batch, delta: torch.Tensor) -> Any:
    embedded = model.bert.embeddings.word_embeddings.weight[batch["input_ids"]] + delta
    rest = {key: batch[key] for key in ("attention_mask", "labels")}
    return model(inputs_embeds=embedded, **rest).loss


def deltas_by_hand(
    model: BertForSequenceClassification, batch: Batch, index: int, case: Case
) -> list[torch.Tensor]:
    lengths = batch["attention_mask"].sum(1).tolist()
    zeros = torch.zeros(*batch["input_ids"].shape, 8, dtype=torch.float64)
    place, deltas = zeros.clone(), []
    if case.start:
        deltas = [zeros] if case.clean else []
        for row, length in enumerate(lengths):
            key = np.random.SeedSequence([7, 0, index, 0, row])
            rng = np.random.Generator(np.random.Philox(key))
            place[row, :length] = EPSILON * torch.from_numpy(case.start(rng, length, 8))
    deltas.append(place)
    while len(deltas) < len(case.weights):
        at = deltas[-1].clone().requires_grad_()
        (gradient,) = torch.autograd.grad(loss_at(model, batch, at), at)
        place = zeros.clone()
        for row, length in enumerate(lengths):
            place[row, :length] = case.step(
                deltas[-1][row, :length], gradient[row, :length], case.size
            )
        deltas.append(place)
    return deltas


def gradients_by_hand(module: Classifier, batches: Sequence[Batch], case: Case) -> list[Any]:
    """Those of every optimizer step."""
    model, found = module.model, []
    for first in range(0, len(batches), case.accumulate):
        total = torch.zeros((), dtype=torch.float64)
        for index in range(first, first + case.accumulate):
            deltas = deltas_by_hand(model, batches[index], index, case)
            for delta, weight in zip(deltas, case.weights, strict=True):
                if weight:
                    total = total + weight * loss_at(model, batches[index], delta)
        names = dict(model.named_parameters())
        gradients = torch.autograd.grad(total / case.accumulate, list(names.values()))
        found.append(dict(zip(names, gradients, strict=True)))
        with torch.no_grad():
            for parameter, gradient in zip(names.values(), gradients, strict=True):
                parameter -= module.rate * gradient
    return found


def cube(rng: np.random.Generator, length: int, dim: int) -> np.ndarray:
    return rng.uniform(-1, 1, (length, dim)) / (length * dim) ** 0.5


def pgd(**settings: Any) -> Callable[[], PGD]:
    return lambda: PGD(epsilon=EPSILON, step_size=0.9, seed=7, layer=LAYER, **settings)


def freelb() -> FreeLB:
    return FreeLB(epsilon=EPSILON, step_size=0.9, steps=4, seed=7, layer=LAYER)


L2, TOKEN = ball("l2", "sentence").draw, ball("l2", "token").draw
FGM_OF = {"defense": lambda: FGM(epsilon=EPSILON, weight=0.6, layer=LAYER), "weights": (1, 0.6)}
CASES = {
    "fgm": Case(**FGM_OF, size=EPSILON),
    "fgm accumulated": Case(**FGM_OF, size=EPSILON, accumulate=2),
    "fgm, a dictionary": Case(**FGM_OF, size=EPSILON, kind=InDictionary),
    "pgd": Case(pgd(), (1, 0, 0, 1)),
    "pgd mean, linf": Case(pgd(mix="mean", norm="linf"), (0.5, 0, 0, 0.5), step=linf_step),
    "pgd anywhere": Case(pgd(random_start=True), (1, 0, 0, 0, 1), start=L2, accumulate=2),
    "pgd adv": Case(pgd(mix="adv"), (0, 0, 0, 1)),
    "pgd adv by token": Case(
        pgd(mix="adv", per="token", random_start=True),
        (0, 0, 0, 1),
        start=TOKEN,
        clean=False,
        step=token_step,
        accumulate=2,
    ),
    "freelb": Case(freelb, (0.25,) * 4, start=cube, clean=False),
    "freelb accumulated": Case(freelb, (0.25,) * 4, start=cube, clean=False, accumulate=2),
}


@pytest.mark.parametrize("name", CASES)
def test_gradients_are_those_of_straight_line_code(name):
    case, batches, recorder = CASES[name], make_batches(4), Recorder()
    fit(case.kind(), batches, case.defense(), recorder, accumulate_grad_batches=case.accumulate)
    expected = gradients_by_hand(case.kind(), batches, case)
    assert len(recorder.gradients) == len(expected) == 4 // case.accumulate
    for found, by_hand in zip(recorder.gradients, expected, strict=True):
        assert by_hand["bert.embeddings.word_embeddings.weight"].abs().max() > 1e-3
        for key, gradient in by_hand.items():
            torch.testing.assert_close(found[f"model.{key}"], gradient, rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", ["FGM", "PGD", "PGD without clean passes", "FreeLB"])
def test_two_accumulated_halves_are_one_batch(name):
    """Where deltas do not start from anywhere: a start follows from the number of its batch."""
    zero = {} if name == "FGM" else {"random_start": False}
    (whole,), found = make_batches(1, size=4), []
    halves = [{key: part[rows] for key, part in whole.items()} for rows in ([0, 1], [2, 3])]
    for batches in ([whole], halves):
        recorder = Recorder()
        method = (
            PGD(mix="adv", layer=LAYER) if "without" in name else METHODS[name](layer=LAYER, **zero)
        )
        fit(Classifier(), batches, method, recorder, accumulate_grad_batches=len(batches))
        found += recorder.gradients
    first, second = found
    for key, gradient in first.items():
        torch.testing.assert_close(second[key], gradient, rtol=0, atol=1e-10)


# Dropout, logged values, resuming, precision


@every_method
@pytest.mark.parametrize("same_dropout", [False, True])
def test_masks_are_the_same_in_all_passes_or_fresh(name, same_dropout):
    """So small a delta changes no loss by more than rounding."""
    batches, ends = make_batches(1) * 3, []
    for callbacks in ([], [METHODS[name](epsilon=1e-9, same_dropout=same_dropout, layer=LAYER)]):
        torch.manual_seed(3)
        module = Classifier(dropout=0.3, rate=0.0)
        run = fit(module, batches, *callbacks)
        ends.append((module.losses, float(run.callback_metrics["loss"])))
    (clean, mean), (losses, logged) = ends
    passes = PASSES[name]
    assert len(losses) == 3 * passes
    for start in range(0, len(losses), passes):
        first, *others = losses[start : start + passes]
        assert all((abs(first - other) < 1e-6) == same_dropout for other in others)
    # Every step has masks of its own: with the same ones in all passes, those of clean training.
    assert len({round(loss, 6) for loss in losses[::passes]}) == 3
    if same_dropout:
        assert losses[::passes] == pytest.approx(clean, abs=1e-6)
        assert logged == pytest.approx(mean, abs=1e-6)


@every_method
def test_only_the_trainers_own_pass_is_logged(name):
    module, batches = Classifier(), make_batches(3)
    run = fit(module, batches, METHODS[name](layer=LAYER))
    passes = PASSES[name]
    own = passes - 1 if "without" in name else 0
    mean = float(np.mean(module.losses[own::passes]))
    assert float(run.callback_metrics["loss"]) == pytest.approx(mean, rel=1e-6)
    last = float(run.callback_metrics["train/adversarial_loss"])
    assert last == pytest.approx(module.losses[-1], rel=1e-6)
    assert "log" not in vars(module)
    assert not any(layer._forward_hooks for layer in module.modules())


@every_method
@pytest.mark.filterwarnings("ignore:The dirpath has changed")
def test_a_resumed_run_is_bit_identical(name, tmp_path):
    ends = []
    for folder, path in (("whole", None), ("resumed", tmp_path / "whole" / "step=4.ckpt")):
        module = Seeded(dropout=0.3)
        saver = pl.callbacks.ModelCheckpoint(
            tmp_path / folder, filename="{step}", every_n_train_steps=4, save_top_k=-1
        )
        method = METHODS[name](layer=LAYER, start_step=1, every=2, epsilon_warmup_steps=6)
        settings = {"max_epochs": 2, "enable_checkpointing": True}
        run = fit(module, make_batches(4), method, saver, ckpt_path=path, **settings)
        assert run.global_step == 8
        ends.append(module.state_dict())
    for key, weight in ends[0].items():
        assert torch.equal(weight, ends[1][key])


@every_method
def test_bfloat16(name):
    module, deltas = Classifier().float(), []
    before = module.model.classifier.weight.clone()

    class Heard(EmbeddingLayer):
        def allowed(self, batch: Any, like: torch.Tensor) -> torch.Tensor:
            deltas.append(like.dtype)
            return super().allowed(batch, like)

    method = METHODS[name](layer=Heard(NAME, lambda batch: batch["attention_mask"] > 0))
    fit(module, make_batches(1), method, precision="bf16-mixed")
    assert set(deltas) == {torch.float32}
    assert torch.isfinite(module.model.classifier.weight).all()
    assert not torch.equal(before, module.model.classifier.weight)


class Shares(IterableDataset[Batch]):
    """The share of every batch that belongs to this process."""

    def __iter__(self) -> Iterator[Batch]:
        both = torch.distributed.is_initialized()
        rank, count = (torch.distributed.get_rank(), 2) if both else (0, 1)
        for batch in make_batches(4, size=4):
            yield {key: part.chunk(count)[rank] for key, part in batch.items()}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["FGM", "PGD without clean passes", "FreeLB"])
def test_two_processes_equal_one(name):
    ends = []
    for settings in ({"devices": 1}, {"devices": 2, "strategy": "ddp_fork"}):
        module = Classifier()
        zero = {"FreeLB": {"random_start": False}}.get(name, {})
        method = (
            PGD(mix="adv", layer=LAYER) if "PGD" in name else METHODS[name](layer=LAYER, **zero)
        )
        fit(module, Shares(), method, accumulate_grad_batches=2, gradient_clip_val=0.5, **settings)
        ends.append(module.state_dict())
    for key, weight in ends[0].items():
        torch.testing.assert_close(ends[1][key], weight, rtol=0, atol=1e-12)


class Skipping(Classifier):
    """Leaves out the end of an epoch."""

    def on_train_batch_start(self, batch: Batch, batch_idx: int) -> int | None:
        return -1 if batch_idx == 1 else None

    def validation_step(self, batch: Batch, batch_idx: int) -> None:
        assert not self.model.get_submodule(NAME.removeprefix("model."))._forward_hooks


def test_a_skipped_batch_leaves_no_hook():
    module, loader = Skipping(), DataLoader(make_batches(3), batch_size=None)
    run = trainer(FGM(layer=LAYER), max_epochs=2, limit_val_batches=2)
    run.fit(module, loader, loader)
    assert run.global_step == 2
    assert not any(each._forward_hooks for each in module.modules())


@pytest.mark.filterwarnings("ignore:`training_step` returned `None`")
def test_a_step_without_adversary_may_have_no_loss():
    module = Silent()
    fit(module, make_batches(2), FGM(layer=LAYER, start_step=5))
    assert len(module.losses) == 2


# What is refused


class Manual(Classifier):
    automatic_optimization = False


class Silent(Classifier):
    def training_step(self, batch: Batch, batch_idx: int) -> Any:
        super().training_step(batch, batch_idx)


class Twice(Classifier):
    def training_step(self, batch: Batch, batch_idx: int) -> Any:
        return self.model(**batch).loss + self.model(**batch).loss


class LaterSilent(Classifier):
    def training_step(self, batch: Batch, batch_idx: int) -> Any:
        loss = super().training_step(batch, batch_idx)
        return loss if len(self.losses) == 1 else None


class Apart(Classifier):
    def __init__(self) -> None:
        super().__init__()
        self.other = torch.nn.Embedding(3, 4)


MODEL, OF_LAYER = "gradient adversary: model", "gradient adversary: layer"


@pytest.mark.filterwarnings("ignore:`training_step` returned `None`")
@pytest.mark.parametrize(
    ("kind", "layer", "key"),
    [
        (Classifier, None, MODEL),
        (Manual, LAYER, MODEL),
        (Silent, LAYER, MODEL),
        (LaterSilent, LAYER, MODEL),
        (Classifier, EmbeddingLayer("model.embeddings"), OF_LAYER),
        (Classifier, EmbeddingLayer(""), OF_LAYER),
        (Twice, LAYER, f"{OF_LAYER} {NAME}"),
        (Apart, EmbeddingLayer("other"), f"{OF_LAYER} other"),
        (Classifier, EmbeddingLayer("model.bert.pooler"), f"{OF_LAYER} model.bert.pooler"),
        (Classifier, EmbeddingLayer(NAME, "mask"), f"{OF_LAYER}: mask"),
        (Classifier, EmbeddingLayer(NAME, "labels"), f"{OF_LAYER}: mask"),
    ],
)
def test_what_cannot_be_trained_is_refused(kind, layer, key):
    module = kind()
    with pytest.raises(InputError) as error:
        fit(module, make_batches(1), PGD(layer=layer))
    assert error.value.key == key
    if layer is not None and "embeddings" in layer.name and not layer.mask:
        assert NAME in error.value.expected
    assert not any(each._forward_hooks for each in module.modules())
    assert "log" not in vars(module)
