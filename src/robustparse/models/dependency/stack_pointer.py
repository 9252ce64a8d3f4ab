"""Stack-pointer parser (Ma et al. 2018): an LSTM that points to the children of the word on top.

At each step the decoder reads the sum of the encoder's vectors of the word on top of the stack, of
its previous child and of its head (section 3.2). Biaffine attention points to a child, and the
decoder's state and the child predict the label. See `pointing` for the steps.

Ma et al. start the decoder from the last cell states of a BiLSTM. Not every encoder has cell
states, so here the first one is a linear map of the vectors of ROOT and of the last word.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from robustparse.data.batch import Batch, Column
from robustparse.data.vocab import Vocabulary
from robustparse.errors import check_least, check_rates
from robustparse.metrics import PunctuationPolicy
from robustparse.models.beam_search import JointStepper, beam_search
from robustparse.models.decisions import Decisions
from robustparse.models.dependency.biaffine import EPSILON, MLP, Biaffine
from robustparse.models.dependency.parser import DependencyParser, TreeCodec
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
from robustparse.models.mean_scores import mean_scores, single_precision
from robustparse.types import Example


@dataclass
class Encoding:
    """The encoder's output; position 0 is ROOT.

    Args:
        inputs: ``(batch, 1 + length, hidden / 2)`` vectors that decoder inputs are the sum of.
        arc_d: ``(batch, 1 + length, arc_dim + 1)`` the arc MLP's vectors of children.
        rel_d: ``(batch, 1 + length, label_dim + 1)`` the label MLP's vectors of children.
        start: the decoder's first hidden and cell state, each ``(batch, hidden)``.
        padded: ``(batch, 1 + length)`` true after the last word.
    """

    inputs: Tensor
    arc_d: Tensor
    rel_d: Tensor
    start: tuple[Tensor, Tensor]
    padded: Tensor

    def of(self, texts: Tensor) -> "Encoding":
        """Select sentences, ``(texts,)``."""
        start = (self.start[0][texts], self.start[1][texts])
        vectors = (self.inputs[texts], self.arc_d[texts], self.rel_d[texts])
        return Encoding(*vectors, start, self.padded[texts])


class StepCodec(TreeCodec):
    """Trees and the steps that build them; adds the gold columns `STEP_COLUMNS`.

    Args:
        vocabulary: numbers the labels.
        order: the order of a word's children.
    """

    def __init__(self, vocabulary: Vocabulary, order: Order) -> None:
        super().__init__(vocabulary)
        self.order = order

    def encode(
        self, examples: Sequence[Example], punctuation: PunctuationPolicy
    ) -> dict[str, Column]:
        """Return the tree and the gold steps."""
        steps = [gold_steps(example.gold.heads, self.order) for example in examples]
        lengths = [steps_of_tree.shape[1] for steps_of_tree in steps]
        joined = np.concatenate([np.zeros((len(STEP_COLUMNS), 0), dtype=np.int64), *steps], axis=1)
        columns = zip(STEP_COLUMNS, joined, strict=True)
        added = {name: Column.of(lengths, values) for name, values in columns}
        return super().encode(examples, punctuation) | added

    def restrict(
        self, gold: Sequence[object], among: Sequence[NDArray[np.bool_]]
    ) -> dict[str, NDArray[np.int64]]:
        """See `Codec`; the gold steps are those of the whole tree."""
        columns = super().restrict(gold, among)
        shape = (len(STEP_COLUMNS), len(gold), 2 * columns["heads"].shape[1] + 1)
        steps = np.zeros(shape, dtype=np.int64)
        for row, (tree, mask) in enumerate(zip(gold, among, strict=True)):
            heads = np.asarray(tree[0])[: len(mask)].tolist()  # type: ignore[index]
            steps_of_tree = gold_steps(heads, self.order)
            steps[:, row, : steps_of_tree.shape[1]] = steps_of_tree
        return columns | dict(zip(STEP_COLUMNS, steps, strict=True))


class StackPointerParser(DependencyParser[Encoding]):
    """Ma et al.'s parser over any encoder.

    A step that pops a word has an additional label.

    Args:
        encoder: returns a vector for each word.
        hidden: width of the decoder LSTM (400, Wang et al. 2021); its inputs have half of it.
        arc_dim: width of the arc MLPs (500).
        label_dim: width of the label MLPs (100).
        dropout: dropout rate of the decoder's inputs and states, and of the MLPs (0.33).
        sibling: the decoder reads the previous child of the word on top (as in Ma et al.).
        grandparent: the decoder reads the head of the word on top (as in Ma et al.).
        order: order of children, see `Order` (inside_out, Ma et al. 2018).
        single_root: ROOT has only one child.
        beam: beam size (1, greedy, Wang et al. 2021; 10 in Ma et al. 2018).
        base: see `Model`.
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
        **base: Any,
    ) -> None:
        super().__init__(encoder or LSTMEncoder(), **base)
        owner = "StackPointerParser"
        check_order(order)
        check_least(owner, 2, hidden=hidden)
        check_least(owner, arc_dim=arc_dim, label_dim=label_dim, beam=beam)
        check_rates(owner, dropout=dropout)
        self.hidden, self.dropout = hidden, dropout
        self.arc_dim, self.label_dim = arc_dim, label_dim
        self.sibling, self.grandparent = sibling, grandparent
        self.order, self.single_root, self.beam = order, single_root, beam
        self.initialize()

    def make_codec(self, vocabulary: Vocabulary) -> StepCodec:
        """See `Model`."""
        return StepCodec(vocabulary, self.order)

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
        """The label id of a step that pops a word, after the ids of labels."""
        return len(self.vocabulary.labels)

    # Network

    def states_of(self, embeddings: Tensor, batch: Batch) -> Encoding:
        """See `Model`."""
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
        """Return the cross-entropy of the gold steps' children and labels, ``(batch,)``.

        Words that are excluded from the loss add neither their arc nor their pop. The pop of ROOT
        counts if no word is excluded.
        """
        rows, steps = self._counted(batch).nonzero(as_tuple=True)
        arcs, rels = self._gold_scores(states, batch, rows, steps)
        chosen = batch.gold["children"][rows, steps]
        words = (chosen - 1).clamp(min=0)
        popped = chosen == batch.gold["tops"][rows, steps]
        labels = batch.gold["labels"][rows, words].masked_fill(popped, self.pop_label)
        cross_entropy = nn.functional.cross_entropy
        losses = cross_entropy(arcs, chosen, reduction="none")
        losses = losses + cross_entropy(rels, labels, reduction="none", ignore_index=-1)
        return losses.new_zeros(len(batch)).index_add(0, rows, losses)

    def decisions(self, states: Encoding, batch: Batch) -> list[Decisions]:
        """See `Model`: the child of each gold step, and the label of the gold child."""
        rows, steps = self._counted(batch).nonzero(as_tuple=True)
        return [Decisions.of(rows, *self._gold_scores(states, batch, rows, steps))]

    def _gold_scores(
        self, states: Encoding, batch: Batch, rows: Tensor, steps: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Score the children and the gold child's labels of gold steps, each ``(steps, scores)``.

        Args:
            states: the output of ``forward``.
            batch: the sentences.
            rows: ``(steps,)`` the sentence of each step.
            steps: ``(steps,)`` which of its steps.
        """
        outputs = self._gold_outputs(states, batch)
        chosen = batch.gold["children"][rows, steps]
        arcs = self._arc_scores(states, self.arc_mlp_h(outputs))[rows, steps]
        rels = self._label_scores(self.rel_mlp_h(outputs)[rows, steps], states.rel_d[rows, chosen])
        return arcs, rels

    def margin(self, states: Encoding, batch: Batch) -> Tensor:
        """Return -F of Zheng et al. 2020, eq. 4, over pointing steps instead of arcs, ``(batch,)``.

        F(x) = sum over the gold steps t of max(s(c_t, t) - max over c != c_t of s(c, t), -eps): by
        how much the gold child c_t, or the pop, beats its best rival among the legal children c. A
        step without a rival adds nothing. The steps are those of ``loss``; labels do not count.
        """
        margins = self._step_margins(states, batch)
        counted = self._counted(batch) & (margins < float("inf"))
        return -margins.clamp(min=-EPSILON).masked_fill(~counted, 0.0).sum(1)

    def _step_margins(self, states: Encoding, batch: Batch) -> Tensor:
        """Return by how much each gold step beats its best rival, ``(batch, steps)``.

        Infinity without a rival.
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
        """Return heads and labels of the best hypotheses of a beam search.

        The members share hypotheses: they choose each step by the mean of their probabilities.
        """
        trees, _ = self.search(members, states, batches)
        heads, labels = (column[:, 1:].to(torch.int16).cpu().numpy() for column in trees)
        return heads, labels

    @torch.no_grad()
    def search(
        self,
        members: Sequence["StackPointerParser"],
        states: Sequence[Encoding],
        batches: Sequence[Batch],
    ) -> tuple[tuple[Tensor, Tensor], Tensor]:
        """Return the best heads and labels, each ``(batch, 1 + length)``, and their scores.

        See `decode` for the arguments. A score is the sum of the log-probabilities of all children
        and labels, ``(batch,)``.
        """
        lengths = batches[0].lengths
        stepper = PointerStepper(self, members, states, lengths)
        steps = 2 * int(lengths.max()) + 1
        trees, scores = beam_search(stepper, len(lengths), self.beam, steps)
        heads, labels = (torch.stack(parts) for parts in zip(*trees, strict=True))
        return (heads, labels), scores

    def _gold_outputs(self, states: Encoding, batch: Batch) -> Tensor:
        """Return the decoder's states along the gold steps, ``(batch, steps, hidden)``."""
        columns = [batch.gold[name] for name in STEP_COLUMNS if name != "children"]
        inputs = shared_dropout(self._decoder_inputs(states, *columns), self.dropout, self.training)
        start = tuple(state.to(inputs.dtype) for state in states.start)
        outputs = lstm_states(self.lstm, inputs, start)  # type: ignore[arg-type]
        return shared_dropout(outputs, self.dropout, self.training)

    def _legal(self, batch: Batch, size: int) -> Tensor:
        """Return the legal children of each gold step, ``(batch, steps, size)`` booleans."""
        children = batch.gold["children"]
        trees = PartialTrees(batch.lengths, size, self.order, self.single_root)
        legal = []
        for step in range(children.shape[1]):
            legal.append(trees.legal())
            trees.take(children[:, step], torch.zeros_like(batch.lengths))
        return torch.stack(legal, 1)

    def _counted(self, batch: Batch) -> Tensor:
        """Return which steps count in the loss, ``(batch, steps)``: see `loss`."""
        words = batch.gold["heads"] >= 0
        root = (words | ~batch.mask).all(1, keepdim=True)
        children = batch.gold["children"]
        counted = torch.cat([root, words], dim=1).gather(1, children)
        steps = torch.arange(children.shape[1], device=children.device)
        return counted & (steps < 2 * batch.lengths[:, None] + 1)

    def _decoder_inputs(
        self, states: Encoding, tops: Tensor, siblings: Tensor, grandparents: Tensor
    ) -> Tensor:
        """Sum the vectors of positions, each ``(batch, steps)``: ``(batch, steps, dim)``."""
        size = states.inputs.shape[1]
        first = size * torch.arange(len(tops), device=tops.device)[:, None]

        def vectors(positions: Tensor) -> Tensor:
            rows = (first + positions).flatten()
            return states.inputs.flatten(0, 1).index_select(0, rows).view(*tops.shape, -1)

        total = vectors(tops)
        if self.sibling:
            total = total + vectors(siblings) * (siblings > 0).unsqueeze(-1)
        if self.grandparent:
            total = total + vectors(grandparents) * (tops > 0).unsqueeze(-1)
        return nn.functional.leaky_relu(total + self.source.bias, 0.1)

    def _arc_scores(self, states: Encoding, arc_h: Tensor) -> Tensor:
        """Score children, ``(batch, steps, arc_dim)`` -> ``(batch, steps, 1 + length)``."""
        mixed = self.arc_attn.left(arc_h).squeeze(2)
        scores = single_precision(mixed @ states.arc_d.transpose(1, 2))
        return scores.masked_fill(states.padded[:, None], float("-inf"))

    def _label_scores(self, rel_h: Tensor, rel_d: Tensor) -> Tensor:
        """``(arcs, label_dim)`` and ``(arcs, label_dim + 1)`` -> ``(arcs, labels + 1)``."""
        return single_precision(torch.einsum("ale,ae->al", self.rel_attn.left(rel_h), rel_d))


class PointerStepper(JointStepper["_Member"]):
    """Extends trees by pointing; all parsers choose together.

    Args:
        first: the parser whose order and beam size count.
        parsers: all parsers, including ``first``.
        encodings: each parser's encoding of the same sentences.
        lengths: ``(batch,)`` words of each sentence.
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
        pairs = zip(parsers, encodings, strict=True)
        self.members = [_Member(parser, encoding, self.texts) for parser, encoding in pairs]

    @property
    def finished(self) -> Tensor:
        """See `Stepper`; all trees of a sentence take the same number of steps."""
        return self.trees.finished

    def scores(self) -> Tensor:
        """See `Stepper`."""
        trees = self.trees
        columns = (trees.top, trees.of_top(trees.previous), trees.of_top(trees.heads))
        positions = [column.view(-1, self.width) for column in columns]
        by_member = [member.step(*positions) for member in self.members]
        scores = mean_scores(by_member, self.first.mean).log_softmax(-1)
        scores = scores.flatten(0, 1).masked_fill(trees.finished[:, None], 0.0)
        return scores.masked_fill(~trees.legal(), float("-inf"))

    def select(self, rows: Tensor) -> None:
        """See `Stepper`."""
        super().select(rows)
        self.trees.select(rows)

    def take(self, actions: Tensor) -> Tensor:
        """See `Stepper`; the detail of a step is its best possible label."""
        trees = self.trees
        by_member = [member.labels(self.texts, actions) for member in self.members]
        scores = mean_scores(by_member, self.first.mean).log_softmax(-1)
        best, labels = self.first.possible_labels(scores[:, :-1], trees.top).max(1)
        added = torch.where(actions == trees.top, scores[:, -1], best)
        added = added.masked_fill(trees.finished, 0.0)
        trees.take(actions, labels)
        return added

    def answer(self, row: int) -> tuple[Tensor, Tensor]:
        """Return heads and labels, each ``(1 + length,)``."""
        return self.trees.heads[row].clone(), self.trees.labels[row].clone()


class _Member:
    """The decoder of one parser during a search, with hidden and cell state, ``(rows, hidden)``."""

    def __init__(self, parser: StackPointerParser, encoding: Encoding, sentences: Tensor) -> None:
        self.parser, self.encoding = parser, encoding
        self.state = (encoding.start[0][sentences], encoding.start[1][sentences])

    def step(self, tops: Tensor, siblings: Tensor, grandparents: Tensor) -> Tensor:
        """Read positions, each ``(batch, width)``, and score children."""
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
        """Score the labels of children, ``(rows,)`` -> ``(rows, labels + 1)``, after `select`."""
        parser = self.parser
        rel_h = parser.rel_mlp_h(self.state[0][:, None]).squeeze(1)
        return parser._label_scores(rel_h, self.encoding.rel_d[sentences, positions])

    def select(self, rows: Tensor) -> None:
        """See `Member`."""
        self.state = (self.state[0][rows], self.state[1][rows])

    def keep(self, texts: Tensor) -> None:
        """See `Member`."""
        self.encoding = self.encoding.of(texts)
