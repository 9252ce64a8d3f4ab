"""Beam search for models that build an answer action by action, batched over texts.

A *stepper* scores and applies actions; the search keeps the best hypotheses of every text. Each
step runs a model once for all texts that are not finished. Greedy search is a beam of size 1.
"""

from collections.abc import Sequence
from typing import Generic, Protocol, TypeVar

import torch
from torch import Tensor

Answer = TypeVar("Answer", covariant=True)


class Stepper(Protocol[Answer]):
    """Holds ``texts * width`` hypotheses; those of a text are next to each other."""

    @property
    def finished(self) -> Tensor:
        """Which hypotheses are complete, ``(texts * width,)`` booleans."""

    def scores(self) -> Tensor:
        """Return log-probabilities of the next actions, ``(texts * width, actions)``.

        A forbidden action has -inf. Every hypothesis has a legal action; that of a finished
        hypothesis has log-probability 0 and changes nothing.
        """

    def select(self, rows: Tensor) -> None:
        """Continue with the hypotheses of these rows, ``(texts * width,)``."""

    def take(self, actions: Tensor) -> Tensor:
        """Apply an action to each hypothesis, ``(texts * width,)``.

        Returns:
            The log-probabilities of the action's details, such as a label, ``(texts * width,)``.
        """

    def keep(self, texts: Tensor) -> None:
        """Keep these texts, ``(texts,)``, with their hypotheses; drop all others."""

    def answer(self, row: int) -> Answer:
        """Return the answer of a hypothesis, even if it is not finished."""


@torch.no_grad()
def beam_search(
    stepper: Stepper[Answer], texts: int, width: int, steps: int, *, per_action: bool = False
) -> tuple[list[Answer], Tensor]:
    """Return the best answer to each text, and the sum of its log-probabilities, ``(texts,)``.

    Hypotheses compete by this sum. The details of a step are added after its action is chosen (Ma
    et al. 2018, released code). A text ends as soon as no hypothesis can overtake its best finished
    one. If no hypothesis is finished after the last step, the best unfinished one is the answer.

    Args:
        stepper: holds ``texts * width`` equal hypotheses.
        texts: number of texts.
        width: beam size.
        steps: the most actions.
        per_action: finished hypotheses keep their places in the beam, and the best of them has the
            highest sum divided by its number of actions (Yin and Neubig 2018, released code).

    Raises:
        ValueError: ``steps`` is below 1.
    """
    if steps < 1:
        raise ValueError(f"steps must be >= 1, got {steps}")
    answers: dict[int, Answer] = {}
    remaining, beams = list(range(texts)), None
    for step in range(1, steps + 1):
        scores = stepper.scores()
        if beams is None:
            beams = _Beams(scores, texts, width)
            totals = scores.new_zeros(texts)
        rows, actions = beams.extend(scores, per_action)
        if width > 1:
            stepper.select(rows)
        beams.add(stepper.take(actions), stepper.finished, step)
        done, best = beams.settled(steps, per_action)
        done |= step == steps
        if not done.any():
            continue
        for index in done.nonzero().flatten().tolist():
            text, chosen = remaining[index], best[index]
            answers[text] = stepper.answer(int(index * width + chosen))
            totals[text] = beams.total[index, chosen]
        kept = (~done).nonzero().flatten()
        remaining = [remaining[index] for index in kept.tolist()]
        if not remaining:
            break
        stepper.keep(kept)
        beams.keep(kept)
    return [answers[text] for text in range(texts)], totals


class _Beams:
    """The scores of the hypotheses of all remaining texts.

    Attributes:
        total: sums of log-probabilities, ``(texts, width)``; -inf if a text has fewer hypotheses.
        ended: the step at which each hypothesis was finished, ``(texts, width)``; 0 if it is not.
    """

    def __init__(self, scores: Tensor, texts: int, width: int) -> None:
        # Initially the hypotheses of a text are equal, and one of them is enough.
        self.total = scores.new_full((texts, width), float("-inf"))
        self.total[:, 0] = 0.0
        self.ended = torch.zeros_like(self.total, dtype=torch.long)

    def extend(self, scores: Tensor, per_action: bool) -> tuple[Tensor, Tensor]:
        """Choose the best extensions; return rows and actions, each ``(texts * width,)``."""
        (texts, width), actions = self.total.shape, scores.shape[1]
        extended = self.total[:, :, None] + scores.view(texts, width, actions)
        rank = extended
        if per_action:
            certain = (self.ended > 0)[:, :, None] & (extended > float("-inf"))
            rank = extended.masked_fill(certain, float("inf"))
        best = rank.flatten(1).topk(width, dim=1).indices
        self.total, origins = extended.flatten(1).gather(1, best), best // actions
        self.ended = self.ended.gather(1, origins)
        first_row = width * torch.arange(texts, device=best.device)[:, None]
        return (first_row + origins).flatten(), (best % actions).flatten()

    def add(self, details: Tensor, finished: Tensor, step: int) -> None:
        """Add the scores of details, ``(texts * width,)``, and mark what is finished now."""
        self.total = self.total + details.view(self.total.shape)
        new = finished.view(self.total.shape) & (self.ended == 0)
        new &= self.total > float("-inf")
        self.ended = self.ended.masked_fill(new, step)

    def settled(self, steps: int, per_action: bool) -> tuple[Tensor, Tensor]:
        """Return which texts are done, and the best hypothesis of each, ``(texts,)`` both.

        A sum can only fall, and is divided by ``steps`` at most.
        """
        finished = self.ended > 0
        values = self.total / self.ended.clamp(min=1) if per_action else self.total
        value, best = values.masked_fill(~finished, float("-inf")).max(1)
        rival, unfinished = self.total.masked_fill(finished, float("-inf")).max(1)
        done = value >= (rival / steps if per_action else rival)
        return done, torch.where(finished.any(1), best, unfinished)

    def keep(self, texts: Tensor) -> None:
        """Keep these texts; drop all others."""
        self.total, self.ended = self.total[texts], self.ended[texts]


class Member(Protocol):
    """The state of one model in a search by several models."""

    def select(self, rows: Tensor) -> None:
        """Continue with the hypotheses of these rows, ``(texts * width,)``."""

    def keep(self, texts: Tensor) -> None:
        """Keep these texts' data, such as their encodings; hypotheses are selected separately."""


OneMember = TypeVar("OneMember", bound=Member)


class JointStepper(Generic[OneMember]):
    """The base of steppers whose models choose each action together; see `Stepper`.

    Subclasses take the ``first`` parser, whose beam size and vocabulary count, all ``parsers``
    including the first, and each parser's encoding of the same texts.

    Args:
        texts: number of texts.
        width: beam size.
        device: the device of all tensors.

    Attributes:
        members: the state of each model.
        texts: the text of each hypothesis, as an index of the remaining ones, ``(texts * width,)``.
    """

    members: Sequence[OneMember]

    def __init__(self, texts: int, width: int, device: torch.device) -> None:
        self.width = width
        self.texts = torch.arange(texts, device=device).repeat_interleave(width)

    def select(self, rows: Tensor) -> None:
        """See `Stepper`."""
        for member in self.members:
            member.select(rows)

    def keep(self, texts: Tensor) -> None:
        """See `Stepper`."""
        self.select(rows_of(texts, self.width))
        self.texts = self.texts[: self.width * len(texts)]
        for member in self.members:
            member.keep(texts)


def rows_of(texts: Tensor, width: int) -> Tensor:
    """Return the rows of the hypotheses of texts, ``(texts * width,)``."""
    return (width * texts[:, None] + torch.arange(width, device=texts.device)).flatten()
