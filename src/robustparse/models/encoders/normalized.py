"""Word embeddings normalised by their words' frequencies (Miyato et al. 2017, section 3, eq. 1).

    v'_k = (v_k - E(v)) / sqrt(Var(v))
    E(v) = sum_j f_j v_j,    Var(v) = sum_j f_j (v_j - E(v))^2

f_j is the frequency of word j among the training words. Without normalisation, a parser trained on
deltas of a fixed norm can make them harmless by increasing its embeddings.
"""

import torch
from torch import Tensor, nn

from robustparse.data.vocab import Vocabulary
from robustparse.errors import InputError
from robustparse.models.encoders.bilstm import LSTMEncoder
from robustparse.models.encoders.word_table import PADDING, RESERVED, UNKNOWN


class NormalizedLSTMEncoder(LSTMEncoder):
    """``LSTMEncoder`` whose trained word embeddings are normalised in every forward pass.

    Character and tag embeddings are unchanged. Its arguments are those of ``LSTMEncoder``.
    """

    def build(self, vocabulary: Vocabulary) -> None:
        """Make the layers.

        Raises:
            InputError: there are no trained word embeddings, or static vectors are added to them.
        """
        if not self.word_dim or self.vectors is not None:
            raise InputError(
                "normalises trained word embeddings, but there are none, or vectors are added",
                key="NormalizedLSTMEncoder",
                remedy="set word_dim above 0 and leave vectors out, or use LSTMEncoder",
            )
        super().build(vocabulary)
        self.words = NormalizedEmbedding(self.words, vocabulary)


class NormalizedEmbedding(nn.Embedding):
    """A table whose rows are normalised when they are looked up.

    Args:
        plain: the embeddings to normalise, ``(rows, dim)``, numbered by ``WordTable``.
        vocabulary: the counts of words. A checkpoint's vocabulary has none, since the frequencies
            are stored with the weights.
    """

    frequencies: Tensor

    def __init__(self, plain: nn.Embedding, vocabulary: Vocabulary) -> None:
        rows, dim = plain.weight.shape
        super().__init__(rows, dim, padding_idx=PADDING, _weight=plain.weight.detach())
        frequencies = torch.zeros(rows)
        if vocabulary.counts:
            counts = torch.tensor(vocabulary.counts, dtype=torch.float64)
            counts = counts / counts.sum()
            frequencies[RESERVED:] = counts[:-1]
            frequencies[UNKNOWN] = counts[-1]
        self.register_buffer("frequencies", frequencies)

    def forward(self, ids: Tensor) -> Tensor:
        """``(...)`` rows -> ``(..., dim)``."""
        # A matrix product would be rounded in mixed precision.
        weighted = self.frequencies.unsqueeze(1)
        mean = (weighted * self.weight).sum(0)
        variance = (weighted * (self.weight - mean).square()).sum(0)
        return (super().forward(ids) - mean) * variance.clamp(min=1e-12).rsqrt()
