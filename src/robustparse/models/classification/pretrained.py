"""A linear layer on the encoder's vector of a text, as BERT is fine-tuned (Devlin et al. 2019)."""

from typing import Any, Literal, get_args

from torch import Tensor

from robustparse.data.batch import Batch
from robustparse.errors import InputError, check_choice
from robustparse.models.classification.classifier import (
    TextClassifier,
    check_contextual,
    padded_words,
)
from robustparse.models.encoders.base import Encoder

TextPooling = Literal["first", "mean"]


class EncoderClassifier(TextClassifier):
    """An encoder, usually a pretrained ``TransformerEncoder``, and a linear layer.

    Args:
        encoder: returns a vector for ROOT, and one for each word.
        pooling: ``first`` takes the vector of ROOT, [CLS] in a Transformer (Devlin et al. 2019);
            ``mean`` the mean over the words that the encoder reads.
        dropout: dropout rate of this vector (0.1, Devlin et al. 2019).
        base: see `Model`; by default Adam, constant, at 5e-5 in a pretrained encoder (Jin et al.
            2020) and 1e-3 elsewhere.

    Raises:
        InputError: the pooling is unknown, a number is out of range, the ``first`` vector does not
            depend on the whole text, or see ``initialize``.
    """

    def __init__(
        self,
        encoder: Encoder,
        pooling: TextPooling = "first",
        dropout: float = 0.1,
        **base: Any,
    ) -> None:
        super().__init__(encoder, dropout, **base)
        check_choice("EncoderClassifier: pooling", pooling, get_args(TextPooling))
        if pooling == "first":
            check_contextual("EncoderClassifier", encoder, "set pooling to mean")
            if getattr(encoder, "long_sentences", "error") == "split":
                raise InputError(
                    "split would answer from the first window of a long text only",
                    key="EncoderClassifier: long_sentences",
                    expected="error or truncate, or the pooling mean",
                )
        self.pooling = pooling
        self.initialize()

    @property
    def pooled_dim(self) -> int:
        """See ``TextClassifier``."""
        return self.encoder.out_dim

    def vectors(self, embeddings: Tensor, batch: Batch) -> Tensor:
        """See ``TextClassifier``."""
        states = self.encoder(embeddings, batch.words, batch.lengths)
        if self.pooling == "first":
            return states[:, 0]  # type: ignore[no-any-return]
        # Words beyond the limit of a truncating encoder have no unit.
        read = self.encoder.unit_words(batch.words, batch.lengths).amax(1)
        words, sizes = padded_words(states, read)
        return words.sum(1) / sizes.unsqueeze(1)
