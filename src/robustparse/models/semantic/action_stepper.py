"""TranX while it decodes: derivations of a beam search, extended action by action."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from robustparse.grammars import Derivation
from robustparse.models.scores import mean_scores
from robustparse.models.semantic.actions import Frontier
from robustparse.models.semantic.attention import Memory

if TYPE_CHECKING:
    from robustparse.models.semantic.tranx import TranX


@dataclass
class Reading:
    """What the decoder looks at, and its first hidden state, ``(batch, hidden)``."""

    memory: Memory
    start: Tensor


class ActionStepper:
    """Extends derivations action by action, for `beam_search`; all parsers choose together.

    Args:
        first: the parser whose beam and numbers of actions count.
        parsers: all of them, ``first`` included.
        readings: of the same utterances, one a parser.
    """

    def __init__(
        self, first: "TranX", parsers: Sequence["TranX"], readings: Sequence[Reading]
    ) -> None:
        self.first, self.texts, self.width = first, len(readings[0].start), first.beam
        rows = torch.arange(self.texts, device=first.device).repeat_interleave(self.width)
        self.members = [
            _Member(one, reading, first, rows)
            for one, reading in zip(parsers, readings, strict=True)
        ]
        self.derivations = [Derivation(first.numbers.grammar)] * len(rows)
        self.before = torch.zeros_like(rows)
        self.allowed = self._allowed()

    @property
    def finished(self) -> bool:
        """See `Stepper`; a score only ever falls, so that a finished best form stays the best."""
        return all(derivation.finished for derivation in self.derivations[:: self.width])

    def scores(self) -> Tensor:
        """See `Stepper`; rules and tokens share a distribution each, whatever is allowed."""
        numbers = self.first.numbers
        frontiers = [
            (0, 0, 0, 0) if one.finished else numbers.frontier(one) for one in self.derivations
        ]
        frontier = Frontier(*torch.tensor(frontiers, device=self.before.device).T)
        found = [one.step(self.before, frontier) for one in self.members]
        scores = torch.full_like(found[0], float("-inf"))
        for part in (numbers.rules, numbers.tokens):
            scores[:, part] = mean_scores(
                [one[:, part] for one in found], self.first.mean
            ).log_softmax(-1)
        self.allowed = self._allowed()
        scores = scores.masked_fill(~self.allowed, float("-inf"))
        scores[[one.finished for one in self.derivations], 0] = 0.0
        return scores

    def select(self, rows: Tensor) -> None:
        """See `Stepper`."""
        self.derivations = [self.derivations[row] for row in rows.tolist()]
        self.before, self.allowed = self.before[rows], self.allowed[rows]
        for one in self.members:
            one.select(rows)

    def take(self, actions: Tensor) -> Tensor:
        """See `Stepper`; an action has no details, and 0 is that of a finished hypothesis.

        Where fewer actions are allowed than the beam is wide, hypotheses of probability 0 are
        continued with one that is not: they stay as they are, and are never chosen.
        """
        self.before = actions
        fitting = self.allowed.gather(1, actions[:, None]).flatten().tolist()
        self.derivations = [
            derivation.apply(self.first.numbers.action(number)) if fits else derivation
            for derivation, number, fits in zip(
                self.derivations, actions.tolist(), fitting, strict=True
            )
        ]
        return torch.zeros(len(actions), device=actions.device)

    def best(self) -> list[int]:
        """Return the row of each text's best finished hypothesis, or else of the best one."""
        first = range(0, len(self.derivations), self.width)
        finished = [
            [row for row in range(one, one + self.width) if self.derivations[row].finished]
            for one in first
        ]
        return [rows[0] if rows else one for one, rows in zip(first, finished, strict=True)]

    def _allowed(self) -> Tensor:
        """Mark the actions that fit each frontier field, ``(rows, actions)``."""
        numbers = self.first.numbers
        fitting = [numbers.allowed(derivation) for derivation in self.derivations]
        different = {id(one): one for one in fitting}  # one list for each kind of field
        masks = torch.zeros(len(different), numbers.unknown, dtype=torch.bool)
        for row, one in enumerate(different.values()):
            masks[row, one] = True
        rows = dict(zip(different, range(len(different)), strict=True))
        return masks[[rows[id(one)] for one in fitting]].to(self.before.device)


class _Member:
    """One parser's decoder while it chooses actions."""

    def __init__(self, parser: "TranX", reading: Reading, first: "TranX", rows: Tensor) -> None:
        self.parser, self.memory = parser, reading.memory
        start = reading.start[rows]
        self.state = (start, torch.zeros_like(start), torch.zeros_like(start))
        self.history = start.new_zeros(len(rows), 1, start.shape[1])
        rules = range(parser.numbers.rules.stop)
        tokens = [parser.numbers.number(label) for label in first.vocabulary.labels]
        self._numbers = torch.tensor([*rules, *tokens], device=rows.device)

    def step(self, before: Tensor, frontier: Frontier) -> Tensor:
        """Read actions ``(rows,)``, numbered as the first parser does -> scores of the next."""
        numbers = self._numbers[before]
        self.state = self.parser.step(numbers, frontier, self.history, self.state, self.memory)
        if self.parser.parent_state:
            self.history = torch.cat([self.history, self.state[0][:, None]], dim=1)
        return self.parser.scores(self.state[2])[:, self._numbers]

    def select(self, rows: Tensor) -> None:
        """Continue with the hypotheses of these rows."""
        hidden, cell, attended = self.state
        self.state = (hidden[rows], cell[rows], attended[rows])
        self.history = self.history[rows]
