"""Coarse2Fine (Dong and Lapata 2018): first a sketch of the form, then its leaves.

A sketch decoder, an LSTM with attention, writes the sketch. A sketch encoder reads it, and a second
decoder of the same kind goes through the whole form: where the token before is the sketch's it
reads that token's encoding, otherwise the leaf before, and it predicts the leaves only. Both feed
the parent: the output that opened the current bracket, of the utterance at the top, goes into the
prediction next to the attentional state. See `sketches` for what a sketch is.

Both decoders begin with a linear map of the encoder's vectors at both ends of the utterance, and
compare states with words through a linear map: the released code takes last states and dot products
as they are, which not every encoder's width allows. Heads and brackets of the form, which its
sketch fixes, are learnt in training only. Classes of the sketch decoder are the tokens of sketches
seen in training.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

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
from robustparse.models.beam import beam_search
from robustparse.models.encoders.base import Encoder, ends
from robustparse.models.encoders.bilstm import LSTMEncoder
from robustparse.models.encoders.dropout import shared_dropout
from robustparse.models.encoders.lstm import BiLSTM, lstm_states
from robustparse.models.optimization import Optimization
from robustparse.models.scores import single_precision
from robustparse.models.semantic.attention import Attention, Memory
from robustparse.models.semantic.parser import SemanticParser
from robustparse.models.semantic.sketch_steppers import LeafStepper, SketchStepper
from robustparse.types import LogicalForm

COLUMNS = ("sketch", "sketch_opened", "sources", "leaves", "fixed", "opened")
"""The first two have a number for each token of the sketch and for its end, the others one for each
token of the form: the sketch's token; where its bracket was opened; from which place of the sketch
the form's token comes; the leaf, 0 for other tokens; the head or closing bracket, 0 for leaves;
where its bracket was opened. All count from 1, and 0 stands for none."""


@dataclass
class Reading:
    """What the decoders look at, and their first states.

    Args:
        words: ``(batch, length, dim)`` vectors of words.
        mask: ``(batch, length)`` true on words.
        start: hidden and cell state, each ``(batch, hidden)``.
    """

    words: Tensor
    mask: Tensor
    start: tuple[Tensor, Tensor]


class BracketDecoder(nn.Module):
    """An LSTM with attention and parent feeding, which scores the next token.

    Args:
        input_dim: of what it reads.
        hidden: of its states.
        dim: of the vectors of words.
        outputs: tokens.
        dropout: of inputs and outputs, one mask for all steps.
    """

    def __init__(self, input_dim: int, hidden: int, dim: int, outputs: int, dropout: float) -> None:
        super().__init__()
        self.dropout = dropout
        self.lstm = nn.LSTM(input_dim, hidden, batch_first=True)
        self.attention = Attention(dim, hidden, hidden)
        self.output = nn.Linear(2 * hidden, outputs)

    def forward(self, inputs: Tensor, reading: Reading, opened: Tensor) -> Tensor:
        """Score all steps, ``(batch, steps, outputs)``, the tokens numbered from 1.

        Args:
            inputs: ``(batch, steps, input_dim)``.
            reading: of the utterances.
            opened: ``(batch, steps)`` the step that opened the current bracket, from 1; 0 stands
                for the start.
        """
        inputs = shared_dropout(inputs, self.dropout, self.training)
        states = lstm_states(self.lstm, inputs, reading.start)
        states = shared_dropout(states, self.dropout, self.training)
        history = torch.cat([reading.start[0][:, None], states], dim=1)
        rows = torch.arange(len(history), device=history.device)[:, None]
        memory = self.attention.memory(reading.words, reading.mask)
        return self.scores(states, history[rows, opened], memory)

    def scores(self, states: Tensor, parents: Tensor, memory: Memory) -> Tensor:
        """States and those of parents, ``(batch, n, hidden)`` -> ``(batch, n, outputs)``."""
        attended = self.attention(states, memory)
        return single_precision(self.output(torch.cat([attended, parents], dim=-1)))


class Coarse2Fine(SemanticParser):
    """Sketch and form decoders over any encoder. Further gold columns are those of `COLUMNS`.

    Args:
        encoder: gives a vector a word.
        input_dim: of the embeddings of sketch tokens and leaves, and of encoded sketches; even
            (150 for GEO and ATIS, released settings).
        hidden: of both decoders (300 for GEO, 250 for ATIS, there).
        dropout: of the decoders' inputs and outputs (0.5, there).
        smoothing: of labels, in training (0.1, there).
        fixed_loss: in training, the form's decoder learns heads and brackets too, which the sketch
            fixes (on, there), but for the heads of Prolog that no form is written with: ``and``,
            ``or`` and ``not``. They are never predicted, and add no loss outside training.
        beam: hypotheses of a sketch, and of its form (1, there).
        longest: tokens of a sketch at most (50, there).
        optimization: optimiser and schedule.
        seed: of initialisation and dropout.
        init_from: see `BiaffineParser`.
        vocabulary: given by the data module or a checkpoint.

    Raises:
        InputError: a number is out of range, or see ``initialize``.
    """

    columns = (*SemanticParser.columns, *COLUMNS)
    places: ClassVar[Mapping[str, str]] = {
        "sketch_opened": "sketch",
        "sources": "sketch",
        "opened": "leaves",
    }

    def __init__(
        self,
        encoder: Encoder | None = None,
        input_dim: int = 150,
        hidden: int = 300,
        dropout: float = 0.5,
        smoothing: float = 0.1,
        fixed_loss: bool = True,
        beam: int = 1,
        longest: int = 50,
        optimization: Optimization | None = None,
        seed: int = 0,
        init_from: str | None = None,
        vocabulary: Vocabulary | None = None,
    ) -> None:
        super().__init__(encoder or LSTMEncoder(), beam, longest, optimization, seed)
        check_least("Coarse2Fine", 2, input_dim=input_dim, hidden=hidden)
        if input_dim % 2:
            raise InputError(f"must be even, got {input_dim}", key="Coarse2Fine: input_dim")
        check_rates("Coarse2Fine", dropout=dropout, smoothing=smoothing)
        self.input_dim, self.hidden = input_dim, hidden
        self.dropout, self.smoothing, self.fixed_loss = dropout, smoothing, fixed_loss
        self.initialize(vocabulary, init_from)

    def build(self, vocabulary: Vocabulary) -> None:
        """Make the layers."""
        dim, leaves = self.encoder.out_dim, len(vocabulary.labels)
        # Row 0 is the beginning, the last one an unknown token.
        self.sketches = nn.Embedding(self.sketch_end + 2, self.input_dim)
        self.leaves = nn.Embedding(leaves + 2, self.input_dim)
        self.first_cell = nn.Linear(2 * dim, self.hidden)
        sizes = (self.input_dim, self.hidden, dim)
        self.coarse = BracketDecoder(*sizes, self.sketch_end, self.dropout)
        self.fine = BracketDecoder(*sizes, leaves, self.dropout)
        self.sketch_encoder = BiLSTM(self.input_dim, self.input_dim // 2)
        self.reset_matrices()

    # Sketches as numbers

    @cached_property
    def sketch_tokens(self) -> dict[str, int]:
        """The numbers of the tokens of sketches seen in training, from 1."""
        return {token: number for number, token in enumerate(self.vocabulary.sketches, start=1)}

    @property
    def sketch_end(self) -> int:
        """The number that ends a sketch; the next one is that of a token never seen in training."""
        return len(self.sketch_tokens) + 1

    def columns_of(self, form: LogicalForm) -> dict[str, Sequence[int]]:
        """Add the sketch and the leaves."""
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
        """Return the number of the sketch's tokens, without its end."""
        return len(columns["sketch"]) - 1

    # Network

    def read(self, embeddings: Tensor, batch: Batch) -> Reading:
        """``(batch, units, dim)`` -> what the decoders look at."""
        states = self.encoder(embeddings, batch.words, batch.lengths)
        cell = self.first_cell(ends(states, batch.lengths))
        return Reading(states[:, 1:], batch.mask, (cell.tanh(), cell))

    def loss(self, states: Reading, batch: Batch) -> Tensor:
        """Cross-entropy of the gold sketch, and of the gold form given it, ``(batch,)``."""
        sketch, above, sources, leaves, fixed, opened = (batch.gold[name] for name in COLUMNS)
        before = nn.functional.pad(sketch[:, :-1], (1, 0))
        scores = self.coarse(self.sketches(before), states, above)
        losses = self._cross_entropy(scores, sketch.masked_fill(sketch > self.sketch_end, 0))
        inputs = self.fine_inputs(self.encoded_sketch(sketch), sources, leaves)
        scores = self.fine(inputs, states, opened)
        learnt = leaves + fixed if self.training and self.fixed_loss else leaves
        known = learnt.masked_fill(learnt > len(self.vocabulary.labels), 0)
        return losses + self._cross_entropy(scores, known)

    def encoded_sketch(self, sketch: Tensor) -> Tensor:
        """Numbers ``(batch, length)``, 0 beyond the end -> ``(batch, length, input_dim)``."""
        lengths = (sketch > 0).sum(1)
        encoded: Tensor = self.sketch_encoder(self.sketches(sketch), lengths)
        return encoded

    def fine_inputs(self, encoded: Tensor, sources: Tensor, leaves: Tensor) -> Tensor:
        """Return what the form's decoder reads: the tokens before, ``(batch, steps, input_dim)``.

        Args:
            encoded: the sketch, ``(batch, length, input_dim)``.
            sources: ``(batch, steps)``, as in `COLUMNS`.
            leaves: ``(batch, steps)``, as there.
        """
        rows = torch.arange(len(encoded), device=encoded.device)[:, None]
        of_sketch = encoded[rows, (sources - 1).clamp(min=0)]
        tokens = torch.where(leaves[..., None] > 0, self.leaves(leaves), of_sketch)
        first = self.leaves.weight[:1].expand(len(encoded), 1, -1)
        return torch.cat([first.to(tokens.dtype), tokens[:, :-1]], dim=1)

    def _cross_entropy(self, scores: Tensor, gold: Tensor) -> Tensor:
        """Sum the losses of steps whose number is not 0, ``(batch,)``."""
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
        states: Sequence[Reading],
        batches: Sequence[Batch],
    ) -> tuple[list[str], NDArray[np.float64]]:
        """Return the forms of the best sketches; one that cannot be written is empty."""
        coarse = SketchStepper(self, members, states)
        texts = len(batches[0])
        sketches, total = beam_search(coarse, texts, self.beam, self.longest)
        places = [_places(sketch, self.language) for sketch in sketches]
        if not any(places):
            return [""] * texts, total.double().exp().cpu().numpy()
        fine = LeafStepper(self, members, states, sketches, places)
        leaves, of_leaves = beam_search(fine, texts, self.beam, max(map(len, places)))
        pairs = zip(sketches, leaves, strict=True)
        found = [_printed(*pair, self.language) for pair in pairs]
        return found, (total + of_leaves).double().exp().cpu().numpy()


def _printed(sketch: Sequence[str], leaves: Sequence[str], language: Language) -> str:
    """Return a form; an empty one where the sketch has none, or the language cannot write it."""
    try:
        return language.unparse(tree_of(sketch, leaves, language))
    except InputError:
        return ""


def _places(sketch: Sequence[str], language: Language) -> list[Place]:
    try:
        return places_of(sketch, language)
    except InputError:
        return []
