"""TranX while it decodes: derivations of a beam search, extended action by action."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from robustparse.grammars import Derivation, Node
from robustparse.models.beam import JointStepper
from robustparse.models.scores import mean_scores
from robustparse.models.semantic.actions import Frontier
from robustparse.models.semantic.attention import Memory
from robustparse.models.semantic.history import History

if TYPE_CHECKING:
    from robustparse.models.semantic.tranx import TranX


@dataclass
class Reading:
    """What the decoder looks at.

    Args:
        memory: of the utterances.
        start: ``(batch, hidden)`` the decoder's first hidden state.
        words: ``(batch, length)`` numbers of the words that may be copied, as tokens; 0 on padding.
            ``(batch, 0)`` if none may be.
    """

    memory: Memory
    start: Tensor
    words: Tensor

    def of(self, texts: Tensor) -> "Reading":
        """Return what belongs to these texts, ``(texts,)``."""
        return Reading(self.memory.of(texts), self.start[texts], self.words[texts])


class ActionStepper(JointStepper["_Member"]):
    """Extends derivations action by action, for `beam_search`; all parsers choose together.

    Args:
        first: the parser whose beam and numbers of actions count.
        parsers: all of them, ``first`` included.
        readings: of the same utterances, one a parser.
    """

    def __init__(
        self, first: "TranX", parsers: Sequence["TranX"], readings: Sequence[Reading]
    ) -> None:
        super().__init__(len(readings[0].start), first.beam, first.device)
        self.first, rows = first, self.texts
        self.members = [
            _Member(one, reading, first, rows)
            for one, reading in zip(parsers, readings, strict=True)
        ]
        self.derivations = [Derivation(first.numbers.grammar)] * len(rows)
        self.before = torch.zeros_like(rows)
        words = readings[0].words
        known = torch.arange(first.numbers.unknown, device=rows.device)
        # The numbers of the actions that columns of scores stand for, [texts, columns].
        self.actions = torch.cat([known.expand(len(words), -1), words], dim=1)
        masks = first.numbers.masks.to(rows.device)
        # Where a token fits, so does a word that is copied.
        copied = first.numbers.for_tokens.to(rows.device)
        self.masks = torch.cat([masks, copied.expand(-1, words.shape[1])], dim=1)
        self.kinds, self.frontier = self._look()

    @property
    def finished(self) -> Tensor:
        """See `Stepper`."""
        return self.kinds == 0

    def scores(self) -> Tensor:
        """See `Stepper`; rules and tokens share a distribution each, whatever is allowed."""
        numbers = self.first.numbers
        found = [one.step(self.before, self.frontier) for one in self.members]
        scores = torch.full_like(found[0], float("-inf"))
        for part in (numbers.rules, slice(numbers.tokens.start, None)):
            scores[:, part] = mean_scores(
                [one[:, part] for one in found], self.first.mean
            ).log_softmax(-1)
        scores.masked_fill_(~self.masks[self.kinds], float("-inf"))
        scores[self.finished, 0] = 0.0
        return scores

    def select(self, rows: Tensor) -> None:
        """See `Stepper`."""
        super().select(rows)
        self.derivations = [self.derivations[row] for row in rows.tolist()]
        self.before, self.kinds = self.before[rows], self.kinds[rows]
        self.frontier = Frontier(*(column[rows] for column in self.frontier))

    def take(self, actions: Tensor) -> Tensor:
        """See `Stepper`; an action has no details, and 0 is that of a finished hypothesis.

        Where fewer actions are allowed than the beam is wide, hypotheses of probability 0 are
        continued with one that is not: they stay as they are, and are never chosen.
        """
        numbers = self.actions[self.texts, actions]
        self.before = numbers.clamp(max=self.first.numbers.unknown)
        fitting = self.masks[self.kinds, actions] & (numbers > 0)
        self.derivations = [
            derivation.apply(self.first.numbers.action(number)) if fits else derivation
            for derivation, number, fits in zip(
                self.derivations, numbers.tolist(), fitting.tolist(), strict=True
            )
        ]
        self.kinds, self.frontier = self._look()
        return torch.zeros(len(actions), device=actions.device)

    def keep(self, texts: Tensor) -> None:
        """See `Stepper`."""
        super().keep(texts)
        self.actions = self.actions[texts]

    def answer(self, row: int) -> Node | None:
        """Return the tree of a hypothesis; None of one that is not finished."""
        return self.derivations[row].tree

    def _look(self) -> tuple[Tensor, Frontier]:
        """Return which actions fit the frontier fields, as rows of `masks`, and what is read."""
        kinds = [self.first.numbers.kind(one) for one in self.derivations]
        steps = [1 + one.parent_step for one in self.derivations]
        parents, fields, types, masks = torch.tensor(kinds, device=self.before.device).T
        parent_steps = torch.tensor(steps, device=self.before.device)
        return masks, Frontier(parents, fields, types, parent_steps)


class _Member:
    """One parser's decoder while it chooses actions."""

    def __init__(self, parser: "TranX", reading: Reading, first: "TranX", rows: Tensor) -> None:
        self.parser, self.reading = parser, reading
        start = reading.start[rows]
        self.state = (start, torch.zeros_like(start), torch.zeros_like(start))
        self.history = History(torch.zeros_like(start)) if parser.parent_state else None
        rules = range(parser.numbers.rules.stop)
        tokens = [parser.numbers.number(label) for label in first.vocabulary.labels]
        unknown = parser.numbers.unknown
        words = range(unknown, unknown + reading.words.shape[1])
        self._numbers = torch.tensor([*rules, *tokens, *words], device=rows.device)

    def step(self, before: Tensor, frontier: Frontier) -> Tensor:
        """Read actions ``(rows,)``, numbered as the first parser does -> scores of the next."""
        numbers = self._numbers[before]
        history = self.history
        parents = None if history is None else history.at(frontier.parent_steps)
        self.state = self.parser.step(numbers, frontier, parents, self.state, self.reading.memory)
        if history is not None:
            history.append(self.state[0])
        # [texts, width, hidden]
        attended = self.state[2].view(len(self.reading.start), -1, self.state[2].shape[1])
        return self.parser.scores(attended, self.reading).flatten(0, 1)[:, self._numbers]

    def select(self, rows: Tensor) -> None:
        """See `Member`."""
        hidden, cell, attended = self.state
        self.state = (hidden[rows], cell[rows], attended[rows])
        if self.history is not None:
            self.history.select(rows)

    def keep(self, texts: Tensor) -> None:
        """See `Member`."""
        self.reading = self.reading.of(texts)
