"""The passes of every gradient adversary and steps on their losses, written out.

And what hears which deltas a parser gets, and which gradients its optimizer.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import MethodType
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch

from robustparse.data.batch import Batch
from robustparse.data.sampler import TrainingLoader
from robustparse.data.treebank_datamodule import TreebankDataModule
from robustparse.defenses.adversary import EmbeddingAdversary
from robustparse.models.dependency.biaffine import BiaffineParser

EPSILON, RATE = 1.7, 0.3


def with_sgd(parser: BiaffineParser, rate: float = RATE) -> BiaffineParser:
    """Plain steps, which do not blow rounding errors of a zero gradient up as Adam does."""

    def configure_optimizers(self: BiaffineParser) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), rate)

    parser.configure_optimizers = MethodType(configure_optimizers, parser)
    return parser.train()


def batches(parser: BiaffineParser, data: TreebankDataModule, epochs: int = 1) -> list[list[Batch]]:
    """Those of each epoch."""
    loader = TrainingLoader(parser.encode(data.train_examples), data.batches.words, data.seed)
    found = []
    for epoch in range(epochs):
        loader.sampler.set_epoch(epoch)
        found.append(list(loader))
    return found


def sentence_step(delta: torch.Tensor, gradient: torch.Tensor, size: float) -> torch.Tensor:
    """``(length, dim)``, up the gradient, back into the L2 ball."""
    moved = delta + size * gradient / (gradient**2).sum().sqrt()
    norm = float((moved**2).sum().sqrt())
    return moved if norm <= EPSILON else moved / norm * EPSILON


def token_step(delta: torch.Tensor, gradient: torch.Tensor, size: float) -> torch.Tensor:
    """The same, each word on its own."""
    rows = zip(delta, gradient, strict=True)
    return torch.stack([sentence_step(word, towards, size) for word, towards in rows])


def linf_step(delta: torch.Tensor, gradient: torch.Tensor, size: float) -> torch.Tensor:
    """Every number on its own."""
    moved = torch.where(gradient > 0, delta + size, delta - size)
    moved = torch.where(moved > EPSILON, torch.full_like(moved, EPSILON), moved)
    return torch.where(moved < -EPSILON, torch.full_like(moved, -EPSILON), moved)


Step = Callable[[torch.Tensor, torch.Tensor, float], torch.Tensor]
Draw = Callable[[np.random.Generator, int, int], np.ndarray]


@dataclass(frozen=True)
class ByHand:
    """What an adversary must do with a batch.

    Args:
        adversary: the adversary.
        weights: of the loss of each pass over a batch; 0 only looks for a delta.
        size: of an ascent step.
        clean: the first pass has a zero delta, which stands before those of the ascent.
        start: draws the first delta of the ascent for epsilon 1 (zero if there is none), from
            ``seed``.
        step: of the ascent.
        settings: of the trainer.
    """

    adversary: Callable[[], EmbeddingAdversary]
    weights: tuple[float, ...]
    size: float = 0.9
    clean: bool = True
    start: Draw | None = None
    seed: int = 7
    step: Step = sentence_step
    settings: dict[str, Any] = field(default_factory=dict)

    def deltas(self, parser: BiaffineParser, batch: Batch, epoch: int) -> list[torch.Tensor]:
        """Those of all passes, in order."""
        zeros = torch.zeros_like(parser.embed(batch)).detach()
        start = self._start(batch, epoch, zeros)
        # From zero, the clean pass is the first of the ascent.
        before = [zeros] if self.clean and self.start else []
        steps = len(self.weights) - len(before) - 1
        return [*before, *ascent_by_hand(parser, batch, start, steps, self.size, self.step)]

    def _start(self, batch: Batch, epoch: int, zeros: torch.Tensor) -> torch.Tensor:
        start = zeros.clone()
        if self.start:
            for row, (id_, length) in enumerate(
                zip(batch.ids.tolist(), batch.lengths, strict=True)
            ):
                key = np.random.SeedSequence([self.seed, epoch, id_])
                rng = np.random.Generator(np.random.Philox(key))
                drawn = self.start(rng, int(length), start.shape[2])
                start[row, 1 : 1 + length] = EPSILON * torch.from_numpy(drawn)
        return start


def ascent_by_hand(
    parser: BiaffineParser,
    batch: Batch,
    start: torch.Tensor,
    steps: int,
    size: float,
    step: Step,
) -> list[torch.Tensor]:
    """Where each sentence gets to on its own words only, from the start to the last step."""
    places = [start]
    for _ in range(steps):
        place = torch.zeros_like(start)
        at = places[-1].clone().requires_grad_()
        losses = parser.loss(parser(batch, at), batch)
        for row, length in enumerate(batch.lengths.tolist()):
            (gradient,) = torch.autograd.grad(losses[row], at, retain_graph=True)
            assert gradient[row, 0].abs().max() > 1e-6  # ROOT has a gradient, which must not count
            own = slice(1, 1 + length)
            place[row, own] = step(places[-1][row, own], gradient[row, own], size)
        places.append(place)
    return places


def loss_at(parser: BiaffineParser, batch: Batch, delta: torch.Tensor | None) -> torch.Tensor:
    return parser.loss(parser(batch, delta), batch).sum() / batch.lengths.sum()


def train_by_hand(
    parser: BiaffineParser,
    epochs: Sequence[Sequence[Batch]],
    method: ByHand,
) -> tuple[list[torch.Tensor], list[dict[str, torch.Tensor]]]:
    """Train by SGD, written out: the deltas of all passes, and the gradients before clipping."""
    accumulate = method.settings.get("accumulate_grad_batches", 1)
    clip = method.settings.get("gradient_clip_val")
    parameters, found, heard = dict(parser.named_parameters()), [], []
    given = [(batch, epoch) for epoch, batches in enumerate(epochs) for batch in batches]
    for start in range(0, len(given), accumulate):
        total = torch.zeros((), dtype=torch.float64)
        for batch, epoch in given[start : start + accumulate]:
            deltas = method.deltas(parser, batch, epoch)
            heard += deltas
            for delta, weight in zip(deltas, method.weights, strict=True):
                if weight:
                    total = total + weight * loss_at(parser, batch, delta)
        gradients = torch.autograd.grad(total / accumulate, list(parameters.values()))
        found.append(dict(zip(parameters, gradients, strict=True)))
        norm = torch.sqrt(sum((gradient**2).sum() for gradient in gradients))
        factor = 1.0 if clip is None else min(1.0, clip / (float(norm) + 1e-6))
        with torch.no_grad():
            for parameter, gradient in zip(parameters.values(), gradients, strict=True):
                parameter -= RATE * factor * gradient
    return heard, found


class Recorder(pl.Callback):
    """Keeps the gradients of every step, before they are clipped."""

    def __init__(self) -> None:
        self.gradients: list[dict[str, torch.Tensor]] = []

    def on_before_optimizer_step(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, optimizer: Any
    ) -> None:
        self.gradients.append(
            {name: weight.grad.clone() for name, weight in pl_module.named_parameters()}
        )


def listen(parser: BiaffineParser) -> list[tuple[Batch, torch.Tensor | None]]:
    """The batch and the delta of every pass from now on."""
    heard: list[tuple[Batch, torch.Tensor | None]] = []
    forward = parser.forward

    def listened(batch: Batch, delta: torch.Tensor | None = None) -> Any:
        heard.append((batch, None if delta is None else delta.detach().clone()))
        return forward(batch, delta)

    parser.forward = listened
    return heard


def same(first: torch.Tensor, second: torch.Tensor) -> None:
    torch.testing.assert_close(first, second, rtol=0, atol=1e-12)
