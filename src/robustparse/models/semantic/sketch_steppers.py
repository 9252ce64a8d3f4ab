"""Coarse2Fine while it decodes: beam searches of a sketch, then of its leaves."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from robustparse.grammars.sketches import CLOSE, Place
from robustparse.models.beam import JointStepper, rows_of
from robustparse.models.scores import Mean, mean_scores
from robustparse.models.semantic.history import History

if TYPE_CHECKING:
    from robustparse.models.semantic.coarse2fine import BracketDecoder, Coarse2Fine, Reading


class _Stepper(JointStepper["_Decoding"]):
    """What both searches share; see `Stepper` for the methods.

    Args:
        first: the parser whose beam and numbers count.
        decoders: one of each parser.
        readings: of the same utterances, one a parser.
    """

    def __init__(
        self,
        first: "Coarse2Fine",
        decoders: Sequence["BracketDecoder"],
        readings: Sequence["Reading"],
    ) -> None:
        super().__init__(len(readings[0].start[0]), first.beam, first.device)
        self.first = first
        self.chosen = self.texts.new_empty(len(self.texts), 0)
        self.brackets = Brackets(self.texts)
        pairs = zip(decoders, readings, strict=True)
        self.members = [_Decoding(*pair, self.texts) for pair in pairs]

    def read(self, inputs: Sequence[Tensor]) -> list[Tensor]:
        """Read inputs ``(rows, input_dim)``, one a parser; return the scores of each."""
        pairs = zip(self.members, inputs, strict=True)
        return [one.step(own, self.brackets.innermost) for one, own in pairs]

    def select(self, rows: Tensor) -> None:
        """See `Stepper`."""
        super().select(rows)
        self.chosen = self.chosen[rows]
        self.brackets.select(rows)


class SketchStepper(_Stepper):
    """Extends sketches by tokens, whether these fit or not; all parsers choose together.

    Args:
        first: the parser whose beam and numbers count.
        parsers: all of them, ``first`` included.
        readings: of the same utterances, one a parser.
    """

    def __init__(
        self,
        first: "Coarse2Fine",
        parsers: Sequence["Coarse2Fine"],
        readings: Sequence["Reading"],
    ) -> None:
        super().__init__(first, [one.coarse for one in parsers], readings)
        self.parsers = parsers
        self.end, self._names = first.sketch_end, [*first.sketch_tokens]
        self.before = self.chosen.new_zeros(len(self.chosen))
        device = self.before.device
        self._numbers = [_numbers(one.sketch_tokens, first, device) for one in parsers]
        self._token_brackets = _brackets(["", *self._names, ""], device)

    @property
    def finished(self) -> Tensor:
        """See `Stepper`."""
        return self.before == self.end

    def scores(self) -> Tensor:
        """See `Stepper`."""
        pairs = [*zip(self.parsers, self._numbers, strict=True)]
        found = self.read([one.sketches(numbers[self.before]) for one, numbers in pairs])
        scores = _chosen(found, self._numbers, self.first.mean)
        ended = self.finished
        scores[ended] = float("-inf")
        scores[ended, self.end] = 0.0
        return scores

    def select(self, rows: Tensor) -> None:
        """See `Stepper`."""
        super().select(rows)
        self.before = self.before[rows]

    def take(self, actions: Tensor) -> Tensor:
        """See `Stepper`; a token has no details."""
        self.before = actions
        self.chosen = torch.cat([self.chosen, actions[:, None]], dim=1)
        self.brackets.read(self._token_brackets[actions])
        return torch.zeros(len(actions), device=actions.device)

    def answer(self, row: int) -> list[str]:
        """Return the tokens of a sketch."""
        numbers = self.chosen[row].tolist()
        return [self._names[number - 1] for number in numbers if number != self.end]


class LeafStepper(_Stepper):
    """Fills in the leaves of forms whose other tokens the sketches say.

    Args:
        first: the parser whose beam and numbers count.
        parsers: all of them, ``first`` included.
        readings: of the same utterances, one a parser.
        sketches: of the utterances.
        places: the forms' tokens; none where a sketch has no form.
    """

    def __init__(
        self,
        first: "Coarse2Fine",
        parsers: Sequence["Coarse2Fine"],
        readings: Sequence["Reading"],
        sketches: Sequence[Sequence[str]],
        places: Sequence[Sequence[Place]],
    ) -> None:
        super().__init__(first, [one.fine for one in parsers], readings)
        self.parsers, self.places, self.step = parsers, places, 0
        device, labels, rows = self.chosen.device, first.vocabulary.labels, self.texts
        self._lengths = torch.tensor([len(one) for one in places], device=device)[rows]
        given = [[place.token is not None for place in one] for one in places]
        sources = [[place.source for place in one] for one in places]
        brackets = [[_bracket(place.token or "") for place in one] for one in places]
        # What the sketches say of each step, `(rows, steps)`; action 0 is given after the end too.
        self._given = _padded(given, True, device)[rows]
        self._sources = _padded(sources, 0, device)[rows]
        self._given_brackets = _padded(brackets, 0, device)[rows]
        self._no_leaves = _brackets(["", *labels], device) != 0
        self._encoded = [_encoded(one, sketches, device)[rows] for one in parsers]
        orders = [one.vocabulary.places_of(labels) for one in parsers]
        numbers = [[0, *(1 + place for place in own)] for own in orders]
        self._numbers = [torch.tensor(one, device=device) for one in numbers]
        self.inputs = [one.leaves.weight[:1].expand(len(rows), -1) for one in parsers]

    @property
    def finished(self) -> Tensor:
        """See `Stepper`."""
        return self._lengths <= self.step

    def scores(self) -> Tensor:
        """See `Stepper`; action 0 takes what the sketch says, and a leaf is no bracket."""
        found = self.read(self.inputs)
        scores = _chosen(found, self._numbers, self.first.mean)
        scores[:, self._no_leaves] = float("-inf")
        given = self._given[:, self.step]
        scores[given] = float("-inf")
        scores[given, 0] = 0.0
        return scores

    def take(self, actions: Tensor) -> Tensor:
        """See `Stepper`; a token has no details."""
        self.chosen = torch.cat([self.chosen, actions[:, None]], dim=1)
        self.brackets.read(self._given_brackets[:, self.step])
        rows = torch.arange(len(actions), device=actions.device)
        sources = self._sources[:, self.step]
        triples = zip(self.parsers, self._numbers, self._encoded, strict=True)
        self.inputs = [
            torch.where(actions[:, None] > 0, one.leaves(numbers[actions]), encoded[rows, sources])
            for one, numbers, encoded in triples
        ]
        self.step += 1
        return torch.zeros(len(actions), device=actions.device)

    def select(self, rows: Tensor) -> None:
        """See `Stepper`."""
        super().select(rows)
        self.inputs = [one[rows] for one in self.inputs]

    def keep(self, texts: Tensor) -> None:
        """See `Stepper`."""
        super().keep(texts)
        self.places = [self.places[text] for text in texts.tolist()]
        rows = rows_of(texts, self.width)
        for name in ("_lengths", "_given", "_sources", "_given_brackets"):
            setattr(self, name, getattr(self, name)[rows])
        self._encoded = [one[rows] for one in self._encoded]

    def answer(self, row: int) -> list[str]:
        """Return the leaves of a form."""
        places, labels = self.places[row // self.width], self.first.vocabulary.labels
        pairs = zip(places, self.chosen[row].tolist(), strict=False)
        return [labels[number - 1] for place, number in pairs if place.token is None]


class Brackets:
    """Which step opened the innermost open bracket, see `opened`, of hypotheses ``(rows,)``."""

    def __init__(self, rows: Tensor) -> None:
        self._step = 0
        self._open = torch.zeros_like(rows)[:, None]
        self._depth = self._open.clone()

    @property
    def innermost(self) -> Tensor:
        """The step of each row, from 1; 0 where no bracket is open."""
        return self._open.gather(1, self._depth).squeeze(1)

    def read(self, brackets: Tensor) -> None:
        """Read one more token a row: 1 opens a bracket, -1 closes one, 0 is any other."""
        self._step += 1
        self._depth = (self._depth + brackets[:, None]).clamp(min=0)
        opens = self._open.new_full(self._depth.shape, self._step)
        padded = nn.functional.pad(self._open, (0, 1))
        found = torch.where(brackets[:, None] > 0, opens, padded.gather(1, self._depth))
        self._open = padded.scatter(1, self._depth, found)

    def select(self, rows: Tensor) -> None:
        """Continue with the hypotheses of these rows."""
        self._open, self._depth = self._open[rows], self._depth[rows]


class _Decoding:
    """One decoder while it reads its own predictions."""

    def __init__(self, decoder: "BracketDecoder", reading: "Reading", rows: Tensor) -> None:
        self.decoder = decoder
        self.memory = decoder.attention.memory(reading.words, reading.mask)
        hidden, cell = (part[rows] for part in reading.start)
        self.state = (hidden[None].contiguous(), cell[None].contiguous())
        self.history = History(hidden)

    def step(self, inputs: Tensor, parents: Tensor) -> Tensor:
        """Read ``(rows, input_dim)`` -> scores, ``(rows, outputs)``."""
        states, self.state = self.decoder.lstm(inputs[:, None], self.state)
        self.history.append(states[:, 0])
        shape = (len(self.memory.values), -1, states.shape[-1])
        opened = self.history.at(parents).view(shape)
        return self.decoder.scores(states.view(shape), opened, self.memory).flatten(0, 1)

    def select(self, rows: Tensor) -> None:
        """See `Member`."""
        self.state = (self.state[0][:, rows], self.state[1][:, rows])
        self.history.select(rows)

    def keep(self, texts: Tensor) -> None:
        """See `Member`."""
        self.memory = self.memory.of(texts)


def _chosen(found: Sequence[Tensor], numbers: Sequence[Tensor], mean: Mean) -> Tensor:
    """Join the scores of several parsers, ``(rows, outputs)``: log-probabilities of actions.

    Action 0, which no parser scores, has -inf.
    """
    pairs = zip(found, numbers, strict=True)
    scores = mean_scores([one[:, own[1:] - 1] for one, own in pairs], mean).log_softmax(-1)
    return nn.functional.pad(scores, (1, 0), value=float("-inf"))


def _numbers(tokens: dict[str, int], first: "Coarse2Fine", device: Any) -> Tensor:
    """Return a parser's number of each of the first one's, with beginning and end."""
    own = [tokens[name] for name in first.sketch_tokens]
    return torch.tensor([0, *own, len(tokens) + 1], device=device)


def _encoded(parser: "Coarse2Fine", sketches: Sequence[Sequence[str]], device: Any) -> Tensor:
    """Return the sketches with their ends as a parser encodes them, ``(texts, length, dim)``."""
    end = parser.sketch_end
    numbers = [[*(parser.sketch_tokens[token] for token in one), end] for one in sketches]
    return parser.encoded_sketch(_padded(numbers, 0, device))


def _bracket(token: str) -> int:
    """Tell what a token does: 1 opens a bracket, -1 closes one, 0 neither."""
    return -1 if token == CLOSE else int(token.startswith("("))


def _brackets(tokens: Sequence[str], device: Any) -> Tensor:
    return torch.tensor([_bracket(token) for token in tokens], device=device)


def _padded(rows: Sequence[Sequence[int]], value: int, device: Any) -> Tensor:
    """Return rows of different lengths as one tensor, ``(rows, longest)``."""
    width = max(map(len, rows))
    return torch.tensor([[*row, *[value] * (width - len(row))] for row in rows], device=device)
