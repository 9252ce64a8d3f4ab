"""Sequence to sequence with attention and input feeding (Luong et al. 2015), token by token.

The semantic parser of Huang et al. (2021), who took it from the released code of TranX (Yin and
Neubig 2018). At each step an LSTM reads the previous token and the previous attentional state
(input feeding); the new attentional state predicts the next token.

The first cell state is a linear map of the encoder's vectors at both ends of the utterance. The
released code maps the last cell states of a BiLSTM, but not every encoder has cell states.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from robustparse.data.batch import Batch
from robustparse.data.vocab import Vocabulary
from robustparse.errors import check_least, check_rates
from robustparse.grammars import Language
from robustparse.models.beam_search import JointStepper, beam_search
from robustparse.models.decisions import Decisions
from robustparse.models.encoders.base import Encoder, ends
from robustparse.models.encoders.bilstm import LSTMEncoder
from robustparse.models.mean_scores import mean_scores, single_precision
from robustparse.models.semantic.attention import Attention, Memory
from robustparse.models.semantic.form_codec import FormCodec
from robustparse.models.semantic.parser import SemanticParser
from robustparse.models.semantic.unrolled import unrolled
from robustparse.types import LogicalForm

State = tuple[Tensor, Tensor, Tensor]
"""Hidden, cell and attentional state of a decoder, each ``(rows, hidden)``."""


@dataclass
class Encoding:
    """The encoder's output: what the decoder attends to, and its first state."""

    memory: Memory
    start: State


class TokenCodec(FormCodec):
    """Forms as tokens.

    Adds the gold column ``target``, ``(batch, tokens + 1)``: the ids of a form's tokens, -1 for
    unknown tokens, and `end` after the last token.

    Args:
        language: the language of the forms.
        ids: the ids of the tokens.
    """

    columns = (*FormCodec.columns, "target")

    def __init__(self, language: Language, ids: Mapping[str, int]) -> None:
        super().__init__(language)
        self.ids = ids

    @property
    def end(self) -> int:
        """The id of the end of a form, after the ids of tokens."""
        return len(self.ids)

    def columns_of(self, form: LogicalForm) -> dict[str, Sequence[int]]:
        """Return the meaning and the tokens."""
        target = [*(self.ids.get(token, -1) for token in form.split()), self.end]
        return super().columns_of(form) | {"target": target}

    def steps(self, columns: Mapping[str, Sequence[int]]) -> int:
        """Return the number of tokens, without the end."""
        return len(columns["target"]) - 1


class Seq2Seq(SemanticParser[Encoding]):
    """Attentional encoder-decoder over any encoder.

    Args:
        encoder: returns a vector for each word.
        token_dim: width of token embeddings (128 in the released code of TranX, as all defaults).
        hidden: width of the decoder LSTM and of attentional states (256).
        dropout: dropout rate of attentional states (0.5 for GEO and JOBS, 0.3 for ATIS).
        token_dropout: fraction of the previous tokens that are hidden from the decoder in training
            (0.3).
        smoothing: label smoothing in training (0.1).
        beam: beam size (5).
        longest: the most tokens of a form (100).
        base: see `Model`.
    """

    codec: TokenCodec

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
        **base: Any,
    ) -> None:
        super().__init__(encoder or LSTMEncoder(), beam, longest, **base)
        check_least("Seq2Seq", token_dim=token_dim, hidden=hidden)
        check_rates("Seq2Seq", dropout=dropout, token_dropout=token_dropout, smoothing=smoothing)
        self.token_dim, self.hidden = token_dim, hidden
        self.dropout, self.token_dropout, self.smoothing = dropout, token_dropout, smoothing
        self.initialize()

    def make_codec(self, vocabulary: Vocabulary) -> TokenCodec:
        """See `Model`."""
        return TokenCodec(self.language, vocabulary.label_ids)

    def build(self, vocabulary: Vocabulary) -> None:
        """Make the layers."""
        dim = self.encoder.out_dim
        # The last two rows, the beginning and unknown tokens, are never predicted.
        self.tokens = nn.Embedding(self.end + 3, self.token_dim)
        self.first_cell = nn.Linear(2 * dim, self.hidden)
        self.cell = nn.LSTMCell(self.token_dim + self.hidden, self.hidden)
        self.attention = Attention(dim, self.hidden, self.hidden)
        self.output = nn.Linear(self.hidden, self.end + 1, bias=False)
        self.reset_matrices()

    @property
    def end(self) -> int:
        """See `TokenCodec`."""
        return self.codec.end

    def states_of(self, embeddings: Tensor, batch: Batch) -> Encoding:
        """See `Model`."""
        states = self.encoder(embeddings, batch.words, batch.lengths)
        cell = self.first_cell(ends(states, batch.lengths))
        start = (cell.tanh(), cell, torch.zeros_like(cell))
        return Encoding(self.attention.memory(states[:, 1:], batch.mask), start)

    def loss(self, states: Encoding, batch: Batch) -> Tensor:
        """Cross-entropy of the tokens of gold forms and of their ends, ``(batch,)``."""
        target = batch.gold["target"]
        losses = nn.functional.cross_entropy(
            self._gold_scores(states, target).transpose(1, 2),
            target.masked_fill(~self._counted(target), -1),
            reduction="none",
            ignore_index=-1,
            label_smoothing=self.smoothing if self.training else 0.0,
        )
        return losses.sum(1)

    def decisions(self, states: Encoding, batch: Batch) -> list[Decisions]:
        """See `Model`: the next token of each step, after the gold tokens."""
        target = batch.gold["target"]
        rows, steps = self._counted(target).nonzero(as_tuple=True)
        return [Decisions.of(rows, self._gold_scores(states, target)[rows, steps])]

    def _counted(self, target: Tensor) -> Tensor:
        """Return which steps count, ``(batch, steps)``: those up to the last end.

        Joined forms have an end each.
        """
        return (target == self.end).flip(1).cumsum(1).flip(1) > 0

    def _gold_scores(self, states: Encoding, target: Tensor) -> Tensor:
        """Score the tokens of each step after the gold tokens, ``(batch, steps, tokens + 1)``."""
        previous = nn.functional.pad(target[:, :-1], (1, 0), value=self.end + 1)
        previous = previous.masked_fill(previous < 0, self.end + 2)
        embedded = self._token_dropout(self.tokens(previous))
        state, attended = states.start, []
        (rows, steps), layers = target.shape, (self.cell, self.attention.output)
        with unrolled(layers, rows=rows, steps=steps):
            for step in range(steps):
                state = self.step(embedded[:, step], state, states.memory)
                attended.append(state[2])
        return self.scores(torch.stack(attended, dim=1))

    def step(self, embedded: Tensor, state: State, memory: Memory) -> State:
        """Read a token, ``(rows, token_dim)``; rows of an utterance are next to each other."""
        hidden, cell = self.cell(torch.cat([embedded, state[2]], dim=-1), state[:2])
        attended = self.attention(hidden.view(len(memory.keys), -1, self.hidden), memory)
        attended = nn.functional.dropout(attended, self.dropout, self.training)
        return hidden, cell, attended.flatten(0, 1)

    def scores(self, attended: Tensor) -> Tensor:
        """Score tokens from attentional states, ``(..., hidden)``: ``(..., tokens + 1)``."""
        return single_precision(self.output(attended))

    def _token_dropout(self, embedded: Tensor) -> Tensor:
        """Hide random tokens, ``(batch, steps, dim)``, but not the beginning, in training."""
        kept = torch.ones_like(embedded[:, :, :1])
        kept = nn.functional.dropout(kept, self.token_dropout, self.training).ne(0)
        kept[:, 0] = True
        return embedded * kept

    @torch.no_grad()
    def forms(
        self,
        members: Sequence["Seq2Seq"],
        states: Sequence[Encoding],
        batches: Sequence[Batch],
    ) -> tuple[list[str], NDArray[np.float64]]:
        """Return the best forms of a beam search; members share hypotheses."""
        stepper = TokenStepper(self, members, states)
        forms, scores = beam_search(stepper, len(batches[0]), self.beam, self.longest)
        return forms, scores.double().exp().cpu().numpy()


class TokenStepper(JointStepper["_Member"]):
    """Extends forms token by token; see `JointStepper`."""

    def __init__(
        self, first: Seq2Seq, parsers: Sequence[Seq2Seq], encodings: Sequence[Encoding]
    ) -> None:
        super().__init__(len(encodings[0].start[0]), first.beam, first.device)
        self.mean, self.end, self.labels = first.mean, first.end, first.vocabulary.labels
        pairs = zip(parsers, encodings, strict=True)
        self.members = [_Member(parser, encoding, self.texts) for parser, encoding in pairs]
        self.tokens = self.texts.new_full((len(self.texts), 1), self.end + 1)

    @property
    def finished(self) -> Tensor:
        """See `Stepper`."""
        return self.tokens[:, -1] == self.end

    def scores(self) -> Tensor:
        """See `Stepper`."""
        by_member = [member.step(self.tokens[:, -1]) for member in self.members]
        scores = mean_scores(by_member, self.mean).log_softmax(-1)
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
    """The decoder of one parser during a search."""

    def __init__(self, parser: Seq2Seq, encoding: Encoding, rows: Tensor) -> None:
        self.parser, self.memory = parser, encoding.memory
        hidden, cell, attended = (state[rows] for state in encoding.start)
        self.state: State = (hidden, cell, attended)

    def step(self, tokens: Tensor) -> Tensor:
        """Read tokens, ``(rows,)``, and score the next ones."""
        self.state = self.parser.step(self.parser.tokens(tokens), self.state, self.memory)
        return self.parser.scores(self.state[2])

    def select(self, rows: Tensor) -> None:
        """See `Member`."""
        hidden, cell, attended = self.state
        self.state = (hidden[rows], cell[rows], attended[rows])

    def keep(self, texts: Tensor) -> None:
        """See `Member`."""
        self.memory = self.memory.of(texts)
