"""Coarse2Fine while it decodes: beam searches of a sketch, then of its leaves."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from robustparse.grammars.sketches import Place, opened
from robustparse.models.scores import Mean, mean_scores

if TYPE_CHECKING:
    from robustparse.models.semantic.coarse2fine import BracketDecoder, Coarse2Fine, Reading


class _Stepper:
    """What both searches share: hypotheses as lists of tokens; see `Stepper` for the methods.

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
        self.first, self.width = first, first.beam
        self.texts = len(readings[0].start[0])
        self.rows = torch.arange(self.texts, device=first.device).repeat_interleave(self.width)
        self.tokens: list[list[str]] = [[] for _ in self.rows]
        pairs = zip(decoders, readings, strict=True)
        self.decoding = [_Decoding(*pair, self.rows) for pair in pairs]

    def read(self, inputs: Sequence[Tensor]) -> list[Tensor]:
        """Read inputs ``(rows, input_dim)``, one a parser; return the scores of each."""
        places = [opened(tokens)[-1] for tokens in self.tokens]
        parents = torch.tensor(places, device=self.rows.device)
        pairs = zip(self.decoding, inputs, strict=True)
        return [one.step(own, parents) for one, own in pairs]

    def select(self, rows: Tensor) -> None:
        """See `Stepper`."""
        self.tokens = [[*self.tokens[row]] for row in rows.tolist()]
        for one in self.decoding:
            one.select(rows)

    def best(self) -> list[list[str]]:
        """Return the tokens of each text's best hypothesis."""
        return self.tokens[:: self.width]


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
        self.before = torch.zeros_like(self.rows)
        device = self.rows.device
        self._numbers = [_numbers(one.sketch_tokens, first, device) for one in parsers]

    @property
    def finished(self) -> bool:
        """See `Stepper`."""
        return bool((self.before[:: self.width] == self.end).all())

    def scores(self) -> Tensor:
        """See `Stepper`."""
        pairs = [*zip(self.parsers, self._numbers, strict=True)]
        found = self.read([one.sketches(numbers[self.before]) for one, numbers in pairs])
        scores = _chosen(found, self._numbers, self.first.mean)
        ended = self.before == self.end
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
        for tokens, number in zip(self.tokens, actions.tolist(), strict=True):
            if number != self.end:
                tokens.append(self._names[number - 1])
        return torch.zeros(len(actions), device=actions.device)


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
        device = self.rows.device
        self._encoded = [_encoded(one, sketches, device)[self.rows] for one in parsers]
        every = {label: 1 + id_ for label, id_ in first.vocabulary.label_ids.items()}
        own = [
            {label: 1 + id_ for label, id_ in one.vocabulary.label_ids.items()} for one in parsers
        ]
        self._brackets = [number for label, number in every.items() if label in ("(", ")")]
        numbers = [[0, *(ids[label] for label in every)] for ids in own]
        self._numbers = [torch.tensor(one, device=device) for one in numbers]
        self.inputs = [one.leaves.weight[:1].expand(len(self.rows), -1) for one in parsers]

    @property
    def finished(self) -> bool:
        """See `Stepper`."""
        return self.step >= max(map(len, self.places), default=0)

    def scores(self) -> Tensor:
        """See `Stepper`; action 0 takes what the sketch says, and a leaf is no bracket."""
        found = self.read(self.inputs)
        scores = _chosen(found, self._numbers, self.first.mean)
        scores[:, self._brackets] = float("-inf")
        fixed = [self._place(text) is not None for text in self.rows.tolist()]
        scores[fixed, 1:] = float("-inf")
        scores[fixed, 0] = 0.0
        return scores

    def take(self, actions: Tensor) -> Tensor:
        """See `Stepper`; a token has no details."""
        labels = self.first.vocabulary.labels
        sources: list[int] = []
        for row, (text, number) in enumerate(
            zip(self.rows.tolist(), actions.tolist(), strict=True)
        ):
            known = self._place(text)
            if known is None:
                self.tokens[row].append(labels[number - 1])
            elif known:
                self.tokens[row].append(known)
            places = self.places[text]
            sources.append(places[self.step].source if self.step < len(places) else 0)
        self.inputs = [
            torch.where(
                actions[:, None] > 0,
                one.leaves(numbers[actions]),
                encoded[torch.arange(len(sources), device=encoded.device), sources],
            )
            for one, numbers, encoded in zip(
                self.parsers, self._numbers, self._encoded, strict=True
            )
        ]
        self.step += 1
        return torch.zeros(len(actions), device=actions.device)

    def _place(self, text: int) -> str | None:
        """Return the token of this step, None for a leaf; empty after the form's last one."""
        places = self.places[text]
        return places[self.step].token if self.step < len(places) else ""


class _Decoding:
    """One decoder while it reads its own predictions."""

    def __init__(self, decoder: "BracketDecoder", reading: "Reading", rows: Tensor) -> None:
        self.decoder = decoder
        self.memory = decoder.attention.memory(reading.words, reading.mask)
        hidden, cell = (part[rows] for part in reading.start)
        self.state = (hidden[None].contiguous(), cell[None].contiguous())
        self.history = hidden[:, None]

    def step(self, inputs: Tensor, parents: Tensor) -> Tensor:
        """Read ``(rows, input_dim)`` -> scores, ``(rows, outputs)``."""
        states, self.state = self.decoder.lstm(inputs[:, None], self.state)
        self.history = torch.cat([self.history, states], dim=1)
        rows = torch.arange(len(parents), device=parents.device)
        shape = (len(self.memory.values), -1, states.shape[-1])
        chosen = self.history[rows, parents].view(shape)
        return self.decoder.scores(states.view(shape), chosen, self.memory).flatten(0, 1)

    def select(self, rows: Tensor) -> None:
        """Continue with the hypotheses of these rows."""
        self.state = (self.state[0][:, rows], self.state[1][:, rows])
        self.history = self.history[rows]


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
    width = max(map(len, numbers))
    padded = torch.tensor([[*one, *[0] * (width - len(one))] for one in numbers], device=device)
    return parser.encoded_sketch(padded)
