"""A convolutional text classifier (Kim 2014), in the sizes of Jin et al. (2020): their WordCNN."""

from typing import Any

import torch
from torch import Tensor, nn

from robustparse.data.batch import Batch
from robustparse.data.vocab import Vocabulary
from robustparse.errors import InputError, check_least
from robustparse.models.classification.classifier import TextClassifier, padded_words
from robustparse.models.encoders.base import Encoder
from robustparse.models.encoders.word_embeddings import WordEmbeddings


class WordCNN(TextClassifier):
    """Convolutions of several widths, ReLU, maximum over time, a linear layer.

    A text shorter than the widest convolution is padded with zeros to this width. Convolutions do
    not read the padding that longer texts in the batch require.

    Args:
        encoder: returns a vector for each word; by default ``WordEmbeddings``.
        widths: widths of the convolutions in words (3, 4, 5).
        filters: number of filters of each width (100).
        dropout: dropout rate of the text's vector (0.3, released code of Jin et al. 2020).
        base: see `Model`.
    """

    def __init__(
        self,
        encoder: Encoder | None = None,
        widths: tuple[int, ...] = (3, 4, 5),
        filters: int = 100,
        dropout: float = 0.3,
        **base: Any,
    ) -> None:
        super().__init__(encoder or WordEmbeddings(), dropout, **base)
        if not widths:
            raise InputError("has no width", key="WordCNN: widths", expected="one at least")
        for width in widths:
            check_least("WordCNN", widths=width)
        check_least("WordCNN", filters=filters)
        self.widths, self.filters = tuple(widths), filters
        self.initialize()

    @property
    def pooled_dim(self) -> int:
        """See ``TextClassifier``."""
        return self.filters * len(self.widths)

    def build(self, vocabulary: Vocabulary) -> None:
        """Make the layers."""
        dim = self.encoder.out_dim
        self.convolutions = nn.ModuleList(nn.Conv1d(dim, self.filters, w) for w in self.widths)
        super().build(vocabulary)

    def vectors(self, embeddings: Tensor, batch: Batch) -> Tensor:
        """See ``TextClassifier``."""
        states, lengths = self.encoder(embeddings, batch.words, batch.lengths), batch.lengths
        words, sizes = padded_words(states, lengths, max(self.widths))
        maxima = []
        for width, convolution in zip(self.widths, self.convolutions, strict=True):
            # [batch, filters, windows]
            features = convolution(words.transpose(1, 2)).relu()
            windows = torch.arange(features.shape[2], device=features.device)
            inside = windows <= sizes[:, None] - width
            # Features are not negative, so that zeros for windows outside the text change nothing.
            maxima.append((features * inside[:, None]).amax(2))
        return torch.cat(maxima, dim=1)
