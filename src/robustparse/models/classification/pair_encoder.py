"""A linear layer on the vector of two texts read as one, as BERT is fine-tuned on pairs."""

from collections.abc import Sequence

import torch
from torch import Tensor

from robustparse.data.batch import Batch
from robustparse.data.vocab import Vocabulary
from robustparse.errors import InputError
from robustparse.models.classification.pairs import PairClassifier
from robustparse.models.encoders.base import Encoder
from robustparse.models.optimization import Optimization
from robustparse.types import Example, Sentence


class PairEncoderClassifier(PairClassifier):
    """An encoder reads ``[CLS] premise [SEP] hypothesis [SEP]``; [CLS] answers.

    As Devlin et al. (2019) fine-tune BERT, but both texts are of the network's first segment, since
    some networks know only one.

    Args:
        encoder: gives a vector a word and, before them, one for ROOT.
        dropout: of that vector (0.1, Devlin et al. 2019).
        optimization: by default Adam, constant, at 5e-5 in a pretrained encoder (Jin et al. 2020)
            and 1e-3 elsewhere.
        seed: of initialisation and dropout.
        init_from: a checkpoint to start from: its weights, its vocabulary and what its encoder had
            read from files, with a new optimiser.
        vocabulary: given by the data module or a checkpoint.

    Raises:
        InputError: a number out of range, the encoder cuts long texts, or see ``initialize``.
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
        if getattr(encoder, "long_sentences", None) == "truncate":
            raise InputError(
                "truncate would cut the hypothesis",
                key="PairEncoderClassifier: long_sentences",
                expected="error or split",
            )
        self.initialize(vocabulary, init_from)

    @property
    def pooled_dim(self) -> int:
        """See ``TextClassifier``."""
        return self.encoder.out_dim

    def check(self, examples: Sequence[Example]) -> None:
        """Refuse pairs that are too long together, too; see ``PairClassifier.check``."""
        super().check(examples)
        for example in examples:
            text = example.sentence
            both = Sentence((*text.context, self.encoder.separator, *text.words))
            try:
                self.encoder.check(both)
            except InputError as error:
                raise InputError(f"both texts: {error}", key=f"sentence {example.id + 1}") from None

    def vectors(self, embeddings: Tensor, batch: Batch) -> Tensor:
        """See ``TextClassifier``."""
        contexts, sizes, of_text = self.contexts(batch)
        contexts, sizes = contexts[of_text], sizes[of_text]
        words, lengths = self._joined(contexts, sizes, batch)
        embedded = self.encoder.embed(words, torch.zeros_like(words))
        # The hypothesis's embeddings may hold a delta.
        of_hypothesis = self.encoder.unit_words(words, lengths) > sizes[:, None] + 1
        own = self.encoder.unit_words(batch.words, batch.lengths) > 0
        embedded = embedded.index_put((of_hypothesis,), embeddings[own])
        states: Tensor = self.encoder(embedded, words, lengths)
        return states[:, 0]

    def _joined(self, contexts: Tensor, sizes: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
        """Return rows of premise, separator, hypothesis, ``(batch, longest)``, and their number."""
        (separator,) = self.encoder.intern([self.encoder.separator]).tolist()
        lengths = sizes + 1 + batch.lengths
        places = torch.arange(int(lengths.max()), device=lengths.device).expand(len(lengths), -1)
        first, own = sizes[:, None], places - sizes[:, None] - 1
        of_context = contexts.gather(1, places.clamp(max=contexts.shape[1] - 1))
        of_text = batch.words.gather(1, own.clamp(0, batch.words.shape[1] - 1))
        rows = torch.where(places < first, of_context, of_text)
        rows = torch.where(places == first, torch.full_like(rows, separator), rows)
        return rows.masked_fill(places >= lengths[:, None], 0), lengths
