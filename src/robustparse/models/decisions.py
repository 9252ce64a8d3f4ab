"""A model's decisions as distributions, and the divergence between two of them.

A model decides on heads and labels, on the steps of a logical form after the gold steps, or on a
class. Defenses that train for agreement compare the distributions for a text with those for a
changed text.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor


class Decisions(NamedTuple):
    """Decisions of one kind in a batch; a decision is one or more choices, such as head and label.

    Args:
        texts: ``(decisions,)`` the row of each decision's text.
        choices: the log-probabilities of each choice, ``(decisions, outcomes)``; -inf for outcomes
            that are ruled out.
    """

    texts: Tensor
    choices: tuple[Tensor, ...]

    @classmethod
    def of(cls, texts: Tensor, *scores: Tensor) -> "Decisions":
        """Make decisions from the scores of each choice, ``(decisions, outcomes)``."""
        return cls(texts, tuple(choice.log_softmax(-1) for choice in scores))

    def detach(self) -> "Decisions":
        """Return the same distributions without gradients."""
        return Decisions(self.texts, tuple(choice.detach() for choice in self.choices))


def divergence(
    first: Sequence[Decisions], second: Sequence[Decisions], texts: int
) -> tuple[Tensor, Tensor]:
    """Return KL(first || second) = sum over outcomes of p log(p / q), for each text.

    Args:
        first: the distributions p, by kind.
        second: the distributions q of the same decisions.
        texts: the number of texts in the batch.

    Returns:
        The sum over the decisions of each text, and their number, both ``(batch,)``.
    """
    total = first[0].choices[0].new_zeros(texts)
    number = torch.zeros_like(total)
    for (rows, of_first), (_, of_second) in zip(first, second, strict=True):
        number = number.index_add(0, rows, torch.ones_like(rows, dtype=total.dtype))
        for log_p, log_q in zip(of_first, of_second, strict=True):
            # An outcome that is ruled out has p = 0 and adds nothing.
            ratio = (log_p - log_q).masked_fill(log_p == float("-inf"), 0.0)
            total = total.index_add(0, rows, (log_p.exp() * ratio).sum(-1))
    return total, number
