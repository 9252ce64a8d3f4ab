"""Mean scores of an ensemble, and scores of mixed precision."""

import math
from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor

Mean = Literal["probabilities", "logits"]
"""What an ensemble averages."""


def mean_scores(scores: Sequence[Tensor], mean: Mean = "probabilities") -> Tensor:
    """Average the scores of several models over the last axis; a single model's are unchanged.

    The result is the logarithm of their mean probabilities, or the mean of their logits. The latter
    multiplies probabilities: what one model rules out is ruled out.
    """
    if len(scores) == 1:
        return scores[0]
    if mean == "logits":
        return torch.stack(list(scores)).mean(0)
    logarithms = torch.stack([logits.log_softmax(-1) for logits in scores])
    return logarithms.logsumexp(0) - math.log(len(scores))


def single_precision(scores: Tensor) -> Tensor:
    """Convert scores of half precision to float32; others stay as they are."""
    return scores.float() if scores.dtype in (torch.bfloat16, torch.float16) else scores
