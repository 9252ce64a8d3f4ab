"""InferSent (Conneau et al. 2017): compares the vectors of two texts."""

from typing import Any

import torch
from torch import Tensor, nn

from robustparse.data.batch import Batch
from robustparse.data.vocab import Vocabulary
from robustparse.errors import check_least
from robustparse.models.classification.classifier import maximum, padded_words
from robustparse.models.classification.pairs import PairClassifier
from robustparse.models.encoders.base import Encoder
from robustparse.models.encoders.lstm import BiLSTM
from robustparse.models.encoders.word_embeddings import WordEmbeddings


class InferSent(PairClassifier):
    """A BiLSTM with maximum over time for both texts, and two layers on [u; v; |u - v|; u * v].

    Unlike the released code, there are no ``<s>`` and ``</s>`` around texts, and padding does not
    reach the maximum, so that an answer does not depend on the other texts of a batch.

    Args:
        encoder: returns a vector for each word; by default ``WordEmbeddings``.
        hidden: LSTM units of each direction (2048, Conneau et al. 2017).
        layer_dim: width of the two layers (512, released code of Jin et al. 2020).
        dropout: dropout rate before the last layer (0, released code of Jin et al. 2020).
        base: see `Model`.
    """

    def __init__(
        self,
        encoder: Encoder | None = None,
        hidden: int = 2048,
        layer_dim: int = 512,
        dropout: float = 0.0,
        **base: Any,
    ) -> None:
        super().__init__(encoder or WordEmbeddings(), dropout, **base)
        check_least("InferSent", hidden=hidden, layer_dim=layer_dim)
        self.hidden, self.layer_dim = hidden, layer_dim
        self.initialize()

    @property
    def pooled_dim(self) -> int:
        """See ``TextClassifier``."""
        return self.layer_dim

    def build(self, vocabulary: Vocabulary) -> None:
        """Make the layers."""
        self.lstm = BiLSTM(self.encoder.out_dim, self.hidden, 1, 0.0)
        self.layers = nn.Sequential(
            nn.Linear(8 * self.hidden, self.layer_dim),
            nn.Tanh(),
            nn.Linear(self.layer_dim, self.layer_dim),
            nn.Tanh(),
        )
        super().build(vocabulary)

    def vectors(self, embeddings: Tensor, batch: Batch) -> Tensor:
        """See ``TextClassifier``."""
        states, lengths, of_text = self.read_contexts(batch)
        u = self._sentence(states, lengths)[of_text]
        v = self._sentence(self.encoder(embeddings, batch.words, batch.lengths), batch.lengths)
        compared: Tensor = self.layers(torch.cat([u, v, (u - v).abs(), u * v], dim=1))
        return compared

    def _sentence(self, states: Tensor, lengths: Tensor) -> Tensor:
        """Return the vectors of texts, ``(texts, 1 + length, dim)`` -> ``(texts, 2 * hidden)``."""
        words, sizes = padded_words(states, lengths)
        return maximum(self.lstm(words, sizes), sizes)
