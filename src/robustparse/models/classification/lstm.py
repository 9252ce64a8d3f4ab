"""A recurrent text classifier, in the sizes of Jin et al. (2020): their WordLSTM."""

from torch import Tensor

from robustparse.data.batch import Batch
from robustparse.data.vocab import Vocabulary
from robustparse.errors import check_least
from robustparse.models.classification.classifier import TextClassifier, maximum, padded_words
from robustparse.models.encoders.base import Encoder
from robustparse.models.encoders.lstm import BiLSTM
from robustparse.models.encoders.word_embeddings import WordEmbeddings
from robustparse.models.optimization import Optimization


class WordLSTM(TextClassifier):
    """A BiLSTM, maximum over time, a linear layer.

    Args:
        encoder: gives a vector a word; by default ``WordEmbeddings``.
        hidden: LSTM units a direction (75: "150" in Jin et al. 2020 is both).
        layers: of the LSTM (1).
        dropout: of the pooled vector (0.3, released code of Jin et al. 2020), and between layers.
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
        hidden: int = 75,
        layers: int = 1,
        dropout: float = 0.3,
        optimization: Optimization | None = None,
        seed: int = 0,
        init_from: str | None = None,
        vocabulary: Vocabulary | None = None,
    ) -> None:
        super().__init__(encoder or WordEmbeddings(), dropout, optimization, seed)
        check_least("WordLSTM", hidden=hidden, layers=layers)
        self.hidden, self.layers = hidden, layers
        self.initialize(vocabulary, init_from)

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
