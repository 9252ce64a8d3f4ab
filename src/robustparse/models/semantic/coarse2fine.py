"""Coarse2Fine (Dong and Lapata 2018): first a sketch of the form, then its leaves.

The sketch decoder, an LSTM with attention, writes the sketch (see `grammars.sketches`). A BiLSTM
encodes the sketch. The form decoder, of the same kind, then walks through the whole form and
predicts its leaves. Its input is the encoding of the previous token if the sketch has that token,
otherwise the embedding of the previous leaf. Both decoders use parent feeding: each prediction
reads the attentional state and the decoder state at the step that opened the current bracket.

In training, the form decoder learns the tokens that the sketch fixes too, as in the released code;
they add no loss outside training. Unlike the released code, the first states are a linear map of
the encoder's vectors at both ends of the utterance, and attention is bilinear: the original takes
last states and dot products, which need encoder and decoder of one width.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from robustparse.data.batch import Batch
from robustparse.data.vocab import Vocabulary
from robustparse.errors import InputError, check_least, check_rates
from robustparse.grammars import Language, Tree
from robustparse.grammars.sketches import (
    CLOSE,
    Place,
    opened,
    places_of,
    sketch_of,
    tokens_of,
    tree_of,
)
from robustparse.models.beam_search import JointStepper, beam_search, rows_of
from robustparse.models.decisions import Decisions
from robustparse.models.encoders.base import Encoder, ends
from robustparse.models.encoders.bilstm import LSTMEncoder
from robustparse.models.encoders.dropout import shared_dropout
from robustparse.models.encoders.lstm import BiLSTM, lstm_states
from robustparse.models.mean_scores import mean_scores, single_precision
from robustparse.models.semantic.attention import Attention, Memory
from robustparse.models.semantic.form_codec import FormCodec
from robustparse.models.semantic.history import History
from robustparse.models.semantic.parser import SemanticParser
from robustparse.types import LogicalForm

COLUMNS = ("sketch", "sketch_opened", "sources", "leaves", "fixed", "opened")
"""Gold columns; all numbers count from 1, and 0 means none.

For each token of the sketch and for its end: the token, and the step that opened its bracket. For
each token of the form: the position in the sketch that it comes from; the token if it is a leaf;
the token if the sketch fixes it; and the step that opened its bracket.
"""


@dataclass
class Encoding:
    """The encoder's output.

    Args:
        words: ``(batch, length, dim)`` vectors of words.
        mask: ``(batch, length)`` true on words.
        start: the decoders' first hidden and cell state, each ``(batch, hidden)``.
    """

    words: Tensor
    mask: Tensor
    start: tuple[Tensor, Tensor]


class BracketDecoder(nn.Module):
    """An LSTM with attention and parent feeding, which scores the next token.

    Args:
        input_dim: width of its inputs.
        hidden: width of its states.
        dim: width of the encoder's vectors.
        outputs: number of tokens.
        dropout: dropout rate of inputs and outputs, with one mask for all steps.
    """

    def __init__(self, input_dim: int, hidden: int, dim: int, outputs: int, dropout: float) -> None:
        super().__init__()
        self.dropout = dropout
        self.lstm = nn.LSTM(input_dim, hidden, batch_first=True)
        self.attention = Attention(dim, hidden, hidden)
        self.output = nn.Linear(2 * hidden, outputs)

    def forward(self, inputs: Tensor, encoding: Encoding, opened: Tensor) -> Tensor:
        """Score all steps, ``(batch, steps, outputs)``, the tokens numbered from 1.

        Args:
            inputs: ``(batch, steps, input_dim)``.
            encoding: of the utterances.
            opened: ``(batch, steps)`` the step that opened the current bracket, from 1; 0 is the
                start.
        """
        inputs = shared_dropout(inputs, self.dropout, self.training)
        states = lstm_states(self.lstm, inputs, encoding.start)
        states = shared_dropout(states, self.dropout, self.training)
        history = torch.cat([encoding.start[0][:, None], states], dim=1)
        rows = torch.arange(len(history), device=history.device)[:, None]
        memory = self.attention.memory(encoding.words, encoding.mask)
        return self.scores(states, history[rows, opened], memory)

    def scores(self, states: Tensor, parents: Tensor, memory: Memory) -> Tensor:
        """Score tokens from decoder states and parents' states, both ``(batch, n, hidden)``."""
        attended = self.attention(states, memory)
        return single_precision(self.output(torch.cat([attended, parents], dim=-1)))


class SketchCodec(FormCodec):
    """Forms as sketches and leaves; adds the gold columns `COLUMNS`.

    Args:
        language: the language of the forms.
        vocabulary: numbers the tokens of sketches and the leaves.
    """

    columns = (*FormCodec.columns, *COLUMNS)
    places: ClassVar[Mapping[str, str]] = {
        "sketch_opened": "sketch",
        "sources": "sketch",
        "opened": "leaves",
    }

    def __init__(self, language: Language, vocabulary: Vocabulary) -> None:
        super().__init__(language)
        self.vocabulary = vocabulary

    @cached_property
    def sketch_tokens(self) -> dict[str, int]:
        """Map the sketch tokens of the training data to numbers, from 1."""
        return {token: number for number, token in enumerate(self.vocabulary.sketches, start=1)}

    @property
    def sketch_end(self) -> int:
        """The number of the end of a sketch; the next number is that of unknown tokens."""
        return len(self.sketch_tokens) + 1

    def columns_of(self, form: LogicalForm) -> dict[str, Sequence[int]]:
        """Return the meaning, the sketch and the leaves."""
        language, tree = self.language, self.language.parse(form)
        sketch, tokens = sketch_of(tree, language), tokens_of(tree, language)
        places, ids = places_of(sketch, language), self.vocabulary.label_ids
        unknown = self.sketch_end + 1
        numbers = [1 + ids.get(token.removeprefix("("), len(ids)) for token in tokens]
        columns: Sequence[Sequence[int]] = (
            [*(self.sketch_tokens.get(token, unknown) for token in sketch), self.sketch_end],
            opened(sketch),
            [1 + place.source for place in places],
            [0 if place.token else n for place, n in zip(places, numbers, strict=True)],
            [n if place.token else 0 for place, n in zip(places, numbers, strict=True)],
            opened(tokens)[:-1],
        )
        return super().columns_of(form) | dict(zip(COLUMNS, columns, strict=True))

    def rebuilt(self, tree: Tree) -> Tree:
        """Build the form from its sketch and its leaves."""
        sketch, tokens = sketch_of(tree, self.language), tokens_of(tree, self.language)
        pairs = zip(places_of(sketch, self.language), tokens, strict=True)
        leaves = [token for place, token in pairs if place.token is None]
        for leaf in leaves:
            if leaf == CLOSE or leaf.startswith("("):
                raise InputError(f"the leaf {leaf!r}", expected="a leaf that is not a bracket")
        return tree_of(sketch, leaves, self.language)

    def steps(self, columns: Mapping[str, Sequence[int]]) -> int:
        """Return the length of the sketch, without its end."""
        return len(columns["sketch"]) - 1


class Coarse2Fine(SemanticParser[Encoding]):
    """Sketch and form decoders over any encoder.

    Args:
        encoder: returns a vector for each word.
        input_dim: width of the embeddings of sketch tokens and leaves, and of encoded sketches;
            an even number (150 for GEO and ATIS in the released settings, as all defaults).
        hidden: width of both decoders' states (300 for GEO, 250 for ATIS).
        dropout: dropout rate of the decoders' inputs and outputs (0.5).
        smoothing: label smoothing in training (0.1).
        beam: beam size, for sketches and for forms (1).
        longest: the most tokens of a sketch (50).
        base: see `Model`.
    """

    codec: SketchCodec

    def __init__(
        self,
        encoder: Encoder | None = None,
        input_dim: int = 150,
        hidden: int = 300,
        dropout: float = 0.5,
        smoothing: float = 0.1,
        beam: int = 1,
        longest: int = 50,
        **base: Any,
    ) -> None:
        super().__init__(encoder or LSTMEncoder(), beam, longest, **base)
        check_least("Coarse2Fine", 2, input_dim=input_dim, hidden=hidden)
        if input_dim % 2:
            raise InputError(f"must be even, got {input_dim}", key="Coarse2Fine: input_dim")
        check_rates("Coarse2Fine", dropout=dropout, smoothing=smoothing)
        self.input_dim, self.hidden = input_dim, hidden
        self.dropout, self.smoothing = dropout, smoothing
        self.initialize()

    def make_codec(self, vocabulary: Vocabulary) -> SketchCodec:
        """See `Model`."""
        return SketchCodec(self.language, vocabulary)

    def build(self, vocabulary: Vocabulary) -> None:
        """Make the layers."""
        dim, leaves = self.encoder.out_dim, len(vocabulary.labels)
        # Row 0 is the beginning, the last row an unknown token.
        self.sketches = nn.Embedding(self.codec.sketch_end + 2, self.input_dim)
        self.leaves = nn.Embedding(leaves + 2, self.input_dim)
        self.first_cell = nn.Linear(2 * dim, self.hidden)
        sizes = (self.input_dim, self.hidden, dim)
        self.coarse = BracketDecoder(*sizes, self.codec.sketch_end, self.dropout)
        self.fine = BracketDecoder(*sizes, leaves, self.dropout)
        self.sketch_encoder = BiLSTM(self.input_dim, self.input_dim // 2)
        self.reset_matrices()

    # Network

    def states_of(self, embeddings: Tensor, batch: Batch) -> Encoding:
        """See `Model`."""
        states = self.encoder(embeddings, batch.words, batch.lengths)
        cell = self.first_cell(ends(states, batch.lengths))
        return Encoding(states[:, 1:], batch.mask, (cell.tanh(), cell))

    def loss(self, states: Encoding, batch: Batch) -> Tensor:
        """Cross-entropy of the gold sketch, and of the gold form given it, ``(batch,)``."""
        of_sketch, of_form = self._gold_scores(states, batch)
        return self._cross_entropy(*of_sketch) + self._cross_entropy(*of_form)

    def decisions(self, states: Encoding, batch: Batch) -> list[Decisions]:
        """See `Model`: the next token of each step of the gold sketch, and of the gold form."""
        return [
            Decisions.of((gold > 0).nonzero()[:, 0], scores[gold > 0])
            for scores, gold in self._gold_scores(states, batch)
        ]

    def _gold_scores(
        self, states: Encoding, batch: Batch
    ) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
        """Score the tokens of the gold sketch, and those of the gold form given it.

        Returns:
            Twice: scores, ``(batch, steps, outputs)``, and gold tokens, ``(batch, steps)``, which
            are 0 for steps without a loss.
        """
        sketch, sketch_opened, sources, leaves, fixed, opened = (
            batch.gold[name] for name in COLUMNS
        )
        previous = nn.functional.pad(sketch[:, :-1], (1, 0))
        coarse = self.coarse(self.sketches(previous), states, sketch_opened)
        inputs = self.fine_inputs(self.encoded_sketch(sketch), sources, leaves)
        fine = self.fine(inputs, states, opened)
        learnt = leaves + fixed if self.training else leaves
        return (
            (coarse, sketch.masked_fill(sketch > self.codec.sketch_end, 0)),
            (fine, learnt.masked_fill(learnt > len(self.vocabulary.labels), 0)),
        )

    def encoded_sketch(self, sketch: Tensor) -> Tensor:
        """Encode sketches, ``(batch, length)`` with padding 0: ``(batch, length, input_dim)``."""
        lengths = (sketch > 0).sum(1)
        encoded: Tensor = self.sketch_encoder(self.sketches(sketch), lengths)
        return encoded

    def fine_inputs(self, encoded: Tensor, sources: Tensor, leaves: Tensor) -> Tensor:
        """Return the form decoder's inputs, the previous tokens, ``(batch, steps, input_dim)``.

        Args:
            encoded: encoded sketches, ``(batch, length, input_dim)``.
            sources: ``(batch, steps)``, see `COLUMNS`.
            leaves: ``(batch, steps)``, see `COLUMNS`.
        """
        rows = torch.arange(len(encoded), device=encoded.device)[:, None]
        of_sketch = encoded[rows, (sources - 1).clamp(min=0)]
        tokens = torch.where(leaves[..., None] > 0, self.leaves(leaves), of_sketch)
        first = self.leaves.weight[:1].expand(len(encoded), 1, -1)
        return torch.cat([first.to(tokens.dtype), tokens[:, :-1]], dim=1)

    def _cross_entropy(self, scores: Tensor, gold: Tensor) -> Tensor:
        """Return the loss of the steps whose gold token is not 0, ``(batch,)``."""
        smoothing = self.smoothing if self.training else 0.0
        counted = gold > 0
        losses = nn.functional.cross_entropy(
            scores[counted], gold[counted] - 1, reduction="none", label_smoothing=smoothing
        )
        return scores.new_zeros(gold.shape).masked_scatter(counted, losses).sum(1)

    # Decoding

    @torch.no_grad()
    def forms(
        self,
        members: Sequence["Coarse2Fine"],
        states: Sequence[Encoding],
        batches: Sequence[Batch],
    ) -> tuple[list[str], NDArray[np.float64]]:
        """Return the forms of the best sketches; a form that cannot be written is empty."""
        coarse = SketchStepper(self, members, states)
        texts = len(batches[0])
        sketches, total = beam_search(coarse, texts, self.beam, self.longest)
        places = [_places(sketch, self.language) for sketch in sketches]
        if not any(places):
            return [""] * texts, total.double().exp().cpu().numpy()
        fine = LeafStepper(self, members, states, sketches, places)
        leaves, of_leaves = beam_search(fine, texts, self.beam, max(map(len, places)))
        pairs = zip(sketches, leaves, strict=True)
        forms = [_printed(*pair, self.language) for pair in pairs]
        return forms, (total + of_leaves).double().exp().cpu().numpy()


def _printed(sketch: Sequence[str], leaves: Sequence[str], language: Language) -> str:
    """Return the form of a sketch and its leaves; an empty one if they make no form."""
    try:
        return language.unparse(tree_of(sketch, leaves, language))
    except InputError:
        return ""


def _places(sketch: Sequence[str], language: Language) -> list[Place]:
    try:
        return places_of(sketch, language)
    except InputError:
        return []


class _Stepper(JointStepper["_Decoding"]):
    """What both searches share.

    Args:
        first: the parser whose beam size counts.
        decoders: the decoder of each parser.
        encodings: each parser's encoding of the same utterances.
    """

    def __init__(
        self,
        first: Coarse2Fine,
        decoders: Sequence[BracketDecoder],
        encodings: Sequence[Encoding],
    ) -> None:
        super().__init__(len(encodings[0].start[0]), first.beam, first.device)
        self.first = first
        self.chosen = self.texts.new_empty(len(self.texts), 0)
        self.brackets = Brackets(self.texts)
        pairs = zip(decoders, encodings, strict=True)
        self.members = [_Decoding(*pair, self.texts) for pair in pairs]

    def read(self, inputs: Sequence[Tensor]) -> Tensor:
        """Take a step with each parser's input, ``(rows, input_dim)``.

        Returns:
            Joint log-probabilities of actions, ``(rows, 1 + outputs)``; action 0, which no parser
            scores, has -inf.
        """
        pairs = zip(self.members, inputs, strict=True)
        scores = [member.step(values, self.brackets.innermost) for member, values in pairs]
        joint = mean_scores(scores, self.first.mean).log_softmax(-1)
        return nn.functional.pad(joint, (1, 0), value=float("-inf"))

    def select(self, rows: Tensor) -> None:
        """See `Stepper`."""
        super().select(rows)
        self.chosen = self.chosen[rows]
        self.brackets.select(rows)


class SketchStepper(_Stepper):
    """Extends sketches by any token; see `JointStepper`."""

    def __init__(
        self,
        first: Coarse2Fine,
        parsers: Sequence[Coarse2Fine],
        encodings: Sequence[Encoding],
    ) -> None:
        super().__init__(first, [parser.coarse for parser in parsers], encodings)
        self.parsers = parsers
        self.end, self._names = first.codec.sketch_end, [*first.codec.sketch_tokens]
        self.previous = self.chosen.new_zeros(len(self.chosen))
        device = self.previous.device
        self._token_brackets = _brackets(["", *self._names, ""], device)

    @property
    def finished(self) -> Tensor:
        """See `Stepper`."""
        return self.previous == self.end

    def scores(self) -> Tensor:
        """See `Stepper`."""
        scores = self.read([parser.sketches(self.previous) for parser in self.parsers])
        ended = self.finished
        scores[ended] = float("-inf")
        scores[ended, self.end] = 0.0
        return scores

    def select(self, rows: Tensor) -> None:
        """See `Stepper`."""
        super().select(rows)
        self.previous = self.previous[rows]

    def take(self, actions: Tensor) -> Tensor:
        """See `Stepper`; a token has no details."""
        self.previous = actions
        self.chosen = torch.cat([self.chosen, actions[:, None]], dim=1)
        self.brackets.read(self._token_brackets[actions])
        return torch.zeros(len(actions), device=actions.device)

    def answer(self, row: int) -> list[str]:
        """Return the tokens of a sketch."""
        numbers = self.chosen[row].tolist()
        return [self._names[number - 1] for number in numbers if number != self.end]


class LeafStepper(_Stepper):
    """Fills in the leaves of forms; the sketches fix the other tokens.

    Args:
        first: the parser whose beam size counts.
        parsers: all parsers, including ``first``.
        encodings: each parser's encoding of the same utterances.
        sketches: the sketch of each utterance.
        places: the tokens of each form; none if a sketch makes no form.
    """

    def __init__(
        self,
        first: Coarse2Fine,
        parsers: Sequence[Coarse2Fine],
        encodings: Sequence[Encoding],
        sketches: Sequence[Sequence[str]],
        places: Sequence[Sequence[Place]],
    ) -> None:
        super().__init__(first, [parser.fine for parser in parsers], encodings)
        self.parsers, self.places, self.step = parsers, places, 0
        device, labels, rows = self.chosen.device, first.vocabulary.labels, self.texts
        self._lengths = torch.tensor([len(form) for form in places], device=device)[rows]
        fixed = [[place.token is not None for place in form] for form in places]
        sources = [[place.source for place in form] for form in places]
        brackets = [[_bracket(place.token or "") for place in form] for form in places]
        # What the sketch says of each step, `(rows, steps)`; steps after the end are fixed too.
        self._fixed = _padded(fixed, True, device)[rows]
        self._sources = _padded(sources, 0, device)[rows]
        self._fixed_brackets = _padded(brackets, 0, device)[rows]
        self._no_leaves = _brackets(["", *labels], device) != 0
        self._encoded = [_encoded(parser, sketches, device)[rows] for parser in parsers]
        self.inputs = [parser.leaves.weight[:1].expand(len(rows), -1) for parser in parsers]

    @property
    def finished(self) -> Tensor:
        """See `Stepper`."""
        return self._lengths <= self.step

    def scores(self) -> Tensor:
        """See `Stepper`; action 0 takes the token of the sketch, and a bracket is no leaf."""
        scores = self.read(self.inputs)
        scores[:, self._no_leaves] = float("-inf")
        fixed = self._fixed[:, self.step]
        scores[fixed] = float("-inf")
        scores[fixed, 0] = 0.0
        return scores

    def take(self, actions: Tensor) -> Tensor:
        """See `Stepper`; a token has no details."""
        self.chosen = torch.cat([self.chosen, actions[:, None]], dim=1)
        self.brackets.read(self._fixed_brackets[:, self.step])
        rows = torch.arange(len(actions), device=actions.device)
        sources = self._sources[:, self.step]
        pairs = zip(self.parsers, self._encoded, strict=True)
        self.inputs = [
            torch.where(actions[:, None] > 0, parser.leaves(actions), encoded[rows, sources])
            for parser, encoded in pairs
        ]
        self.step += 1
        return torch.zeros(len(actions), device=actions.device)

    def select(self, rows: Tensor) -> None:
        """See `Stepper`."""
        super().select(rows)
        self.inputs = [inputs[rows] for inputs in self.inputs]

    def keep(self, texts: Tensor) -> None:
        """See `Stepper`."""
        super().keep(texts)
        self.places = [self.places[text] for text in texts.tolist()]
        rows = rows_of(texts, self.width)
        for name in ("_lengths", "_fixed", "_sources", "_fixed_brackets"):
            setattr(self, name, getattr(self, name)[rows])
        self._encoded = [encoded[rows] for encoded in self._encoded]

    def answer(self, row: int) -> list[str]:
        """Return the leaves of a form."""
        places, labels = self.places[row // self.width], self.first.vocabulary.labels
        pairs = zip(places, self.chosen[row].tolist(), strict=False)
        return [labels[number - 1] for place, number in pairs if place.token is None]


class Brackets:
    """The open brackets of hypotheses, ``(rows,)``, by the steps that opened them."""

    def __init__(self, rows: Tensor) -> None:
        self._step = 0
        self._open = torch.zeros_like(rows)[:, None]
        self._depth = self._open.clone()

    @property
    def innermost(self) -> Tensor:
        """The step that opened each row's innermost bracket, from 1; 0 if none is open."""
        return self._open.gather(1, self._depth).squeeze(1)

    def read(self, brackets: Tensor) -> None:
        """Read the next token of each row: 1 opens a bracket, -1 closes it, 0 is another token."""
        self._step += 1
        self._depth = (self._depth + brackets[:, None]).clamp(min=0)
        opens = self._open.new_full(self._depth.shape, self._step)
        padded = nn.functional.pad(self._open, (0, 1))
        innermost = torch.where(brackets[:, None] > 0, opens, padded.gather(1, self._depth))
        self._open = padded.scatter(1, self._depth, innermost)

    def select(self, rows: Tensor) -> None:
        """Continue with the hypotheses of these rows."""
        self._open, self._depth = self._open[rows], self._depth[rows]


class _Decoding:
    """The decoder of one parser during a search."""

    def __init__(self, decoder: BracketDecoder, encoding: Encoding, rows: Tensor) -> None:
        self.decoder = decoder
        self.memory = decoder.attention.memory(encoding.words, encoding.mask)
        hidden, cell = (state[rows] for state in encoding.start)
        self.state = (hidden[None].contiguous(), cell[None].contiguous())
        self.history = History(hidden)

    def step(self, inputs: Tensor, parents: Tensor) -> Tensor:
        """Read inputs ``(rows, input_dim)``, return scores ``(rows, outputs)``."""
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


def _encoded(parser: Coarse2Fine, sketches: Sequence[Sequence[str]], device: Any) -> Tensor:
    """Encode sketches and their ends, ``(texts, length, dim)``."""
    numbers, end = parser.codec.sketch_tokens, parser.codec.sketch_end
    rows = [[*(numbers[token] for token in sketch), end] for sketch in sketches]
    return parser.encoded_sketch(_padded(rows, 0, device))


def _bracket(token: str) -> int:
    """Return 1 for a token that opens a bracket, -1 for a closing bracket, otherwise 0."""
    return -1 if token == CLOSE else int(token.startswith("("))


def _brackets(tokens: Sequence[str], device: Any) -> Tensor:
    return torch.tensor([_bracket(token) for token in tokens], device=device)


def _padded(rows: Sequence[Sequence[int]], value: int, device: Any) -> Tensor:
    """Return rows of different lengths as one tensor, ``(rows, longest)``."""
    width = max(map(len, rows))
    return torch.tensor([[*row, *[value] * (width - len(row))] for row in rows], device=device)
