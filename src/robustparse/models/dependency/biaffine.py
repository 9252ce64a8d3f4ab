"""Deep biaffine attention parser (Dozat and Manning 2017).

Arc scores, eq. 6: s(j, i) = [h_i^dep; 1]^T U h_j^head, the 1 appended to the dependent alone, which
gives heads a prior. Label scores, eq. 7: the same form with 1 appended to both, one U a label.
"""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from robustparse.data.batch import Batch
from robustparse.data.vocab import Vocabulary
from robustparse.errors import InputError
from robustparse.models.base import Model
from robustparse.models.dependency.decoders import Decoder, check_decoder, decode_heads
from robustparse.models.encoders.base import Encoder
from robustparse.models.encoders.bilstm import LSTMEncoder
from robustparse.models.encoders.dropout import shared_dropout
from robustparse.models.optimization import Optimization
from robustparse.tasks.dependency import DependencyTask


@dataclass
class Scores:
    """What the network says of a batch; position 0 is ROOT.

    Args:
        arcs: ``(batch, 1 + length, 1 + length)`` [dependent, head], -inf on padded heads.
        label_dep, label_head: ``(batch, 1 + length, label_dim)``, from which labels are scored.
    """

    arcs: Tensor
    label_dep: Tensor
    label_head: Tensor


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


class BiaffineParser(Model):
    """Dozat and Manning's parser over any encoder.

    Args:
        encoder: gives a vector a word.
        arc_dim: of the arc MLPs (500).
        label_dim: of the label MLPs (100).
        dropout: in the MLPs (0.33).
        decoder: see ``decode_heads``; greedy heads, repaired where they are no tree (SuPar).
        labelled: score an arc by log p(head) + log p(its best label) instead of p(head) alone (Wang
            et al. 2021).
        optimization: optimiser and schedule.
        seed: of initialisation and dropout.
        init_from: a checkpoint to start from: its weights, its vocabulary and what its encoder had
            read from files, with a new optimiser.
        vocabulary: given by the data module or a checkpoint.

    Raises:
        InputError: an unknown decoder, a number out of range, or see ``initialize``.
    """

    task = DependencyTask()

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
        if min(arc_dim, label_dim) < 1 or not 0.0 <= dropout < 1.0:
            raise InputError(
                "arc_dim and label_dim must be >= 1 and dropout in [0, 1), got "
                f"{arc_dim}, {label_dim} and {dropout}"
            )
        self.arc_dim, self.label_dim, self.dropout = arc_dim, label_dim, dropout
        self.decoder, self.labelled = decoder, labelled
        self.initialize(vocabulary, init_from)

    def build(self, vocabulary: Vocabulary) -> None:
        """Make the layers."""
        dim = self.encoder.out_dim
        self.arc_dep = MLP(dim, self.arc_dim, self.dropout)
        self.arc_head = MLP(dim, self.arc_dim, self.dropout)
        self.mlp_label_dep = MLP(dim, self.label_dim, self.dropout)
        self.mlp_label_head = MLP(dim, self.label_dim, self.dropout)
        self.arc_weight = nn.Parameter(torch.zeros(self.arc_dim + 1, self.arc_dim))
        size = self.label_dim + 1
        self.label_weight = nn.Parameter(torch.zeros(len(vocabulary.labels), size, size))

    def score(self, states: Tensor, lengths: Tensor) -> Scores:
        """``(batch, 1 + length, out_dim)`` -> scores."""
        dependents = _with_one(self.arc_dep(states))
        # [batch, 1 + length, 1 + length]
        arcs = (dependents @ self.arc_weight) @ self.arc_head(states).transpose(1, 2)
        positions = torch.arange(states.shape[1], device=states.device)
        padded = positions > lengths[:, None]
        arcs = arcs.float() if arcs.dtype in (torch.bfloat16, torch.float16) else arcs
        arcs = arcs.masked_fill(padded[:, None, :], float("-inf"))
        return Scores(arcs, self.mlp_label_dep(states), self.mlp_label_head(states))

    def _label_scores(self, scores: Scores, rows: Tensor, words: Tensor, heads: Tensor) -> Tensor:
        """Label scores of chosen arcs, ``(arcs, labels)``; arguments are ``(arcs,)`` indices."""
        dependents = _with_one(scores.label_dep[rows, words])
        governors = _with_one(scores.label_head[rows, heads])
        # [arcs, labels, label_dim + 1]
        mixed = torch.einsum("ad,lde->ale", dependents, self.label_weight)
        labels = torch.einsum("ale,ae->al", mixed, governors)
        return labels.float() if labels.dtype in (torch.bfloat16, torch.float16) else labels

    def _labelled_arcs(self, scores: Scores) -> Tensor:
        """Log p(head) + log p(best label | head), ``(batch, 1 + length, 1 + length)``."""
        dependents, governors = _with_one(scores.label_dep), _with_one(scores.label_head)
        mixed = torch.einsum("bid,lde->bile", dependents, self.label_weight)
        # [batch, 1 + length, 1 + length, labels], a sentence at a time: it is the largest tensor
        best = [
            torch.einsum("ile,je->ijl", one, heads).log_softmax(-1).amax(-1)
            for one, heads in zip(mixed, governors, strict=True)
        ]
        return scores.arcs.log_softmax(-1) + torch.stack(best).to(scores.arcs.dtype)

    def arc_scores(self, scores: Scores) -> Tensor:
        """Return the arcs'."""
        return scores.arcs

    def losses(self, scores: Scores, batch: Batch) -> Tensor:
        """Cross-entropy of heads and of labels at gold heads, summed by sentence, ``(batch,)``."""
        rows, words = (batch.mask & (batch.heads >= 0)).nonzero(as_tuple=True)
        heads, labels = batch.heads[rows, words], batch.labels[rows, words]
        arc_loss = nn.functional.cross_entropy(
            scores.arcs[rows, words + 1], heads, reduction="none"
        )
        label_loss = nn.functional.cross_entropy(
            self._label_scores(scores, rows, words + 1, heads),
            labels,
            reduction="none",
            ignore_index=-1,
        )
        by_sentence = arc_loss.new_zeros(len(batch))
        return by_sentence.index_add(0, rows, arc_loss + label_loss)

    def parse_scores(
        self, scores: Scores, lengths: Tensor
    ) -> tuple[NDArray[np.int16], NDArray[np.int16]]:
        """Return the decoder's heads, and their best labels."""
        arcs = self._labelled_arcs(scores) if self.labelled else scores.arcs
        heads = decode_heads(arcs.detach().cpu().numpy(), lengths.cpu().numpy(), self.decoder)
        width = heads.shape[1]
        mask = torch.arange(width, device=lengths.device) < lengths[:, None]
        rows, words = mask.nonzero(as_tuple=True)
        chosen = torch.from_numpy(heads.astype(np.int64)).to(lengths.device)[rows, words]
        best = self._label_scores(scores, rows, words + 1, chosen).argmax(1)
        labels = torch.zeros(heads.shape, dtype=torch.int16, device=lengths.device)
        labels[rows, words] = best.to(torch.int16)
        return heads, labels.cpu().numpy()


def _with_one(inputs: Tensor) -> Tensor:
    return torch.cat([inputs, torch.ones_like(inputs[..., :1])], dim=-1)
