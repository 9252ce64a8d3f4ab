"""Stack-pointer parser (Ma et al. 2018): an LSTM that points to the children of the word on top.

At each step the decoder reads the encoder's vectors of the word on top of the stack, of its
previous child and of its head, summed (section 3.2), and points by biaffine attention; a label
follows from the decoder's state and the child. See `pointing` for the steps.

Ma et al. start the decoder from the last cell states of a BiLSTM. Not every encoder has any, so
here its first cell state is a linear map of the vectors of ROOT and of the last word.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from robustparse.data.batch import Batch, Column
from robustparse.data.vocab import Vocabulary
from robustparse.errors import check_least, check_rates
from robustparse.metrics import PunctuationPolicy
from robustparse.models.beam import JointStepper, beam_search
from robustparse.models.dependency.biaffine import EPSILON, MLP, Biaffine
from robustparse.models.dependency.parser import DependencyParser
from robustparse.models.dependency.pointing import (
    STEP_COLUMNS,
    Order,
    PartialTrees,
    check_order,
    gold_steps,
)
from robustparse.models.encoders.base import Encoder, ends
from robustparse.models.encoders.bilstm import LSTMEncoder
from robustparse.models.encoders.dropout import shared_dropout
from robustparse.models.encoders.lstm import lstm_states
from robustparse.models.optimization import Optimization
from robustparse.models.scores import mean_scores, single_precision
from robustparse.types import Example


@dataclass
class Encoding:
    """What the decoder looks at; position 0 is ROOT.

    Args:
        inputs: ``(batch, 1 + length, hidden / 2)`` each position as a part of decoder inputs.
        arc_d: ``(batch, 1 + length, arc_dim + 1)`` positions to point to.
        rel_d: ``(batch, 1 + length, label_dim + 1)`` positions to label.
        start: the decoder's first hidden and cell state, each ``(batch, hidden)``.
        padded: ``(batch, 1 + length)`` true after the last word.
    """

    inputs: Tensor
    arc_d: Tensor
    rel_d: Tensor
    start: tuple[Tensor, Tensor]
    padded: Tensor

    def of(self, texts: Tensor) -> "Encoding":
        """Return what belongs to these sentences, ``(batch,)``."""
        start = (self.start[0][texts], self.start[1][texts])
        parts = (self.inputs[texts], self.arc_d[texts], self.rel_d[texts])
        return Encoding(*parts, start, self.padded[texts])


class StackPointerParser(DependencyParser):
    """Ma et al.'s parser over any encoder.

    A step that pops a word has a label of its own. Further gold columns are those of
    `STEP_COLUMNS`.

    Args:
        encoder: gives a vector a word.
        hidden: of the decoder LSTM (400, Wang et al. 2021); its inputs have half of it.
        arc_dim: of the arc MLPs (500).
        label_dim: of the label MLPs (100).
        dropout: of the decoder's inputs and states, and in the MLPs (0.33).
        sibling: the decoder reads the previous child of the word on top (Ma et al. do).
        grandparent: the decoder reads the head of the word on top (Ma et al. do).
        order: of children, see `Order` (inside_out, Ma et al. 2018).
        single_root: ROOT gets one child only.
        beam: hypotheses a sentence (1, greedy, Wang et al. 2021; 10 in Ma et al. 2018).
        optimization: optimiser and schedule.
        seed: of initialisation and dropout.
        init_from: see `BiaffineParser`.
        vocabulary: given by the data module or a checkpoint.

    Raises:
        InputError: an unknown order, a number out of range, or see ``initialize``.
    """

    shared_settings = ("order",)

    def __init__(
        self,
        encoder: Encoder | None = None,
        hidden: int = 400,
        arc_dim: int = 500,
        label_dim: int = 100,
        dropout: float = 0.33,
        sibling: bool = True,
        grandparent: bool = True,
        order: Order = "inside_out",
        single_root: bool = True,
        beam: int = 1,
        optimization: Optimization | None = None,
        seed: int = 0,
        init_from: str | None = None,
        vocabulary: Vocabulary | None = None,
    ) -> None:
        super().__init__(encoder or LSTMEncoder(), optimization or Optimization(), seed)
        owner = "StackPointerParser"
        check_order(order)
        check_least(owner, 2, hidden=hidden)
        check_least(owner, arc_dim=arc_dim, label_dim=label_dim, beam=beam)
        check_rates(owner, dropout=dropout)
        self.hidden, self.dropout = hidden, dropout
        self.arc_dim, self.label_dim = arc_dim, label_dim
        self.sibling, self.grandparent = sibling, grandparent
        self.order, self.single_root, self.beam = order, single_root, beam
        self.initialize(vocabulary, init_from)

    def build(self, vocabulary: Vocabulary) -> None:
        """Make the layers."""
        dim = self.encoder.out_dim
        self.source = nn.Linear(dim, self.hidden // 2)
        self.first_cell = nn.Linear(2 * dim, self.hidden)
        self.lstm = nn.LSTM(self.hidden // 2, self.hidden, batch_first=True)
        self.arc_mlp_d = MLP(dim, self.arc_dim, self.dropout)
        self.arc_mlp_h = MLP(self.hidden, self.arc_dim, self.dropout)
        self.rel_mlp_d = MLP(dim, self.label_dim, self.dropout)
        self.rel_mlp_h = MLP(self.hidden, self.label_dim, self.dropout)
        self.arc_attn = Biaffine(self.arc_dim)
        self.rel_attn = Biaffine(self.label_dim, len(vocabulary.labels) + 1)

    @property
    def pop_label(self) -> int:
        """The id of the label of a step that pops a word, after those of arcs."""
        return len(self.vocabulary.labels)

    # Gold steps

    def gold_columns(
        self, examples: Sequence[Example], punctuation: PunctuationPolicy
    ) -> dict[str, Column]:
        """Add the gold steps."""
        steps = [gold_steps(example.gold.heads, self.order) for example in examples]
        lengths = [one.shape[1] for one in steps]
        joined = np.concatenate([np.zeros((len(STEP_COLUMNS), 0), dtype=np.int64), *steps], axis=1)
        columns = zip(STEP_COLUMNS, joined, strict=True)
        added = {name: Column.of(lengths, values) for name, values in columns}
        return super().gold_columns(examples, punctuation) | added

    def restricted_gold(
        self, gold: Sequence[object], among: Sequence[NDArray[np.bool_]]
    ) -> dict[str, NDArray[np.int64]]:
        """Add the gold steps, those of all words."""
        columns = super().restricted_gold(gold, among)
        shape = (len(STEP_COLUMNS), len(gold), 2 * columns["heads"].shape[1] + 1)
        steps = np.zeros(shape, dtype=np.int64)
        for row, (right, wanted) in enumerate(zip(gold, among, strict=True)):
            heads = np.asarray(right[0])[: len(wanted)].tolist()  # type: ignore[index]
            found = gold_steps(heads, self.order)
            steps[:, row, : found.shape[1]] = found
        return columns | dict(zip(STEP_COLUMNS, steps, strict=True))

    # Network

    def read(self, embeddings: Tensor, batch: Batch) -> Encoding:
        """``(batch, units, dim)`` -> what the decoder looks at."""
        states = self.encoder(embeddings, batch.words, batch.lengths)
        cell = self.first_cell(ends(states, batch.lengths))
        return Encoding(
            # The bias is added once to a sum of positions, in `_decoder_inputs`.
            inputs=nn.functional.linear(states, self.source.weight),
            arc_d=self.arc_attn.right(self.arc_mlp_d(states)),
            rel_d=self.rel_attn.right(self.rel_mlp_d(states)),
            start=(cell.tanh(), cell),
            padded=torch.arange(states.shape[1], device=states.device) > batch.lengths[:, None],
        )

    def loss(self, states: Encoding, batch: Batch) -> Tensor:
        """Cross-entropy of what gold steps point to and of their labels, ``(batch,)``.

        Of a word that is to be left out, neither the arc nor the pop adds anything; ROOT's pop adds
        something if no word is left out.
        """
        gold, outputs = batch.gold, self._gold_outputs(states, batch)
        children = gold["children"]
        rows, steps = self._counted(batch).nonzero(as_tuple=True)
        chosen = children[rows, steps]
        words = (chosen - 1).clamp(min=0)
        popped = chosen == gold["tops"][rows, steps]
        labels = gold["labels"][rows, words].masked_fill(popped, self.pop_label)
        cross_entropy = nn.functional.cross_entropy
        arcs = self._arc_scores(states, self.arc_mlp_h(outputs))[rows, steps]
        found = self._label_scores(self.rel_mlp_h(outputs)[rows, steps], states.rel_d[rows, chosen])
        losses = cross_entropy(arcs, chosen, reduction="none")
        losses = losses + cross_entropy(found, labels, reduction="none", ignore_index=-1)
        return losses.new_zeros(len(batch)).index_add(0, rows, losses)

    def margin(self, states: Encoding, batch: Batch) -> Tensor:
        """Return -F of Zheng et al. 2020, eq. 4, over pointing steps instead of arcs, ``(batch,)``.

        F(x) = sum over the gold steps t of max(s(c_t, t) - max over c != c_t of s(c, t), -eps): by
        how much the gold child c_t, or the pop, beats the best other one that the word on top may
        point to after the gold steps before. A step without a rival adds nothing. Steps are those
        of ``loss``; labels do not count.
        """
        margins = self._step_margins(states, batch)
        counted = self._counted(batch) & (margins < float("inf"))
        return -margins.clamp(min=-EPSILON).masked_fill(~counted, 0.0).sum(1)

    def _step_margins(self, states: Encoding, batch: Batch) -> Tensor:
        """Return by how much each gold step beats its best rival, ``(batch, steps)``.

        Infinity where there is no rival.
        """
        children = batch.gold["children"].unsqueeze(-1)
        scores = self._arc_scores(states, self.arc_mlp_h(self._gold_outputs(states, batch)))
        # [batch, steps, 1 + length]
        rivals = self._legal(batch, scores.shape[2]).scatter(2, children, False)
        best = scores.masked_fill(~rivals, float("-inf")).amax(2)
        return scores.gather(2, children).squeeze(2) - best

    def decode(
        self,
        members: Sequence["StackPointerParser"],
        states: Sequence[Encoding],
        batches: Sequence[Batch],
    ) -> tuple[NDArray[np.int16], NDArray[np.int16]]:
        """Return heads and labels of the best hypotheses that beam search finds.

        Several parsers share hypotheses: each step is chosen by the mean of their probabilities.
        """
        trees, _ = self.search(members, states, batches)
        heads, labels = (part[:, 1:].to(torch.int16).cpu().numpy() for part in trees)
        return heads, labels

    @torch.no_grad()
    def search(
        self,
        members: Sequence["StackPointerParser"],
        states: Sequence[Encoding],
        batches: Sequence[Batch],
    ) -> tuple[tuple[Tensor, Tensor], Tensor]:
        """Return the best heads and labels, each ``(batch, 1 + length)``, and their scores.

        The arguments are those of `decode`. A score is the sum of the log-probabilities of all
        positions pointed to and of all labels, ``(batch,)``.
        """
        lengths = batches[0].lengths
        stepper = PointerStepper(self, members, states, lengths)
        steps = 2 * int(lengths.max()) + 1
        trees, scores = beam_search(stepper, len(lengths), self.beam, steps)
        heads, labels = (torch.stack(parts) for parts in zip(*trees, strict=True))
        return (heads, labels), scores

    def _gold_outputs(self, states: Encoding, batch: Batch) -> Tensor:
        """Return the decoder's states along the gold steps, ``(batch, steps, hidden)``."""
        read = [batch.gold[name] for name in STEP_COLUMNS if name != "children"]
        inputs = shared_dropout(self._decoder_inputs(states, *read), self.dropout, self.training)
        start = tuple(part.to(inputs.dtype) for part in states.start)
        outputs = lstm_states(self.lstm, inputs, start)  # type: ignore[arg-type]
        return shared_dropout(outputs, self.dropout, self.training)

    def _legal(self, batch: Batch, size: int) -> Tensor:
        """Tell what each gold step could point to instead, ``(batch, steps, size)``."""
        children = batch.gold["children"]
        trees = PartialTrees(batch.lengths, size, self.order, self.single_root)
        legal = []
        for step in range(children.shape[1]):
            legal.append(trees.legal())
            trees.take(children[:, step], torch.zeros_like(batch.lengths))
        return torch.stack(legal, 1)

    def _counted(self, batch: Batch) -> Tensor:
        """Mark the steps in the loss, ``(batch, steps)``: those whose child is a wanted word."""
        wanted = batch.gold["heads"] >= 0
        every = (wanted | ~batch.mask).all(1, keepdim=True)
        children = batch.gold["children"]
        counted = torch.cat([every, wanted], dim=1).gather(1, children)
        steps = torch.arange(children.shape[1], device=children.device)
        return counted & (steps < 2 * batch.lengths[:, None] + 1)

    def _decoder_inputs(
        self, states: Encoding, tops: Tensor, siblings: Tensor, grandparents: Tensor
    ) -> Tensor:
        """Positions, each ``(batch, steps)`` -> the decoder's inputs, ``(batch, steps, dim)``."""
        size = states.inputs.shape[1]
        first = size * torch.arange(len(tops), device=tops.device)[:, None]

        def taken(places: Tensor) -> Tensor:
            rows = (first + places).flatten()
            found = states.inputs.flatten(0, 1).index_select(0, rows)
            return found.view(*tops.shape, -1)

        total = taken(tops)
        if self.sibling:
            total = total + taken(siblings) * (siblings > 0).unsqueeze(-1)
        if self.grandparent:
            total = total + taken(grandparents) * (tops > 0).unsqueeze(-1)
        return nn.functional.leaky_relu(total + self.source.bias, 0.1)

    def _arc_scores(self, states: Encoding, arc_h: Tensor) -> Tensor:
        """``(batch, steps, arc_dim)`` -> ``(batch, steps, 1 + length)``, -inf on padding."""
        mixed = self.arc_attn.left(arc_h).squeeze(2)
        scores = single_precision(mixed @ states.arc_d.transpose(1, 2))
        return scores.masked_fill(states.padded[:, None], float("-inf"))

    def _label_scores(self, rel_h: Tensor, rel_d: Tensor) -> Tensor:
        """``(arcs, label_dim)`` and ``(arcs, label_dim + 1)`` -> ``(arcs, labels + 1)``."""
        return single_precision(torch.einsum("ale,ae->al", self.rel_attn.left(rel_h), rel_d))


class PointerStepper(JointStepper["_Member"]):
    """Extends trees by pointing, for `beam_search`; all parsers point together.

    Args:
        first: the parser whose order, beam and numbering of labels count.
        parsers: all of them, ``first`` included.
        encodings: of the same sentences, one a parser.
        lengths: ``(batch,)`` words a sentence.
    """

    def __init__(
        self,
        first: StackPointerParser,
        parsers: Sequence[StackPointerParser],
        encodings: Sequence[Encoding],
        lengths: Tensor,
    ) -> None:
        super().__init__(len(lengths), first.beam, lengths.device)
        self.first, rows = first, lengths[self.texts]
        size = encodings[0].padded.shape[1]
        self.trees = PartialTrees(rows, size, first.order, first.single_root)
        self.members = [
            _Member(one, encoding, first, self.texts)
            for one, encoding in zip(parsers, encodings, strict=True)
        ]

    @property
    def finished(self) -> Tensor:
        """See `Stepper`; all trees of a sentence take the same number of steps."""
        return self.trees.finished

    def scores(self) -> Tensor:
        """See `Stepper`."""
        trees = self.trees
        columns = (trees.top, trees.of_top(trees.previous), trees.of_top(trees.heads))
        read_from = [column.view(-1, self.width) for column in columns]
        found = [one.step(*read_from) for one in self.members]
        scores = mean_scores(found, self.first.mean).log_softmax(-1)
        scores = scores.flatten(0, 1).masked_fill(trees.finished[:, None], 0.0)
        return scores.masked_fill(~trees.legal(), float("-inf"))

    def select(self, rows: Tensor) -> None:
        """See `Stepper`."""
        super().select(rows)
        self.trees.select(rows)

    def take(self, actions: Tensor) -> Tensor:
        """See `Stepper`; an arc gets its best possible label."""
        trees = self.trees
        found = [one.labels(self.texts, actions) for one in self.members]
        scores = mean_scores(found, self.first.mean).log_softmax(-1)
        best, labels = self.first.possible_labels(scores[:, :-1], trees.top).max(1)
        added = torch.where(actions == trees.top, scores[:, -1], best)
        added = added.masked_fill(trees.finished, 0.0)
        trees.take(actions, labels)
        return added

    def answer(self, row: int) -> tuple[Tensor, Tensor]:
        """Return heads and labels, each ``(1 + length,)``."""
        return self.trees.heads[row].clone(), self.trees.labels[row].clone()


class _Member:
    """One parser's decoder while it points: its state is ``(rows, hidden)`` twice."""

    def __init__(
        self,
        parser: StackPointerParser,
        encoding: Encoding,
        first: StackPointerParser,
        sentences: Tensor,
    ) -> None:
        self.parser, self.encoding = parser, encoding
        self.state = (encoding.start[0][sentences], encoding.start[1][sentences])
        order = parser.vocabulary.places_of(first.vocabulary.labels)
        self._order = None if parser is first else [*order, parser.pop_label]

    def step(self, tops: Tensor, siblings: Tensor, grandparents: Tensor) -> Tensor:
        """Positions, each ``(batch, width)`` -> arc scores, ``(batch, width, 1 + length)``."""
        parser, lstm = self.parser, self.parser.lstm
        inputs = parser._decoder_inputs(self.encoding, tops, siblings, grandparents).flatten(0, 1)
        weights = dict(lstm.named_parameters())
        state = (self.state[0].to(inputs.dtype), self.state[1].to(inputs.dtype))
        self.state = torch.lstm_cell(
            inputs,
            state,
            weights["weight_ih_l0"],
            weights["weight_hh_l0"],
            weights["bias_ih_l0"],
            weights["bias_hh_l0"],
        )
        arc_h = parser.arc_mlp_h(self.state[0].view(*tops.shape, -1))
        return parser._arc_scores(self.encoding, arc_h)

    def labels(self, sentences: Tensor, positions: Tensor) -> Tensor:
        """Score the labels of the positions pointed to, ``(rows,)`` -> ``(rows, labels + 1)``.

        The states must be those of the step, after `select`.
        """
        parser = self.parser
        rel_h = parser.rel_mlp_h(self.state[0][:, None]).squeeze(1)
        found = parser._label_scores(rel_h, self.encoding.rel_d[sentences, positions])
        return found if self._order is None else found[:, self._order]

    def select(self, rows: Tensor) -> None:
        """See `Member`."""
        self.state = (self.state[0][rows], self.state[1][rows])

    def keep(self, texts: Tensor) -> None:
        """See `Member`."""
        self.encoding = self.encoding.of(texts)
