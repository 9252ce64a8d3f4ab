"""Deep biaffine attention parser (Dozat and Manning 2017).

Arc scores, eq. 6: s(j, i) = [h_i^dep; 1]^T U h_j^head, the 1 appended to the dependent only, which
gives heads a prior. Label scores, eq. 7: the same form with 1 appended to both, one U a label.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from robustparse.data.batch import Batch
from robustparse.data.vocab import Vocabulary
from robustparse.errors import check_least, check_rates
from robustparse.models.dependency.parser import DependencyParser
from robustparse.models.dependency.trees import Decoder, check_decoder, decode_heads
from robustparse.models.encoders.base import Encoder
from robustparse.models.encoders.bilstm import LSTMEncoder
from robustparse.models.encoders.dropout import shared_dropout
from robustparse.models.optimization import Optimization
from robustparse.models.scores import mean_scores, single_precision

EPSILON = 1.0
"""Below this a lost arc, or pointing step, is not pushed down further (Zheng et al. 2020: 1)."""


@dataclass
class Scores:
    """What the network says of a batch; position 0 is ROOT.

    Args:
        arcs: ``(batch, 1 + length, 1 + length)`` [dependent, head], -inf on padded heads.
        rel_d, rel_h: ``(batch, 1 + length, label_dim)``, words as dependents and as heads, from
            which labels are scored.
    """

    arcs: Tensor
    rel_d: Tensor
    rel_h: Tensor


class MLP(nn.Module):
    """One layer with LeakyReLU 0.1 and a dropout mask shared over the words."""

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
    """x^T U y with 1 appended to x, or to both: one matrix U an output, zero at first.

    Args:
        dim: of x and y.
        outputs: how many scores a pair gets.
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
        """Return y as it is multiplied with ``left``, ``(..., dim + bias_y)``."""
        return _with_one(y) if self.bias_y else y

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        """Score every pair: ``(batch, n, dim)`` and ``(batch, m, dim)`` -> ``(batch, n, m)``.

        There is one output only.
        """
        return (_with_one(x) @ self.weight[0]) @ self.right(y).transpose(1, 2)


class BiaffineParser(DependencyParser):
    """Dozat and Manning's parser over any encoder.

    Args:
        encoder: gives a vector a word.
        arc_dim: of the arc MLPs (500).
        label_dim: of the label MLPs (100).
        dropout: in the MLPs (0.33).
        decoder: see ``decode_heads``; greedy heads, repaired where they are no tree with one root
            (SuPar).
        labelled: score an arc by log p(head) + log p(its best label) instead of p(head) (Wang et
            al. 2021).
        optimization: optimiser and schedule.
        seed: of initialisation and dropout.
        init_from: a checkpoint to start from: its weights, its vocabulary and what its encoder had
            read from files, with a new optimiser.
        vocabulary: given by the data module or a checkpoint.

    Raises:
        InputError: an unknown decoder, a number out of range, or see ``initialize``.
    """

    def __init__(
        self,
        encoder: Encoder | None = None,
        arc_dim: int = 500,
        label_dim: int = 100,
        dropout: float = 0.33,
        optimization: Optimization | None = None,
        seed: int = 0,
        init_from: str | None = None,
        vocabulary: Vocabulary | None = None,
        decoder: Decoder = "repair",
        labelled: bool = False,
    ) -> None:
        super().__init__(encoder or LSTMEncoder(), optimization or Optimization(), seed)
        check_decoder(decoder)
        check_least("BiaffineParser", arc_dim=arc_dim, label_dim=label_dim)
        check_rates("BiaffineParser", dropout=dropout)
        self.arc_dim, self.label_dim, self.dropout = arc_dim, label_dim, dropout
        self.decoder, self.labelled = decoder, labelled
        self.initialize(vocabulary, init_from)

    def build(self, vocabulary: Vocabulary) -> None:
        """Make the layers."""
        dim = self.encoder.out_dim
        self.arc_mlp_d = MLP(dim, self.arc_dim, self.dropout)
        self.arc_mlp_h = MLP(dim, self.arc_dim, self.dropout)
        self.rel_mlp_d = MLP(dim, self.label_dim, self.dropout)
        self.rel_mlp_h = MLP(dim, self.label_dim, self.dropout)
        self.arc_attn = Biaffine(self.arc_dim, bias_y=False)
        self.rel_attn = Biaffine(self.label_dim, len(vocabulary.labels))

    def read(self, embeddings: Tensor, batch: Batch) -> Scores:
        """``(batch, units, dim)`` -> scores."""
        states = self.encoder(embeddings, batch.words, batch.lengths)
        # [batch, 1 + length, 1 + length]
        arcs = single_precision(self.arc_attn(self.arc_mlp_d(states), self.arc_mlp_h(states)))
        padded = torch.arange(states.shape[1], device=states.device) > batch.lengths[:, None]
        arcs = arcs.masked_fill(padded[:, None, :], float("-inf"))
        return Scores(arcs, self.rel_mlp_d(states), self.rel_mlp_h(states))

    def loss(self, states: Scores, batch: Batch) -> Tensor:
        """Cross-entropy of heads and of labels at gold heads, summed by sentence, ``(batch,)``."""
        rows, words = (batch.mask & (batch.gold["heads"] >= 0)).nonzero(as_tuple=True)
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

    def margin(self, states: Scores, batch: Batch) -> Tensor:
        """Return -F of Zheng et al. 2020, eq. 4, over the words with a gold head, ``(batch,)``.

        F(x) = sum over the words m of max(s(h_m, m) - max over j != h_m of s(j, m), -eps): by how
        much the gold head h_m beats its best rival. A word is no rival head of its own. A word
        without a rival adds nothing.
        """
        arcs = states.arcs[:, 1:]
        gold = batch.gold["heads"]
        places = torch.arange(arcs.shape[2], device=arcs.device)
        heads = gold.clamp(min=0).unsqueeze(-1)
        # [batch, length, 1 + length]
        own = 1 + torch.arange(arcs.shape[1]).to(places)[:, None]
        rivals = arcs.masked_fill((places == heads) | (places == own), float("-inf")).amax(-1)
        margins = (arcs.gather(2, heads).squeeze(-1) - rivals).clamp(min=-EPSILON)
        counted = batch.mask & (gold >= 0) & (rivals > float("-inf"))
        return -margins.masked_fill(~counted, 0.0).sum(1)

    def decode(
        self,
        members: Sequence["BiaffineParser"],
        states: Sequence[Scores],
        batches: Sequence[Batch],
    ) -> tuple[NDArray[np.int16], NDArray[np.int16]]:
        """Return the decoder's heads and their best possible labels, by the parsers' mean.

        Labels are numbered as this parser does.
        """
        mask, lengths = batches[0].mask, batches[0].lengths
        answering = list(zip(members, states, strict=True))
        arcs = mean_scores([own.arcs for own in states], self.mean)
        if self.labelled:
            arcs = arcs.log_softmax(-1) + self._best_labels(answering).to(arcs.dtype)
        heads = decode_heads(arcs.detach().cpu().numpy(), lengths.cpu().numpy(), self.decoder)
        rows, words = mask.nonzero(as_tuple=True)
        chosen = torch.from_numpy(heads.astype(np.int64)).to(lengths.device)[rows, words]
        scores = [
            self._as_numbered(one, one._label_scores(own, rows, words + 1, chosen))
            for one, own in answering
        ]
        labels = torch.zeros(heads.shape, dtype=torch.int16, device=lengths.device)
        possible = self.possible_labels(mean_scores(scores, self.mean), chosen)
        labels[rows, words] = possible.argmax(1).to(torch.int16)
        return heads, labels.cpu().numpy()

    def _label_scores(self, scores: Scores, rows: Tensor, words: Tensor, heads: Tensor) -> Tensor:
        """Return label scores of arcs, ``(arcs, labels)``; arguments are ``(arcs,)`` indices."""
        # [arcs, labels, label_dim + 1]
        mixed = self.rel_attn.left(scores.rel_d[rows, words])
        governors = self.rel_attn.right(scores.rel_h[rows, heads])
        return single_precision(torch.einsum("ale,ae->al", mixed, governors))

    def _best_labels(self, answering: Sequence[tuple["BiaffineParser", Scores]]) -> Tensor:
        """Return log p(best possible label | head), ``(batch, 1 + length, 1 + length)``."""
        best = []
        heads = torch.arange(answering[0][1].arcs.shape[2], device=answering[0][1].arcs.device)
        for row in range(len(answering[0][1].arcs)):
            found = []
            for one, own in answering:
                mixed = one.rel_attn.left(own.rel_d[row])
                governors = one.rel_attn.right(own.rel_h[row])
                # [1 + length, 1 + length, labels], a sentence at a time: it is the largest tensor
                scores = single_precision(torch.einsum("ile,je->ijl", mixed, governors))
                found.append(self._as_numbered(one, scores))
            chances = mean_scores(found, self.mean).log_softmax(-1)
            best.append(self.possible_labels(chances, heads).amax(-1))
        return torch.stack(best)

    def _as_numbered(self, one: "BiaffineParser", scores: Tensor) -> Tensor:
        """Return a parser's scores of labels, ``(..., labels)``, in this one's order of labels."""
        if one is self:
            return scores
        return scores[..., one.vocabulary.places_of(self.vocabulary.labels)]


def _with_one(inputs: Tensor) -> Tensor:
    return torch.cat([inputs, torch.ones_like(inputs[..., :1])], dim=-1)
