"""ESIM (Chen et al. 2017): words of both texts are aligned, compared and composed."""

import torch
from torch import Tensor, nn

from robustparse.data.batch import Batch
from robustparse.data.vocab import Vocabulary
from robustparse.errors import check_least
from robustparse.models.classification.classifier import maximum, padded_words
from robustparse.models.classification.pairs import PairClassifier
from robustparse.models.encoders.base import Encoder
from robustparse.models.encoders.dropout import shared_dropout
from robustparse.models.encoders.lstm import BiLSTM
from robustparse.models.encoders.word_embeddings import WordEmbeddings
from robustparse.models.optimization import Optimization


class ESIM(PairClassifier):
    """Enhanced sequential inference (Chen et al. 2017), the sequential model without parses.

    Args:
        encoder: gives a vector a word; by default ``WordEmbeddings``.
        hidden: LSTM units a direction, and width of both linear layers (300).
        dropout: before both LSTMs, one mask a text, and around the last layers (0.5).
        optimization: by default Adam at 4e-4, constant (Chen et al. 2017).
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
        hidden: int = 300,
        dropout: float = 0.5,
        optimization: Optimization | None = None,
        seed: int = 0,
        init_from: str | None = None,
        vocabulary: Vocabulary | None = None,
    ) -> None:
        usual = Optimization(4e-4, betas=(0.9, 0.999), eps=1e-8, schedule="constant")
        super().__init__(encoder or WordEmbeddings(), dropout, optimization or usual, seed)
        check_least("ESIM", hidden=hidden)
        self.hidden = hidden
        self.initialize(vocabulary, init_from)

    @property
    def pooled_dim(self) -> int:
        """See ``TextClassifier``."""
        return self.hidden

    def build(self, vocabulary: Vocabulary) -> None:
        """Make the layers."""
        self.encoding = BiLSTM(self.encoder.out_dim, self.hidden, 1, 0.0)
        self.projection = nn.Linear(8 * self.hidden, self.hidden)
        self.composition = BiLSTM(self.hidden, self.hidden, 1, 0.0)
        self.final = nn.Linear(8 * self.hidden, self.hidden)
        super().build(vocabulary)

    def vectors(self, embeddings: Tensor, batch: Batch) -> Tensor:
        """See ``TextClassifier``."""
        # Input encoding (section 3.1): a is the premise, b the hypothesis.
        states, sizes, of_text = self.read_contexts(batch)
        a, of_a = self._encoded(states, sizes)
        a, of_a = a[of_text], of_a[of_text]
        read = self.encoder(embeddings, batch.words, batch.lengths)
        b, of_b = self._encoded(read, batch.lengths)
        # Local inference (section 3.2): each word next to what it attends to in the other text.
        scores = a @ b.transpose(1, 2)
        of_b_words = scores.masked_fill(~of_b[:, None], float("-inf")).softmax(2)
        of_a_words = scores.masked_fill(~of_a[:, :, None], float("-inf")).softmax(1)
        m_a = self._enhanced(a, of_b_words @ b)
        m_b = self._enhanced(b, of_a_words.transpose(1, 2) @ a)
        # Inference composition (section 3.3).
        v = torch.cat([*self._composed(m_a, of_a), *self._composed(m_b, of_b)], dim=1)
        v = nn.functional.dropout(v, self.dropout, self.training)
        return self.final(v).tanh()  # type: ignore[no-any-return]

    def _encoded(self, states: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """``(texts, 1 + length, dim)`` -> ``(texts, length, 2 * hidden)``, and which are words."""
        words, sizes = padded_words(states, lengths)
        dropped = shared_dropout(words, self.dropout, self.training)
        mask = torch.arange(words.shape[1], device=words.device) < sizes[:, None]
        return self.encoding(dropped, sizes), mask

    def _enhanced(self, one: Tensor, other: Tensor) -> Tensor:
        """Each ``(batch, length, 2 * hidden)`` -> ``(batch, length, hidden)``."""
        enhanced = torch.cat([one, other, one - other, one * other], dim=-1)
        return shared_dropout(self.projection(enhanced).relu(), self.dropout, self.training)

    def _composed(self, enhanced: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Return the mean and the maximum over the words, each ``(batch, 2 * hidden)``."""
        lengths = mask.sum(1)
        read = self.composition(enhanced, lengths)
        mean = (read * mask.unsqueeze(-1)).sum(1) / lengths[:, None]
        return mean, maximum(read, lengths)
