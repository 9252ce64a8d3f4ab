"""Scores of mixed precision, and of several models together."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor


def mean_scores(scores: Sequence[Tensor]) -> Tensor:
    """Return the log of the members' mean probabilities over the last axis; one's scores as is."""
    if len(scores) == 1:
        return scores[0]
    logarithms = torch.stack([one.log_softmax(-1) for one in scores])
    return logarithms.logsumexp(0) - math.log(len(scores))


def single_precision(scores: Tensor) -> Tensor:
    """Return scores of mixed precision as float32, others as they are."""
    return scores.float() if scores.dtype in (torch.bfloat16, torch.float16) else scores
