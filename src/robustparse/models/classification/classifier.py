"""The base of text classifiers: a linear layer on a vector of the text, labels, and accuracy.

Subclasses compute the vector (``vectors``). Padding is masked, so that a score does not depend on
the other texts of a batch.
"""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torchmetrics import Metric

from robustparse.data.batch import Batch, Column
from robustparse.data.read_options import FileUse
from robustparse.data.vocab import Vocabulary
from robustparse.errors import InputError, check_rates
from robustparse.metrics import ExactMatch, PunctuationPolicy
from robustparse.models.base import Model
from robustparse.models.codec import LabelIds
from robustparse.models.decisions import Decisions
from robustparse.models.encoders.base import Encoder
from robustparse.models.mean_scores import mean_scores, single_precision
from robustparse.models.optimization import Optimization
from robustparse.tasks.classification import CLASSIFICATION
from robustparse.types import Example, Label, Predictions

EPSILON = 1.0
"""The margin loss stops growing when a wrong label wins by this much (1, Zheng et al. 2020)."""


class LabelCodec(LabelIds):
    """Labels as ids; predictions are probabilities, ``float64 (batch, labels)``.

    The gold column ``label``, ``(batch, 1)``, holds ids. A label that is not in the training data
    has the id -1: it adds no loss and is never right.
    """

    def decode_rows(self, predictions: Predictions, lengths: Sequence[int]) -> list[Label]:
        """Return the most probable label of each text; on ties, the label with the lower id."""
        names, (probabilities,) = self.labels, predictions
        best = probabilities.argmax(1).tolist()
        known = [dict(zip(names, row, strict=True)) for row in probabilities.tolist()]
        return [Label(names[label], shares) for label, shares in zip(best, known, strict=True)]

    def encode(
        self, examples: Sequence[Example], punctuation: PunctuationPolicy
    ) -> dict[str, Column]:
        """See `Codec`."""
        ids = self.ids
        labels = np.array([ids.get(example.gold, -1) for example in examples], dtype=np.int64)
        return {"label": Column.of([1] * len(examples), labels)}

    def restrict(
        self, gold: Sequence[Any], among: Sequence[NDArray[np.bool_]]
    ) -> dict[str, NDArray[np.int64]]:
        """See `Codec`; a label belongs to all words: ``among`` changes nothing."""
        return {"label": np.array(gold, dtype=np.int64)[:, None]}

    def metric(self) -> Metric:
        """See `Codec`: accuracy."""
        return ExactMatch()

    def update(self, metric: Metric, predictions: Predictions, batch: Batch) -> None:
        """See `Codec`."""
        gold = batch.gold["label"][:, 0]
        metric.update(torch.from_numpy(predictions[0].argmax(1)).to(gold.device), gold)


class TextClassifier(Model[Tensor]):
    """Answers with a label, see `LabelCodec`; its states are label scores, ``(batch, labels)``.

    Args:
        encoder: returns a vector for each word.
        dropout: dropout rate of the text's vector.
        base: see `Model`; the default is Adam at 1e-3, constant (Kingma and Ba 2015, Jin et al.
            2020).
    """

    task = CLASSIFICATION
    unit = "texts"

    default_optimization = Optimization(1e-3, (0.9, 0.999), 1e-8, schedule="constant")

    def __init__(self, encoder: Encoder, dropout: float, **base: Any) -> None:
        super().__init__(encoder, **base)
        check_rates(type(self).__name__, dropout=dropout)
        self.dropout = dropout

    @property
    @abstractmethod
    def pooled_dim(self) -> int:
        """Return the width of a text's vector."""

    @abstractmethod
    def vectors(self, embeddings: Tensor, batch: Batch) -> Tensor:
        """Return the vectors of texts, ``(batch, pooled_dim)``, from ``(batch, units, dim)``."""

    def make_codec(self, vocabulary: Vocabulary) -> LabelCodec:
        """See `Model`."""
        return LabelCodec(vocabulary)

    def build(self, vocabulary: Vocabulary) -> None:
        """Make the linear layer."""
        self.output = nn.Linear(self.pooled_dim, len(vocabulary.labels))

    def states_of(self, embeddings: Tensor, batch: Batch) -> Tensor:
        """See `Model`."""
        vectors = self.vectors(embeddings, batch)
        scores: Tensor = self.output(nn.functional.dropout(vectors, self.dropout, self.training))
        return scores

    def loss(self, states: Tensor, batch: Batch) -> Tensor:
        """Return the cross-entropy of gold labels, ``(batch,)``."""
        gold = batch.gold["label"][:, 0]
        return nn.functional.cross_entropy(states, gold, reduction="none", ignore_index=-1)

    def decisions(self, states: Tensor, batch: Batch) -> list[Decisions]:
        """See `Model`: the label of each text."""
        texts = torch.arange(len(states), device=states.device)
        return [Decisions.of(texts, single_precision(states))]

    def margin(self, states: Tensor, batch: Batch) -> Tensor:
        """Return by how much the best other label beats the gold label, at most 1, ``(batch,)``.

        This is the margin of Zheng et al. (2020, eq. 4) with labels instead of heads.
        """
        gold = batch.gold["label"]
        labels = torch.arange(states.shape[1], device=states.device)
        rivals = states.masked_fill(labels == gold, float("-inf")).amax(1)
        margins = rivals - states.gather(1, gold.clamp(min=0)).squeeze(1)
        known = (gold[:, 0] >= 0) & (rivals > float("-inf"))
        return margins.clamp(max=EPSILON).masked_fill(~known, 0.0)

    def decode(
        self,
        members: Sequence["TextClassifier"],
        states: Sequence[Tensor],
        batches: Sequence[Batch],
    ) -> tuple[NDArray[np.float64]]:
        """Return the members' mean probabilities."""
        scores = [of_member.detach().double() for of_member in states]
        return (mean_scores(scores, self.mean).softmax(1).cpu().numpy(),)

    def warnings(self, examples: Sequence[Example], use: FileUse) -> Iterator[str]:
        """See `Model`; also warns about pairs if only the second text is read."""
        yield from super().warnings(examples, use)
        if not self.reads_pairs and any(example.sentence.context for example in examples):
            name = type(self).__name__
            yield f"{use.path}: pairs of texts, of which {name} reads only the second"


def check_contextual(owner: str, encoder: Encoder, remedy: str) -> None:
    """Reject an encoder whose vector of ROOT does not depend on the text."""
    if not encoder.contextual:
        problem = f"{type(encoder).__name__} gives ROOT the same vector in every text"
        raise InputError(problem, key=f"{owner}: encoder", remedy=remedy)


def maximum(states: Tensor, lengths: Tensor) -> Tensor:
    """Return the maximum over words, ``(batch, length, dim)`` -> ``(batch, dim)``."""
    after = torch.arange(states.shape[1], device=states.device) >= lengths[:, None]
    return states.masked_fill(after.unsqueeze(-1), float("-inf")).amax(1)


def padded_words(states: Tensor, lengths: Tensor, least: int = 1) -> tuple[Tensor, Tensor]:
    """Drop ROOT, and pad texts with fewer words than ``least`` with zeros that count as words.

    Args:
        states: ``(batch, 1 + length, dim)``.
        lengths: ``(batch,)`` words of each text.
        least: the fewest words of a text.

    Returns:
        ``(batch, longest, dim)``, zeros after the words, and the new lengths, ``(batch,)``.
    """
    words = states[:, 1:]
    positions = torch.arange(words.shape[1], device=words.device)
    words = words.masked_fill((positions >= lengths[:, None]).unsqueeze(-1), 0.0)
    missing = max(0, least - words.shape[1])
    return nn.functional.pad(words, (0, 0, 0, missing)), lengths.clamp(min=least)
