"""A linear layer on the encoder's vector of two joined texts, as BERT is fine-tuned on pairs."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from robustparse.data.batch import Batch
from robustparse.errors import InputError
from robustparse.models.classification.classifier import check_contextual
from robustparse.models.classification.pairs import PairClassifier
from robustparse.models.encoders.base import Encoder
from robustparse.types import Example


class PairEncoderClassifier(PairClassifier):
    """Classifies the vector of [CLS] in ``[CLS] premise [SEP] hypothesis [SEP]``.

    Unlike Devlin et al. (2019), both texts are in the first segment, since some networks have only
    one. A pair that is too long loses words from the end of the premise, never of the hypothesis.

    Args:
        encoder: returns a vector for ROOT, and one for each word. Its ``long_sentences`` is for
            pairs of a file that are over its limit: ``error`` rejects them, ``truncate`` cuts the
            premise. Pairs that an attack makes too long are always cut. ``split`` is not allowed,
            because the first window may not contain the hypothesis.
        dropout: dropout rate of this vector (0.1, Devlin et al. 2019).
        base: see `Model`; by default Adam, constant, at 5e-5 in a pretrained encoder (Jin et al.
            2020) and 1e-3 elsewhere.

    Raises:
        InputError: a number is out of range, the encoder splits long texts or is not contextual,
            or see ``initialize``.
    """

    def __init__(
        self,
        encoder: Encoder,
        dropout: float = 0.1,
        **base: Any,
    ) -> None:
        super().__init__(encoder, dropout, **base)
        remedy = "take one that reads words in context, such as TransformerEncoder or LSTMEncoder"
        check_contextual("PairEncoderClassifier", encoder, remedy)
        self._policy = getattr(encoder, "long_sentences", "error")
        if self._policy == "split":
            raise InputError(
                "split would answer from the first window, which may not hold the hypothesis",
                key="PairEncoderClassifier: long_sentences",
                expected="error, or truncate, which cuts the premise",
            )
        self.initialize()

    @property
    def pooled_dim(self) -> int:
        """See ``TextClassifier``."""
        return self.encoder.out_dim

    def check(self, examples: Sequence[Example]) -> None:
        """See ``PairClassifier``; also rejects pairs over the limit, unless they are truncated.

        A hypothesis over the limit is always rejected.
        """
        for example in examples:
            if self.encoder.limit is not None:
                self._check_units(example, self.encoder.limit)
        super().check(examples)

    def _check_units(self, example: Example, limit: int) -> None:
        hypothesis = self._count((self.encoder.separator, *example.sentence.words))
        both = hypothesis + self._count(example.sentence.context)
        key, remedy = f"sentence {example.id + 1}", "take the pair out"
        if hypothesis > limit:
            problem = f"{hypothesis} word pieces in the second text, over the encoder's limit of "
            raise InputError(f"{problem}{limit}", key=key, remedy=remedy)
        if both > limit and self._policy == "error":
            raise InputError(
                f"{both} word pieces in both texts, over the encoder's limit of {limit}",
                key=key,
                remedy=f"set its long_sentences to truncate, which cuts the premise, or {remedy}",
            )

    def _count(self, words: Sequence[str]) -> int:
        rows = torch.from_numpy(self.intern(words).astype(np.int64))
        return int(self.encoder.units(rows).sum())

    def vectors(self, embeddings: Tensor, batch: Batch) -> Tensor:
        """See ``TextClassifier``."""
        words, lengths, before = self._joined(batch)
        embedded = self.encoder.embed(words, torch.zeros_like(words))
        # The embeddings of the hypothesis may include a delta.
        of_hypothesis = self.encoder.unit_words(words, lengths) > before[:, None]
        of_words = self.encoder.unit_words(batch.words, batch.lengths) > 0
        embedded = embedded.index_put((of_hypothesis,), embeddings[of_words])
        states: Tensor = self.encoder(embedded, words, lengths)
        return states[:, 0]

    def _joined(self, batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
        """Return premise, separator and hypothesis as one text.

        Returns:
            Rows, ``(batch, longest)``, their number, ``(batch,)``, and the number of rows before
            the hypothesis, ``(batch,)``.
        """
        contexts, sizes, of_text = self.contexts(batch)
        contexts, sizes = contexts[of_text], sizes[of_text]
        (separator,) = self.encoder.intern([self.encoder.separator]).tolist()
        before = sizes + 1
        if self.encoder.limit is not None:
            hypothesis = self.encoder.units(batch.words).sum(1)
            room = self.encoder.limit - self._count([self.encoder.separator]) - hypothesis
            fitting = (self.encoder.units(contexts).cumsum(1) <= room[:, None]).sum(1)
            # A hypothesis that an attack made too long is read without a separator.
            before = torch.where(room < 0, 0, torch.minimum(sizes, fitting) + 1)
        lengths = before + batch.lengths
        positions = torch.arange(int(lengths.max()), device=lengths.device)
        positions = positions.expand(len(lengths), -1)
        end, in_text = before[:, None] - 1, positions - before[:, None]
        of_context = contexts.gather(1, positions.clamp(max=contexts.shape[1] - 1))
        of_text = batch.words.gather(1, in_text.clamp(0, batch.words.shape[1] - 1))
        rows = torch.where(positions < end, of_context, of_text)
        rows = torch.where(positions == end, torch.full_like(rows, separator), rows)
        return rows.masked_fill(positions >= lengths[:, None], 0), lengths, before
