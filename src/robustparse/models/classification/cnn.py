"""A convolutional text classifier (Kim 2014), in the sizes of Jin et al. (2020): their WordCNN."""

import torch
from torch import Tensor, nn

from robustparse.data.batch import Batch
from robustparse.data.vocab import Vocabulary
from robustparse.errors import InputError, check_least
from robustparse.models.classification.classifier import TextClassifier, padded_words
from robustparse.models.encoders.base import Encoder
from robustparse.models.encoders.word_embeddings import WordEmbeddings
from robustparse.models.optimization import Optimization


class WordCNN(TextClassifier):
    """Convolutions of several widths, ReLU, maximum over time, a linear layer.

    A text shorter than the widest convolution is padded to its width; these zeros are read, those
    that come from longer texts in its batch are not.

    Args:
        encoder: gives a vector a word; by default ``WordEmbeddings``.
        widths: of the convolutions, in words (3, 4, 5).
        filters: of each width (100).
        dropout: of the pooled vector (0.3, released code of Jin et al. 2020).
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
        widths: tuple[int, ...] = (3, 4, 5),
        filters: int = 100,
        dropout: float = 0.3,
        optimization: Optimization | None = None,
        seed: int = 0,
        init_from: str | None = None,
        vocabulary: Vocabulary | None = None,
    ) -> None:
        super().__init__(encoder or WordEmbeddings(), dropout, optimization, seed)
        if not widths:
            raise InputError("has no width", key="WordCNN: widths", expected="one at least")
        for width in widths:
            check_least("WordCNN", widths=width)
        check_least("WordCNN", filters=filters)
        self.widths, self.filters = tuple(widths), filters
        self.initialize(vocabulary, init_from)

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
        parts = []
        for width, convolution in zip(self.widths, self.convolutions, strict=True):
            # [batch, filters, windows]
            found = convolution(words.transpose(1, 2)).relu()
            windows = torch.arange(found.shape[2], device=found.device)
            inside = windows <= sizes[:, None] - width
            # No activation is below 0: zeros where a window leaves the text change no maximum.
            parts.append((found * inside[:, None]).amax(2))
        return torch.cat(parts, dim=1)
