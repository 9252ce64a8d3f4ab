"""ESIM (Chen et al. 2017): aligns, compares and composes the words of two texts."""

from typing import Any

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
        encoder: returns a vector for each word; by default ``WordEmbeddings``.
        hidden: LSTM units of each direction, and width of both linear layers (300).
        dropout: dropout rate before both LSTMs, with one mask for all words of a text, and before
            and after the last layers (0.5).
        base: see `Model`; by default Adam at 4e-4, constant (Chen et al. 2017).
    """

    default_optimization = Optimization(4e-4, (0.9, 0.999), 1e-8, schedule="constant")

    def __init__(
        self,
        encoder: Encoder | None = None,
        hidden: int = 300,
        dropout: float = 0.5,
        **base: Any,
    ) -> None:
        super().__init__(encoder or WordEmbeddings(), dropout, **base)
        check_least("ESIM", hidden=hidden)
        self.hidden = hidden
        self.initialize()

    @property
    def pooled_dim(self) -> int:
        """See ``TextClassifier``."""
        return self.hidden

    def build(self, vocabulary: Vocabulary) -> None:
        """Make the layers."""
        self.input_encoding = BiLSTM(self.encoder.out_dim, self.hidden, 1, 0.0)
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
        # Local inference (section 3.2): each word attends to the words of the other text.
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
        """Encode texts, ``(texts, 1 + length, dim)``; return their states and which are words."""
        words, sizes = padded_words(states, lengths)
        dropped = shared_dropout(words, self.dropout, self.training)
        mask = torch.arange(words.shape[1], device=words.device) < sizes[:, None]
        return self.input_encoding(dropped, sizes), mask

    def _enhanced(self, words: Tensor, attended: Tensor) -> Tensor:
        """Compare words with what they attend to: ``(batch, length, hidden)``."""
        difference, product = words - attended, words * attended
        enhanced = torch.cat([words, attended, difference, product], dim=-1)
        return shared_dropout(self.projection(enhanced).relu(), self.dropout, self.training)

    def _composed(self, enhanced: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Return the mean and the maximum over the words, each ``(batch, 2 * hidden)``."""
        lengths = mask.sum(1)
        read = self.composition(enhanced, lengths)
        mean = (read * mask.unsqueeze(-1)).sum(1) / lengths[:, None]
        return mean, maximum(read, lengths)
