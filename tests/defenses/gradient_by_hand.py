"""The loss of the fast gradient method and steps on it, written out."""

from collections.abc import Sequence
from types import MethodType

import torch

from robustparse.data.batch import Batch
from robustparse.data.datamodule import TreebankDataModule
from robustparse.data.sampler import TrainingLoader
from robustparse.parsers.biaffine import BiaffineParser

EPSILON, WEIGHT, RATE = 1.7, 0.6, 0.3


def with_sgd(parser: BiaffineParser, rate: float = RATE) -> BiaffineParser:
    """Plain steps, which do not blow rounding errors of a zero gradient up as Adam does."""

    def configure_optimizers(self: BiaffineParser) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), rate)

    parser.configure_optimizers = MethodType(configure_optimizers, parser)
    return parser


def batches(parser: BiaffineParser, data: TreebankDataModule, epochs: int = 1) -> list[Batch]:
    loader = TrainingLoader(parser.number(data.train_examples), data.batch_words, data.seed)
    found = []
    for epoch in range(epochs):
        loader.sampler.set_epoch(epoch)
        found += loader
    return found


def offset_by_hand(parser: BiaffineParser, batch: Batch, epsilon: float) -> torch.Tensor:
    """Each sentence alone: its loss's gradient on its own words, stretched to epsilon."""
    result = torch.zeros_like(parser.embed(batch))
    for row, length in enumerate(batch.lengths.tolist()):
        at = torch.zeros_like(result).requires_grad_()
        (gradient,) = torch.autograd.grad(parser.loss(batch, at)[0][row], at)
        assert gradient[row, 0].abs().max() > 1e-6  # ROOT has a gradient, which must not count
        own = gradient[row, 1 : 1 + length]
        result[row, 1 : 1 + length] = epsilon * own / (own**2).sum().sqrt()
    return result.detach()


def total_by_hand(parser: BiaffineParser, batch: Batch) -> torch.Tensor:
    offset = offset_by_hand(parser, batch, EPSILON)
    words = batch.lengths.sum()
    clean = parser.loss(batch)[0].sum() / words
    return clean + WEIGHT * parser.loss(batch, offset)[0].sum() / words


def steps_by_hand(
    parser: BiaffineParser, given: Sequence[Batch], accumulate: int, clip: float | None
) -> list[dict[str, torch.Tensor]]:
    """SGD, written out; the gradients before clipping."""
    gradients = []
    parameters = list(parser.parameters())
    for start in range(0, len(given), accumulate):
        total = sum(total_by_hand(parser, batch) for batch in given[start : start + accumulate])
        found = torch.autograd.grad(total / accumulate, parameters)
        names = [name for name, _ in parser.named_parameters()]
        gradients.append(dict(zip(names, found, strict=True)))
        norm = torch.sqrt(sum((gradient**2).sum() for gradient in found))
        factor = 1.0 if clip is None else min(1.0, clip / (float(norm) + 1e-6))
        with torch.no_grad():
            for parameter, gradient in zip(parameters, found, strict=True):
                parameter -= RATE * factor * gradient
    return gradients
