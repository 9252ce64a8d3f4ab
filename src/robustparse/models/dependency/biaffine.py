"""Deep biaffine attention parser (Dozat and Manning 2017).

Arc scores, eq. 6: s(j, i) = [h_i^dep; 1]^T U h_j^head; the 1 appended to the dependent gives heads
a prior. Label scores, eq. 7: the same form with 1 appended to both vectors, and a U for each label.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from robustparse.data.batch import Batch
from robustparse.data.vocab import Vocabulary
from robustparse.errors import check_least, check_rates
from robustparse.models.decisions import Decisions
from robustparse.models.dependency.parser import DependencyParser
from robustparse.models.dependency.tree_decoding import Decoder, check_decoder, decode_heads
from robustparse.models.encoders.base import Encoder
from robustparse.models.encoders.bilstm import LSTMEncoder
from robustparse.models.encoders.dropout import shared_dropout
from robustparse.models.mean_scores import mean_scores, single_precision

EPSILON = 1.0
"""The margin loss stops growing when a wrong head wins by this much (1, Zheng et al. 2020)."""


@dataclass
class Scores:
    """Output of the network; position 0 is ROOT.

    Args:
        arcs: ``(batch, 1 + length, 1 + length)`` [dependent, head], -inf on padded heads.
        rel_d, rel_h: ``(batch, 1 + length, label_dim)``, the label MLPs' vectors of words as
            dependents and as heads.
    """

    arcs: Tensor
    rel_d: Tensor
    rel_h: Tensor


class MLP(nn.Module):
    """A linear layer, LeakyReLU 0.1, and dropout with one mask for all words."""

    def __init__(self, input_dim: int, dim: int, dropout: float) -> None:
        super().__init__()
        self.linear, self.dropout = nn.Linear(input_dim, dim), dropout
        nn.init.orthogonal_(self.linear.weight)
        nn.init.zeros_(self.linear.bias)

    def forward(self, inputs: Tensor) -> Tensor:
        """``(batch, length, input_dim)`` -> ``(batch, length, dim)``."""
        activated = nn.functional.leaky_relu(self.linear(inputs), 0.1)
        return shared_dropout(activated, self.dropout, self.training)


class Biaffine(nn.Module):
    """x^T U y with 1 appended to x, or to both; U has a matrix for each output, initially zero.

    Args:
        dim: width of x and y.
        outputs: number of scores of a pair.
        bias_y: append 1 to y too.
    """

    def __init__(self, dim: int, outputs: int = 1, bias_y: bool = True) -> None:
        super().__init__()
        self.bias_y = bias_y
        self.weight = nn.Parameter(torch.zeros(outputs, dim + 1, dim + bias_y))

    def left(self, x: Tensor) -> Tensor:
        """Return [x; 1]^T U: ``(..., dim)`` -> ``(..., outputs, dim + bias_y)``."""
        return torch.einsum("...d,ode->...oe", _with_one(x), self.weight)

    def right(self, y: Tensor) -> Tensor:
        """Return y, with a 1 if ``bias_y`` is set, ``(..., dim + bias_y)``."""
        return _with_one(y) if self.bias_y else y

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        """Score all pairs: ``(batch, n, dim)`` and ``(batch, m, dim)`` -> ``(batch, n, m)``.

        Only the first output is computed.
        """
        return (_with_one(x) @ self.weight[0]) @ self.right(y).transpose(1, 2)


class BiaffineParser(DependencyParser[Scores]):
    """Dozat and Manning's parser over any encoder.

    Args:
        encoder: returns a vector for each word.
        arc_dim: width of the arc MLPs (500).
        label_dim: width of the label MLPs (100).
        dropout: dropout rate of the MLPs (0.33).
        decoder: see ``decode_heads``; by default greedy heads, with the best tree for sentences
            whose greedy heads are no tree with one root (SuPar).
        labelled: score an arc by log p(head) + log p(best label | head) instead of p(head) (Wang
            et al. 2021).
        base: see `Model`.
    """

    def __init__(
        self,
        encoder: Encoder | None = None,
        arc_dim: int = 500,
        label_dim: int = 100,
        dropout: float = 0.33,
        decoder: Decoder = "repair",
        labelled: bool = False,
        **base: Any,
    ) -> None:
        super().__init__(encoder or LSTMEncoder(), **base)
        check_decoder(decoder)
        check_least("BiaffineParser", arc_dim=arc_dim, label_dim=label_dim)
        check_rates("BiaffineParser", dropout=dropout)
        self.arc_dim, self.label_dim, self.dropout = arc_dim, label_dim, dropout
        self.decoder, self.labelled = decoder, labelled
        self.initialize()

    def build(self, vocabulary: Vocabulary) -> None:
        """Make the layers."""
        dim = self.encoder.out_dim
        self.arc_mlp_d = MLP(dim, self.arc_dim, self.dropout)
        self.arc_mlp_h = MLP(dim, self.arc_dim, self.dropout)
        self.rel_mlp_d = MLP(dim, self.label_dim, self.dropout)
        self.rel_mlp_h = MLP(dim, self.label_dim, self.dropout)
        self.arc_attn = Biaffine(self.arc_dim, bias_y=False)
        self.rel_attn = Biaffine(self.label_dim, len(vocabulary.labels))

    def states_of(self, embeddings: Tensor, batch: Batch) -> Scores:
        """See `Model`."""
        states = self.encoder(embeddings, batch.words, batch.lengths)
        # [batch, 1 + length, 1 + length]
        arcs = single_precision(self.arc_attn(self.arc_mlp_d(states), self.arc_mlp_h(states)))
        padded = torch.arange(states.shape[1], device=states.device) > batch.lengths[:, None]
        arcs = arcs.masked_fill(padded[:, None, :], float("-inf"))
        return Scores(arcs, self.rel_mlp_d(states), self.rel_mlp_h(states))

    def loss(self, states: Scores, batch: Batch) -> Tensor:
        """Return the cross-entropy of heads, and of labels at gold heads, ``(batch,)``."""
        rows, words = _with_head(batch)
        heads, labels = (batch.gold[name][rows, words] for name in ("heads", "labels"))
        cross_entropy = nn.functional.cross_entropy
        arc_loss = cross_entropy(states.arcs[rows, words + 1], heads, reduction="none")
        label_loss = cross_entropy(
            self._label_scores(states, rows, words + 1, heads),
            labels,
            reduction="none",
            ignore_index=-1,
        )
        by_sentence = arc_loss.new_zeros(len(batch))
        return by_sentence.index_add(0, rows, arc_loss + label_loss)

    def decisions(self, states: Scores, batch: Batch) -> list[Decisions]:
        """See `Model`: each word's head, and its label at the gold head."""
        rows, words = _with_head(batch)
        labels = self._label_scores(states, rows, words + 1, batch.gold["heads"][rows, words])
        return [Decisions.of(rows, states.arcs[rows, words + 1], labels)]

    def margin(self, states: Scores, batch: Batch) -> Tensor:
        """Return -F of Zheng et al. 2020, eq. 4, over the words with a gold head, ``(batch,)``.

        F(x) = sum over the words m of max(s(h_m, m) - max over j != h_m of s(j, m), -eps): by how
        much the gold head h_m beats its best rival. A word is not its own rival head. A word
        without a rival adds nothing.
        """
        arcs = states.arcs[:, 1:]
        gold = batch.gold["heads"]
        positions = torch.arange(arcs.shape[2], device=arcs.device)
        heads = gold.clamp(min=0).unsqueeze(-1)
        # [batch, length, 1 + length]
        no_rival = (positions == heads) | (positions == positions[1:, None])
        rivals = arcs.masked_fill(no_rival, float("-inf")).amax(-1)
        margins = (arcs.gather(2, heads).squeeze(-1) - rivals).clamp(min=-EPSILON)
        counted = batch.mask & (gold >= 0) & (rivals > float("-inf"))
        return -margins.masked_fill(~counted, 0.0).sum(1)

    def decode(
        self,
        members: Sequence["BiaffineParser"],
        states: Sequence[Scores],
        batches: Sequence[Batch],
    ) -> tuple[NDArray[np.int16], NDArray[np.int16]]:
        """Decode heads from the members' mean scores, then choose their best possible labels."""
        mask, lengths = batches[0].mask, batches[0].lengths
        arcs = mean_scores([scores.arcs for scores in states], self.mean)
        if self.labelled:
            arcs = arcs.log_softmax(-1) + self._best_labels(members, states).to(arcs.dtype)
        heads = decode_heads(arcs.detach().cpu().numpy(), lengths.cpu().numpy(), self.decoder)
        rows, words = mask.nonzero(as_tuple=True)
        chosen = torch.from_numpy(heads.astype(np.int64)).to(lengths.device)[rows, words]
        scores = [
            member._label_scores(of_member, rows, words + 1, chosen)
            for member, of_member in zip(members, states, strict=True)
        ]
        labels = torch.zeros(heads.shape, dtype=torch.int16, device=lengths.device)
        possible = self.possible_labels(mean_scores(scores, self.mean), chosen)
        labels[rows, words] = possible.argmax(1).to(torch.int16)
        return heads, labels.cpu().numpy()

    def _label_scores(self, scores: Scores, rows: Tensor, words: Tensor, heads: Tensor) -> Tensor:
        """Return label scores of arcs, ``(arcs, labels)``, from indices, each ``(arcs,)``."""
        # [arcs, labels, label_dim + 1]
        mixed = self.rel_attn.left(scores.rel_d[rows, words])
        governors = self.rel_attn.right(scores.rel_h[rows, heads])
        return single_precision(torch.einsum("ale,ae->al", mixed, governors))

    def _best_labels(self, members: Sequence["BiaffineParser"], states: Sequence[Scores]) -> Tensor:
        """Return log p(best possible label | head), ``(batch, 1 + length, 1 + length)``."""
        best = []
        arcs = states[0].arcs
        heads = torch.arange(arcs.shape[2], device=arcs.device)
        for row in range(len(arcs)):
            scores = []
            for member, of_member in zip(members, states, strict=True):
                mixed = member.rel_attn.left(of_member.rel_d[row])
                governors = member.rel_attn.right(of_member.rel_h[row])
                # [1 + length, 1 + length, labels]: for one sentence, since it is the largest tensor
                scores.append(single_precision(torch.einsum("ile,je->ijl", mixed, governors)))
            log_probabilities = mean_scores(scores, self.mean).log_softmax(-1)
            best.append(self.possible_labels(log_probabilities, heads).amax(-1))
        return torch.stack(best)


def _with_head(batch: Batch) -> tuple[Tensor, Tensor]:
    """Return the rows and positions of the words that have a gold head, both ``(words,)``."""
    rows, words = (batch.mask & (batch.gold["heads"] >= 0)).nonzero(as_tuple=True)
    return rows, words


def _with_one(inputs: Tensor) -> Tensor:
    return torch.cat([inputs, torch.ones_like(inputs[..., :1])], dim=-1)
