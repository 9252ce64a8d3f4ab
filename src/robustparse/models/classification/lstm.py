"""A recurrent text classifier, in the sizes of Jin et al. (2020): their WordLSTM."""

from typing import Any

from torch import Tensor

from robustparse.data.batch import Batch
from robustparse.data.vocab import Vocabulary
from robustparse.errors import check_least
from robustparse.models.classification.classifier import TextClassifier, maximum, padded_words
from robustparse.models.encoders.base import Encoder
from robustparse.models.encoders.lstm import BiLSTM
from robustparse.models.encoders.word_embeddings import WordEmbeddings


class WordLSTM(TextClassifier):
    """A BiLSTM, maximum over time, a linear layer.

    Args:
        encoder: returns a vector for each word; by default ``WordEmbeddings``.
        hidden: LSTM units of each direction (75; "150" in Jin et al. 2020 counts both).
        layers: number of LSTM layers (1).
        dropout: dropout rate of the text's vector (0.3, released code of Jin et al. 2020), and
            between layers.
        base: see `Model`.
    """

    def __init__(
        self,
        encoder: Encoder | None = None,
        hidden: int = 75,
        layers: int = 1,
        dropout: float = 0.3,
        **base: Any,
    ) -> None:
        super().__init__(encoder or WordEmbeddings(), dropout, **base)
        check_least("WordLSTM", hidden=hidden, layers=layers)
        self.hidden, self.layers = hidden, layers
        self.initialize()

    @property
    def pooled_dim(self) -> int:
        """See ``TextClassifier``."""
        return 2 * self.hidden

    def build(self, vocabulary: Vocabulary) -> None:
        """Make the layers."""
        self.lstm = BiLSTM(self.encoder.out_dim, self.hidden, self.layers, self.dropout)
        super().build(vocabulary)

    def vectors(self, embeddings: Tensor, batch: Batch) -> Tensor:
        """See ``TextClassifier``."""
        states, lengths = self.encoder(embeddings, batch.words, batch.lengths), batch.lengths
        words, sizes = padded_words(states, lengths)
        return maximum(self.lstm(words, sizes), sizes)
