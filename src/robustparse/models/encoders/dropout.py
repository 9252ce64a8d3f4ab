"""The two kinds of dropout of the biaffine parser (Dozat and Manning 2017, section 3.3)."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn


def shared_dropout(inputs: Tensor, probability: float, training: bool) -> Tensor:
    """Variational dropout: one mask per sentence, shared over its words.

    Args:
        inputs: ``(batch, length, dim)``.
        probability: the probability of dropping a dimension.
        training: if false, the inputs are returned unchanged.
    """
    if not training or probability == 0.0:
        return inputs
    keep = 1.0 - probability
    mask = inputs.new_empty(inputs.shape[0], 1, inputs.shape[2]).bernoulli_(keep) / keep
    return inputs * mask


def word_dropout(parts: list[Tensor], probability: float, training: bool) -> list[Tensor]:
    """Drop whole embeddings, each kind independently, and scale up the remaining ones of a word.

    Args:
        parts: embeddings of different kinds for the same words, ``(batch, length, dim_k)`` each.
        probability: the probability of dropping one kind of one word.
        training: if false, the inputs are returned unchanged.

    Returns:
        The embeddings. If k of n kinds of a word are kept, they are scaled by n / k. A single kind
        is not scaled (Zheng et al. 2020, word-only parser).
    """
    if not training or probability == 0.0:
        return parts
    keep = [part.new_empty(part.shape[:2]).bernoulli_(1.0 - probability) for part in parts]
    if len(parts) == 1:
        return [parts[0] * keep[0].unsqueeze(-1)]
    scale = len(parts) / torch.stack(keep).sum(0).clamp(min=1.0)
    return [part * (mask * scale).unsqueeze(-1) for part, mask in zip(parts, keep, strict=True)]


@contextmanager
def evaluating(module: nn.Module) -> Iterator[None]:
    """Switch to evaluation mode without gradients; afterwards restore every module's mode."""
    training = [part for part in module.modules() if part.training]
    if training:
        module.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for part in training:
            part.training = True
