"""A linear layer on the vector of two texts read as one, as BERT is fine-tuned on pairs."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from robustparse.data.batch import Batch
from robustparse.data.vocab import Vocabulary
from robustparse.errors import InputError
from robustparse.models.classification.classifier import check_contextual
from robustparse.models.classification.pairs import PairClassifier
from robustparse.models.encoders.base import Encoder
from robustparse.models.optimization import Optimization
from robustparse.types import Example


class PairEncoderClassifier(PairClassifier):
    """An encoder reads ``[CLS] premise [SEP] hypothesis [SEP]``; [CLS] answers.

    As Devlin et al. (2019) fine-tune BERT, but both texts are of the network's first segment, since
    some networks know only one. What is too long for the network loses words from the end of the
    premise, never of the hypothesis.

    Args:
        encoder: gives a vector a word and, before them, one for ROOT. Its ``long_sentences`` says
            what becomes of a pair over its limit in a file: ``error`` refuses it, ``truncate`` cuts
            the premise. A pair that an attack makes longer than the limit loses words of its
            premise by either. ``split`` would answer from the first window only.
        dropout: of that vector (0.1, Devlin et al. 2019).
        optimization: by default Adam, constant, at 5e-5 in a pretrained encoder (Jin et al. 2020)
            and 1e-3 elsewhere.
        seed: of initialisation and dropout.
        init_from: a checkpoint to start from: its weights, its vocabulary and what its encoder had
            read from files, with a new optimiser.
        vocabulary: given by the data module or a checkpoint.

    Raises:
        InputError: a number out of range, the encoder splits long texts or is not contextual, or
            see ``initialize``.
    """

    def __init__(
        self,
        encoder: Encoder,
        dropout: float = 0.1,
        optimization: Optimization | None = None,
        seed: int = 0,
        init_from: str | None = None,
        vocabulary: Vocabulary | None = None,
    ) -> None:
        super().__init__(encoder, dropout, optimization, seed)
        remedy = "take one that reads words in context, such as TransformerEncoder or LSTMEncoder"
        check_contextual("PairEncoderClassifier", encoder, remedy)
        self._policy = getattr(encoder, "long_sentences", "error")
        if self._policy == "split":
            raise InputError(
                "split would answer from the first window, which may not hold the hypothesis",
                key="PairEncoderClassifier: long_sentences",
                expected="error, or truncate, which cuts the premise",
            )
        self.initialize(vocabulary, init_from)

    @property
    def pooled_dim(self) -> int:
        """See ``TextClassifier``."""
        return self.encoder.out_dim

    def check(self, examples: Sequence[Example]) -> None:
        """Refuse pairs over the limit, as the encoder's policy says; see ``PairClassifier.check``.

        A hypothesis that leaves no room for a premise is refused by either policy.
        """
        for example in examples:
            if self.encoder.limit is not None:
                self._check_units(example, self.encoder.limit)
        super().check(examples)

    def _check_units(self, example: Example, limit: int) -> None:
        words = (self.encoder.separator, *example.sentence.words)
        own, context = (self._count(part) for part in (words, example.sentence.context))
        key, remedy = f"sentence {example.id + 1}", "take the pair out"
        if own > limit:
            found = f"{own} word pieces in the second text, over the encoder's limit of {limit}"
            raise InputError(found, key=key, remedy=remedy)
        if own + context > limit and self._policy == "error":
            raise InputError(
                f"{own + context} word pieces in both texts, over the encoder's limit of {limit}",
                key=key,
                remedy=f"set its long_sentences to truncate, which cuts the premise, or {remedy}",
            )

    def _count(self, words: Sequence[str]) -> int:
        rows = torch.from_numpy(self.encoder.intern(words).astype(np.int64))
        return int(self.encoder.units(rows).sum())

    def vectors(self, embeddings: Tensor, batch: Batch) -> Tensor:
        """See ``TextClassifier``."""
        words, lengths, before = self._joined(batch)
        embedded = self.encoder.embed(words, torch.zeros_like(words))
        # The hypothesis's embeddings may hold a delta.
        of_hypothesis = self.encoder.unit_words(words, lengths) > before[:, None]
        own = self.encoder.unit_words(batch.words, batch.lengths) > 0
        embedded = embedded.index_put((of_hypothesis,), embeddings[own])
        states: Tensor = self.encoder(embedded, words, lengths)
        return states[:, 0]

    def _joined(self, batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
        """Return premise, separator and hypothesis as one text.

        Returns:
            Rows, ``(batch, longest)``, their number, and how many of them come before the
            hypothesis, ``(batch,)`` both.
        """
        contexts, sizes, of_text = self.contexts(batch)
        contexts, sizes = contexts[of_text], sizes[of_text]
        (separator,) = self.encoder.intern([self.encoder.separator]).tolist()
        before = sizes + 1
        if self.encoder.limit is not None:
            own = self.encoder.units(batch.words).sum(1)
            room = self.encoder.limit - self._count([self.encoder.separator]) - own
            fitting = (self.encoder.units(contexts).cumsum(1) <= room[:, None]).sum(1)
            # A hypothesis that an attack made longer than the limit is read without a separator.
            before = torch.where(room < 0, 0, torch.minimum(sizes, fitting) + 1)
        lengths = before + batch.lengths
        places = torch.arange(int(lengths.max()), device=lengths.device).expand(len(lengths), -1)
        end, own = before[:, None] - 1, places - before[:, None]
        of_context = contexts.gather(1, places.clamp(max=contexts.shape[1] - 1))
        of_text = batch.words.gather(1, own.clamp(0, batch.words.shape[1] - 1))
        rows = torch.where(places < end, of_context, of_text)
        rows = torch.where(places == end, torch.full_like(rows, separator), rows)
        return rows.masked_fill(places >= lengths[:, None], 0), lengths, before
