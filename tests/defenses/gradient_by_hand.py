"""Gradient ascent on deltas, the loss of the fast gradient method and steps on it, written out.

And what hears which deltas a parser gets, and which gradients its optimiser.
"""

from collections.abc import Callable, Sequence
from types import MethodType
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch

from robustparse.data.batch import Batch
from robustparse.data.sampler import TrainingLoader
from robustparse.data.treebank import TreebankDataModule
from robustparse.models.dependency.biaffine import BiaffineParser

EPSILON, WEIGHT, RATE = 1.7, 0.6, 0.3


def with_sgd(parser: BiaffineParser, rate: float = RATE) -> BiaffineParser:
    """Plain steps, which do not blow rounding errors of a zero gradient up as Adam does."""

    def configure_optimizers(self: BiaffineParser) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), rate)

    parser.configure_optimizers = MethodType(configure_optimizers, parser)
    return parser


def batches(parser: BiaffineParser, data: TreebankDataModule, epochs: int = 1) -> list[list[Batch]]:
    """Those of each epoch."""
    loader = TrainingLoader(parser.encode(data.train_examples), data.batch_words, data.seed)
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


def ascent_by_hand(
    parser: BiaffineParser,
    batch: Batch,
    start: torch.Tensor,
    steps: int,
    size: float,
    step: Step = sentence_step,
) -> list[torch.Tensor]:
    """Where each sentence alone gets to on its own words, from the start to the last step."""
    places = [start]
    for _ in range(steps):
        place = torch.zeros_like(start)
        for row, length in enumerate(batch.lengths.tolist()):
            at = places[-1].clone().requires_grad_()
            (gradient,) = torch.autograd.grad(parser.loss(parser(batch, at), batch)[row], at)
            assert gradient[row, 0].abs().max() > 1e-6  # ROOT has a gradient, which must not count
            own = slice(1, 1 + length)
            place[row, own] = step(places[-1][row, own], gradient[row, own], size)
        places.append(place)
    return places


def start_by_hand(
    parser: BiaffineParser,
    batch: Batch,
    seed: int,
    epoch: int,
    draw: Callable[[np.random.Generator, int, int], np.ndarray],
) -> torch.Tensor:
    """A random start, sentence by sentence."""
    start = torch.zeros_like(parser.embed(batch)).detach()
    for row, (id_, length) in enumerate(zip(batch.ids.tolist(), batch.lengths, strict=True)):
        rng = np.random.Generator(np.random.Philox(np.random.SeedSequence([seed, epoch, id_])))
        drawn = draw(rng, int(length), start.shape[2])
        start[row, 1 : 1 + length] = EPSILON * torch.from_numpy(drawn)
    return start


def loss_at(parser: BiaffineParser, batch: Batch, delta: torch.Tensor | None) -> torch.Tensor:
    return parser.loss(parser(batch, delta), batch).sum() / batch.lengths.sum()


def total_by_hand(parser: BiaffineParser, batch: Batch, epoch: int = 0) -> torch.Tensor:
    """Of the fast gradient method."""
    zeros = torch.zeros_like(parser.embed(batch)).detach()
    _, delta = ascent_by_hand(parser, batch, zeros, 1, EPSILON)
    return loss_at(parser, batch, None) + WEIGHT * loss_at(parser, batch, delta)


Total = Callable[[BiaffineParser, Batch, int], torch.Tensor]


def steps_by_hand(
    parser: BiaffineParser,
    epochs: Sequence[Sequence[Batch]],
    accumulate: int,
    clip: float | None,
    total_of: Total = total_by_hand,
) -> list[dict[str, torch.Tensor]]:
    """SGD, written out; the gradients before clipping."""
    gradients = []
    parameters = list(parser.parameters())
    given = [(batch, epoch) for epoch, batches in enumerate(epochs) for batch in batches]
    for start in range(0, len(given), accumulate):
        total = sum(total_of(parser, *each) for each in given[start : start + accumulate])
        found = torch.autograd.grad(total / accumulate, parameters)
        names = [name for name, _ in parser.named_parameters()]
        gradients.append(dict(zip(names, found, strict=True)))
        norm = torch.sqrt(sum((gradient**2).sum() for gradient in found))
        factor = 1.0 if clip is None else min(1.0, clip / (float(norm) + 1e-6))
        with torch.no_grad():
            for parameter, gradient in zip(parameters, found, strict=True):
                parameter -= RATE * factor * gradient
    return gradients


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
    """The batch and the delta of every loss asked for from now on."""
    heard: list[tuple[Batch, torch.Tensor | None]] = []
    loss = parser.loss

    def listened(batch: Batch, delta: torch.Tensor | None = None) -> Any:
        heard.append((batch, None if delta is None else delta.detach().clone()))
        return loss(batch, delta)

    parser.loss = listened
    return heard


def same(first: torch.Tensor, second: torch.Tensor) -> None:
    torch.testing.assert_close(first, second, rtol=0, atol=1e-12)
