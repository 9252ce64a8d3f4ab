"""Sequence to sequence with attention and input feeding (Luong et al. 2015), token by token.

The semantic parser of Huang et al. (2021), who took it from the released code of TranX (Yin and
Neubig 2018). An LSTM reads the token before and its own attentional state (input feeding); the next
token follows from the attentional state.

The first cell state is a linear map of the encoder's vectors at both ends of the utterance, since
not every encoder has cell states: in the released code it is one of a BiLSTM's last cell states.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from robustparse.data.batch import Batch
from robustparse.data.vocab import Vocabulary
from robustparse.errors import check_least, check_rates
from robustparse.models.beam import JointStepper, beam_search
from robustparse.models.encoders.base import Encoder, ends
from robustparse.models.encoders.bilstm import LSTMEncoder
from robustparse.models.optimization import Optimization
from robustparse.models.scores import mean_scores, single_precision
from robustparse.models.semantic.attention import Attention, Memory
from robustparse.models.semantic.parser import SemanticParser
from robustparse.models.semantic.unrolled import unrolled
from robustparse.types import LogicalForm

State = tuple[Tensor, Tensor, Tensor]
"""Hidden, cell and attentional state of a decoder, each ``(rows, hidden)``."""


@dataclass
class Reading:
    """What the decoder looks at, and its first state."""

    memory: Memory
    start: State


class Seq2Seq(SemanticParser):
    """Attentional encoder-decoder over any encoder.

    Its further gold column ``target``, ``(batch, tokens + 1)``, holds the ids of a form's tokens,
    those of the vocabulary's labels or -1 if unknown, and `end` after the last one.

    Args:
        encoder: gives a vector a word.
        token_dim: of the embeddings of tokens (128, released code of TranX).
        hidden: of the decoder LSTM and of attentional states (256, there).
        dropout: of attentional states (0.5 for GEO and JOBS, 0.3 for ATIS, there).
        token_dropout: fraction of the tokens before that the decoder does not see in training
            (0.3, there).
        smoothing: of labels, in training (0.1, there).
        beam: hypotheses an utterance (5).
        longest: tokens of a form at most (100).
        optimization: optimiser and schedule.
        seed: of initialisation and dropout.
        init_from: see `BiaffineParser`.
        vocabulary: given by the data module or a checkpoint.

    Raises:
        InputError: a number is out of range, or see ``initialize``.
    """

    columns = (*SemanticParser.columns, "target")

    def __init__(
        self,
        encoder: Encoder | None = None,
        token_dim: int = 128,
        hidden: int = 256,
        dropout: float = 0.5,
        token_dropout: float = 0.3,
        smoothing: float = 0.1,
        beam: int = 5,
        longest: int = 100,
        optimization: Optimization | None = None,
        seed: int = 0,
        init_from: str | None = None,
        vocabulary: Vocabulary | None = None,
    ) -> None:
        super().__init__(encoder or LSTMEncoder(), beam, longest, optimization, seed)
        check_least("Seq2Seq", token_dim=token_dim, hidden=hidden)
        check_rates("Seq2Seq", dropout=dropout, token_dropout=token_dropout, smoothing=smoothing)
        self.token_dim, self.hidden = token_dim, hidden
        self.dropout, self.token_dropout, self.smoothing = dropout, token_dropout, smoothing
        self.initialize(vocabulary, init_from)

    def build(self, vocabulary: Vocabulary) -> None:
        """Make the layers."""
        dim = self.encoder.out_dim
        # After the tokens and their end come the beginning and unknown tokens, never predicted.
        self.tokens = nn.Embedding(self.end + 3, self.token_dim)
        self.first_cell = nn.Linear(2 * dim, self.hidden)
        self.cell = nn.LSTMCell(self.token_dim + self.hidden, self.hidden)
        self.attention = Attention(dim, self.hidden, self.hidden)
        self.output = nn.Linear(self.hidden, self.end + 1, bias=False)
        self.reset_matrices()

    @property
    def end(self) -> int:
        """The id that ends a form, after those of the vocabulary's labels."""
        return len(self.vocabulary.labels)

    def columns_of(self, form: LogicalForm) -> dict[str, Sequence[int]]:
        """Add the tokens."""
        ids = self.vocabulary.label_ids
        target = [*(ids.get(token, -1) for token in form.split()), self.end]
        return super().columns_of(form) | {"target": target}

    def steps(self, columns: Mapping[str, Sequence[int]]) -> int:
        """Return the number of tokens; one that needs no end may be the last."""
        return len(columns["target"]) - 1

    def read(self, embeddings: Tensor, batch: Batch) -> Reading:
        """``(batch, units, dim)`` -> what the decoder looks at."""
        states = self.encoder(embeddings, batch.words, batch.lengths)
        cell = self.first_cell(ends(states, batch.lengths))
        start = (cell.tanh(), cell, torch.zeros_like(cell))
        return Reading(self.attention.memory(states[:, 1:], batch.mask), start)

    def loss(self, states: Reading, batch: Batch) -> Tensor:
        """Cross-entropy of the tokens of gold forms and of their ends, ``(batch,)``."""
        target = batch.gold["target"]
        # Up to the last end: of joined forms each has one.
        counted = (target == self.end).flip(1).cumsum(1).flip(1) > 0
        before = nn.functional.pad(target[:, :-1], (1, 0), value=self.end + 1)
        before = before.masked_fill(before < 0, self.end + 2)
        embedded = self._seen(self.tokens(before))
        state, attended = states.start, []
        (rows, steps), layers = target.shape, (self.cell, self.attention.output)
        with unrolled(layers, rows=rows, steps=steps):
            for step in range(steps):
                state = self.step(embedded[:, step], state, states.memory)
                attended.append(state[2])
        scores = self.scores(torch.stack(attended, dim=1))
        losses = nn.functional.cross_entropy(
            scores.transpose(1, 2),
            target.masked_fill(~counted, -1),
            reduction="none",
            ignore_index=-1,
            label_smoothing=self.smoothing if self.training else 0.0,
        )
        return losses.sum(1)

    def step(self, embedded: Tensor, state: State, memory: Memory) -> State:
        """Read a token ``(rows, token_dim)``; rows of an utterance are next to each other."""
        hidden, cell = self.cell(torch.cat([embedded, state[2]], dim=-1), state[:2])
        attended = self.attention(hidden.view(len(memory.keys), -1, self.hidden), memory)
        attended = nn.functional.dropout(attended, self.dropout, self.training)
        return hidden, cell, attended.flatten(0, 1)

    def scores(self, attended: Tensor) -> Tensor:
        """Attentional states ``(..., hidden)`` -> scores of tokens, ``(..., tokens + 1)``."""
        return single_precision(self.output(attended))

    def _seen(self, embedded: Tensor) -> Tensor:
        """Hide tokens ``(batch, steps, dim)`` from the decoder, in training, but the beginning."""
        kept = torch.ones_like(embedded[:, :, :1])
        kept = nn.functional.dropout(kept, self.token_dropout, self.training).ne(0)
        kept[:, 0] = True
        return embedded * kept

    @torch.no_grad()
    def forms(
        self,
        members: Sequence["Seq2Seq"],
        states: Sequence[Reading],
        batches: Sequence[Batch],
    ) -> tuple[list[str], NDArray[np.float64]]:
        """Return the best forms of a beam search; members share hypotheses."""
        stepper = TokenStepper(self, members, states)
        forms, found = beam_search(stepper, len(batches[0]), self.beam, self.longest)
        return forms, found.double().exp().cpu().numpy()


class TokenStepper(JointStepper["_Member"]):
    """Extends forms token by token, for `beam_search`; all parsers choose together.

    Args:
        first: the parser whose beam and numbering of tokens count.
        parsers: all of them, ``first`` included.
        readings: of the same utterances, one a parser.
    """

    def __init__(
        self, first: Seq2Seq, parsers: Sequence[Seq2Seq], readings: Sequence[Reading]
    ) -> None:
        super().__init__(len(readings[0].start[0]), first.beam, first.device)
        self.mean, self.end, self.labels = first.mean, first.end, first.vocabulary.labels
        self.members = [
            _Member(one, reading, first, self.texts)
            for one, reading in zip(parsers, readings, strict=True)
        ]
        self.tokens = self.texts.new_full((len(self.texts), 1), self.end + 1)

    @property
    def finished(self) -> Tensor:
        """See `Stepper`."""
        return self.tokens[:, -1] == self.end

    def scores(self) -> Tensor:
        """See `Stepper`."""
        found = [one.step(self.tokens[:, -1]) for one in self.members]
        scores = mean_scores(found, self.mean).log_softmax(-1)
        ended = self.finished
        scores = scores.masked_fill(ended[:, None], float("-inf"))
        scores[ended, self.end] = 0.0
        return scores

    def select(self, rows: Tensor) -> None:
        """See `Stepper`."""
        super().select(rows)
        self.tokens = self.tokens[rows]

    def take(self, actions: Tensor) -> Tensor:
        """See `Stepper`; a token has no details."""
        self.tokens = torch.cat([self.tokens, actions[:, None]], dim=1)
        return torch.zeros(len(actions), device=actions.device)

    def answer(self, row: int) -> str:
        """Return the form of a hypothesis."""
        tokens = self.tokens[row, 1:].tolist()
        return " ".join(self.labels[token] for token in tokens if token != self.end)


class _Member:
    """One parser's decoder while it chooses tokens."""

    def __init__(self, parser: Seq2Seq, reading: Reading, first: Seq2Seq, rows: Tensor) -> None:
        self.parser, self.memory = parser, reading.memory
        hidden, cell, attended = (part[rows] for part in reading.start)
        self.state: State = (hidden, cell, attended)
        order = parser.vocabulary.places_of(first.vocabulary.labels)
        extra = range(parser.end, parser.end + 3)
        self._ids = torch.tensor([*order, *extra], device=rows.device)

    def step(self, tokens: Tensor) -> Tensor:
        """Read tokens ``(rows,)``, numbered as the first parser does -> scores of the next."""
        embedded = self.parser.tokens(self._ids[tokens])
        self.state = self.parser.step(embedded, self.state, self.memory)
        return self.parser.scores(self.state[2])[:, self._ids[:-2]]

    def select(self, rows: Tensor) -> None:
        """See `Member`."""
        hidden, cell, attended = self.state
        self.state = (hidden[rows], cell[rows], attended[rows])

    def keep(self, texts: Tensor) -> None:
        """See `Member`."""
        self.memory = self.memory.of(texts)
