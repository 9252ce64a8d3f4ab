"""InferSent (Conneau et al. 2017): both texts become vectors, which are compared."""

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
from robustparse.models.optimization import Optimization


class InferSent(PairClassifier):
    """One BiLSTM reads both texts; the maximum over time of each is its vector, u and v.

    ``[u; v; |u - v|; u * v]`` goes through two layers of tanh. The released code surrounds texts by
    ``<s>`` and ``</s>`` and lets padding reach the maximum; here there is neither, so that an
    answer does not depend on the other texts of a batch.

    Args:
        encoder: gives a vector a word; by default ``WordEmbeddings``.
        hidden: LSTM units a direction (2048, Conneau et al. 2017).
        layer_dim: of the two layers (512, released code of Jin et al. 2020).
        dropout: before the last layer (0, released code of Jin et al. 2020).
        optimization: by default Adam at 1e-3, constant.
        seed: of initialisation and dropout.
        init_from: a checkpoint to start from: its weights, its vocabulary and what its encoder had
            read from files, with a new optimiser.
        vocabulary: given by the data module or a checkpoint.

    Raises:
        InputError: a number out of range, or see ``initialize``.
    """

    def __init__(
        self,
        encoder: Encoder | None = None,
        hidden: int = 2048,
        layer_dim: int = 512,
        dropout: float = 0.0,
        optimization: Optimization | None = None,
        seed: int = 0,
        init_from: str | None = None,
        vocabulary: Vocabulary | None = None,
    ) -> None:
        super().__init__(encoder or WordEmbeddings(), dropout, optimization, seed)
        check_least("InferSent", hidden=hidden, layer_dim=layer_dim)
        self.hidden, self.layer_dim = hidden, layer_dim
        self.initialize(vocabulary, init_from)

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
        """``(texts, 1 + length, dim)`` -> ``(texts, 2 * hidden)``, the maximum over the words."""
        words, sizes = padded_words(states, lengths)
        return maximum(self.lstm(words, sizes), sizes)
