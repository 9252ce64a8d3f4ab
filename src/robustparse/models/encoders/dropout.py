"""The two dropouts of the biaffine parser (Dozat and Manning 2017, section 3.3), and none of it."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn


def shared_dropout(inputs: Tensor, probability: float, training: bool) -> Tensor:
    """Variational dropout: one mask a sentence, shared over its words.

    Args:
        inputs: ``(batch, length, dim)``.
        probability: of dropping a dimension.
        training: off leaves the inputs as they are.
    """
    if not training or probability == 0.0:
        return inputs
    keep = 1.0 - probability
    mask = inputs.new_empty(inputs.shape[0], 1, inputs.shape[2]).bernoulli_(keep) / keep
    return inputs * mask


def word_dropout(parts: list[Tensor], probability: float, training: bool) -> list[Tensor]:
    """Drop whole embeddings, each kind on its own, and scale up what is left of a word.

    Args:
        parts: embeddings of the same words, each ``(batch, length, dim_k)``.
        probability: of dropping one kind of one word.
        training: off leaves the inputs as they are.

    Returns:
        The parts; of a word with k of n kinds kept, each is scaled by n / k. A lone part is not
        scaled (Zheng et al. 2020, word-only parser).
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
    """Switch to evaluation without gradients; afterwards every module's mode is what it was."""
    modes = {part: part.training for part in module.modules()}
    module.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for part, training in modes.items():
            part.training = training
