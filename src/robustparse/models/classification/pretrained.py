"""A linear layer on a whole text's vector, as BERT is fine-tuned (Devlin et al. 2019)."""

from typing import Literal, get_args

from torch import Tensor

from robustparse.data.batch import Batch
from robustparse.data.vocab import Vocabulary
from robustparse.errors import InputError, check_choice
from robustparse.models.classification.classifier import (
    TextClassifier,
    check_contextual,
    padded_words,
)
from robustparse.models.encoders.base import Encoder
from robustparse.models.optimization import Optimization

TextPooling = Literal["first", "mean"]


class EncoderClassifier(TextClassifier):
    """An encoder, usually a pretrained ``TransformerEncoder``, and a linear layer.

    Args:
        encoder: gives a vector a word and, before them, one for ROOT.
        pooling: a text's vector is the ``first``, ROOT's, which is [CLS] to a Transformer (Devlin
            et al. 2019), or the ``mean`` over the words that the encoder reads.
        dropout: of that vector (0.1, Devlin et al. 2019).
        optimization: by default Adam, constant, at 5e-5 in a pretrained encoder (Jin et al. 2020)
            and 1e-3 elsewhere.
        seed: of initialisation and dropout.
        init_from: a checkpoint to start from: its weights, its vocabulary and what its encoder had
            read from files, with a new optimiser.
        vocabulary: given by the data module or a checkpoint.

    Raises:
        InputError: there is no such pooling, a number out of range, the ``first`` vector is not of
            the whole text, or see ``initialize``.
    """

    def __init__(
        self,
        encoder: Encoder,
        pooling: TextPooling = "first",
        dropout: float = 0.1,
        optimization: Optimization | None = None,
        seed: int = 0,
        init_from: str | None = None,
        vocabulary: Vocabulary | None = None,
    ) -> None:
        super().__init__(encoder, dropout, optimization, seed)
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
        self.initialize(vocabulary, init_from)

    @property
    def pooled_dim(self) -> int:
        """See ``TextClassifier``."""
        return self.encoder.out_dim

    def vectors(self, embeddings: Tensor, batch: Batch) -> Tensor:
        """See ``TextClassifier``."""
        states = self.encoder(embeddings, batch.words, batch.lengths)
        if self.pooling == "first":
            return states[:, 0]  # type: ignore[no-any-return]
        # Words over a limit at which the encoder truncates have no unit.
        read = self.encoder.unit_words(batch.words, batch.lengths).amax(1)
        words, sizes = padded_words(states, read)
        return words.sum(1) / sizes.unsqueeze(1)
