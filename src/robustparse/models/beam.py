"""Beam search for models that build an answer action by action, batched over texts.

A *stepper* knows the actions; the search keeps the best hypotheses of every text. Each step runs a
model once for all texts. Greedy search is a beam of one.
"""

from typing import Protocol

import torch
from torch import Tensor


class Stepper(Protocol):
    """Holds ``texts * width`` hypotheses, those of a text next to each other."""

    @property
    def finished(self) -> bool:
        """Whether no text's best hypothesis can change any more."""

    def scores(self) -> Tensor:
        """Return log-probabilities of the next actions, ``(texts * width, actions)``.

        A forbidden action has -inf. Every hypothesis has a legal action; a finished one has one
        of log-probability 0, which changes nothing.
        """

    def select(self, rows: Tensor) -> None:
        """Continue with the hypotheses of these rows, ``(texts * width,)``."""

    def take(self, actions: Tensor) -> Tensor:
        """Apply an action to each hypothesis, ``(texts * width,)``.

        Returns:
            What the action's details add to the score, as the log-probability of a label,
            ``(texts * width,)``.
        """


@torch.no_grad()
def beam_search(stepper: Stepper, texts: int, width: int, steps: int) -> Tensor:
    """Extend hypotheses until the best are finished; the stepper then holds them, best first.

    Hypotheses are compared by the sum of their log-probabilities, a step's details not included
    before they are known, which is after its action is chosen (Ma et al. 2018, released code).

    Args:
        stepper: of ``texts * width`` equal hypotheses.
        texts: how many.
        width: hypotheses a text.
        steps: actions at most; a hypothesis that is not finished then stays as it is.

    Returns:
        The scores, ``(texts, width)``; -inf where a text has fewer hypotheses than ``width``.
    """
    total: Tensor | None = None
    for _ in range(steps):
        scores = stepper.scores()
        actions = scores.shape[1]
        if total is None:
            # At first the hypotheses of a text are equal, and one of them is enough.
            total = scores.new_full((texts, width), float("-inf"))
            total[:, 0] = 0.0
            first_row = width * torch.arange(texts, device=scores.device)[:, None]
        extended = (total[:, :, None] + scores.view(texts, width, actions)).flatten(1)
        total, best = extended.topk(width, dim=1)
        if width > 1:
            stepper.select((first_row + best // actions).flatten())
        total = total + stepper.take((best % actions).flatten()).view(texts, width)
        if stepper.finished:
            break
    if total is None:
        raise ValueError("steps must be >= 1, got 0")
    return total
