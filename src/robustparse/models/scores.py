"""Scores of mixed precision, and of several models together."""

import math
from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor

Mean = Literal["probabilities", "logits"]
"""What models that answer together take the mean of."""


def mean_scores(scores: Sequence[Tensor], mean: Mean = "probabilities") -> Tensor:
    """Return the scores of several models together, over the last axis; one's scores as is.

    The mean of their probabilities, as a logarithm; or of their logits, which multiplies the
    probabilities: what one model rules out, all do.
    """
    if len(scores) == 1:
        return scores[0]
    if mean == "logits":
        return torch.stack(list(scores)).mean(0)
    logarithms = torch.stack([one.log_softmax(-1) for one in scores])
    return logarithms.logsumexp(0) - math.log(len(scores))


def single_precision(scores: Tensor) -> Tensor:
    """Return scores of mixed precision as float32, others as they are."""
    return scores.float() if scores.dtype in (torch.bfloat16, torch.float16) else scores
