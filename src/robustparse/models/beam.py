"""Beam search for models that build an answer action by action, batched over texts.

A *stepper* knows the actions; the search keeps the best hypotheses of every text. Each step runs a
model once for all texts whose answer is not yet certain. Greedy search is a beam of one.
"""

from collections.abc import Sequence
from typing import Generic, Protocol, TypeVar

import torch
from torch import Tensor

Answer = TypeVar("Answer", covariant=True)


class Stepper(Protocol[Answer]):
    """Holds ``texts * width`` hypotheses, those of a text next to each other."""

    @property
    def finished(self) -> Tensor:
        """Which hypotheses are whole answers, ``(texts * width,)`` booleans."""

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

    def keep(self, texts: Tensor) -> None:
        """Drop all texts but these, ``(texts left,)``, with their hypotheses."""

    def answer(self, row: int) -> Answer:
        """Return the answer of a hypothesis, as far as it is built."""


@torch.no_grad()
def beam_search(
    stepper: Stepper[Answer], texts: int, width: int, steps: int, *, per_action: bool = False
) -> tuple[list[Answer], Tensor]:
    """Return the best answer to each text, and the sum of its log-probabilities, ``(texts,)``.

    Hypotheses compete by this sum, a step's details not included before they are known, which is
    after its action is chosen (Ma et al. 2018, released code). A text is dropped as soon as no
    other hypothesis of it can become better than its best finished one. If none is finished after
    the last step, the answer is that of the best hypothesis.

    Args:
        stepper: of ``texts * width`` equal hypotheses.
        texts: how many.
        width: hypotheses a text.
        steps: actions at most.
        per_action: finished hypotheses no longer compete with the others, whose beam they narrow,
            and the best of them has the highest sum divided by its number of actions (Yin and
            Neubig 2018, released code).

    Raises:
        ValueError: ``steps`` is below 1.
    """
    if steps < 1:
        raise ValueError(f"steps must be >= 1, got {steps}")
    answers: dict[int, Answer] = {}
    left, beams = list(range(texts)), None
    for step in range(1, steps + 1):
        scores = stepper.scores()
        if beams is None:
            beams = _Beams(scores, texts, width)
            found = scores.new_zeros(texts)
        rows, actions = beams.extend(scores, per_action)
        if width > 1:
            stepper.select(rows)
        beams.add(stepper.take(actions), stepper.finished, step)
        done, best = beams.settled(steps, per_action)
        done |= step == steps
        if not done.any():
            continue
        for place in done.nonzero().flatten().tolist():
            text, chosen = left[place], best[place]
            answers[text] = stepper.answer(int(place * width + chosen))
            found[text] = beams.total[place, chosen]
        kept = (~done).nonzero().flatten()
        left = [left[place] for place in kept.tolist()]
        if not left:
            break
        stepper.keep(kept)
        beams.keep(kept)
    return [answers[text] for text in range(texts)], found


class _Beams:
    """The scores of the hypotheses of all texts that are left.

    Attributes:
        total: the sums of log-probabilities, ``(texts, width)``; -inf where a text has fewer
            hypotheses.
        ended: at which step each was finished, ``(texts, width)``; 0 for not yet.
    """

    def __init__(self, scores: Tensor, texts: int, width: int) -> None:
        # At first the hypotheses of a text are equal, and one of them is enough.
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
        """Add the scores of details, ``(texts * width,)``, and note what is finished now."""
        self.total = self.total + details.view(self.total.shape)
        new = finished.view(self.total.shape) & (self.ended == 0)
        new &= self.total > float("-inf")
        self.ended = self.ended.masked_fill(new, step)

    def settled(self, steps: int, per_action: bool) -> tuple[Tensor, Tensor]:
        """Tell which texts are certain of their best hypothesis, and which one that is now.

        A sum only ever falls, and is divided by ``steps`` at most.
        """
        whole = self.ended > 0
        values = self.total / self.ended.clamp(min=1) if per_action else self.total
        value, best = values.masked_fill(~whole, float("-inf")).max(1)
        rival, partial = self.total.masked_fill(whole, float("-inf")).max(1)
        done = value >= (rival / steps if per_action else rival)
        return done, torch.where(whole.any(1), best, partial)

    def keep(self, texts: Tensor) -> None:
        """Drop all texts but these."""
        self.total, self.ended = self.total[texts], self.ended[texts]


class Member(Protocol):
    """One model's part of the hypotheses that several models extend together."""

    def select(self, rows: Tensor) -> None:
        """Continue with the hypotheses of these rows, ``(texts * width,)``."""

    def keep(self, texts: Tensor) -> None:
        """Drop what belongs to texts, not to hypotheses, of all texts but these."""


OneMember = TypeVar("OneMember", bound=Member)


class JointStepper(Generic[OneMember]):
    """What steppers share whose models choose each action together; see `Stepper`.

    Args:
        texts: how many.
        width: hypotheses a text.
        device: of all tensors.

    Attributes:
        members: one of each model.
        texts: which text each hypothesis is of, among those that are left, ``(texts * width,)``.
    """

    members: Sequence[OneMember]

    def __init__(self, texts: int, width: int, device: torch.device) -> None:
        self.width = width
        self.texts = torch.arange(texts, device=device).repeat_interleave(width)

    def select(self, rows: Tensor) -> None:
        """See `Stepper`."""
        for one in self.members:
            one.select(rows)

    def keep(self, texts: Tensor) -> None:
        """See `Stepper`."""
        self.select(rows_of(texts, self.width))
        self.texts = self.texts[: self.width * len(texts)]
        for one in self.members:
            one.keep(texts)


def rows_of(texts: Tensor, width: int) -> Tensor:
    """Return the rows of the hypotheses of texts, ``(texts * width,)``."""
    return (width * texts[:, None] + torch.arange(width, device=texts.device)).flatten()
