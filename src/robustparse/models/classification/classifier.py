"""What every text classifier shares: a linear layer on one vector a text, labels, and accuracy.

Subclasses say how a text becomes one vector (``vectors``). A score never depends on the
other texts of a batch: padding after a text is masked.
"""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torchmetrics import Metric

from robustparse.data.batch import Batch, Column
from robustparse.data.vocab import Vocabulary
from robustparse.errors import InputError, check_rates
from robustparse.metrics import Accuracy, PunctuationPolicy
from robustparse.models.base import Model
from robustparse.models.encoders.base import Encoder
from robustparse.models.optimization import Optimization
from robustparse.models.scores import mean_scores
from robustparse.tasks.classification import ClassificationTask
from robustparse.types import Example, Label, Predictions

EPSILON = 1.0
"""Below this a lost label is not pushed down further, as with lost arcs (Zheng et al. 2020: 1)."""


class TextClassifier(Model):
    """Answers with a label; its predictions are probabilities, ``float64 (batch, labels)``.

    Its states are scores of labels, ``(batch, labels)``. Its gold column ``label``, ``(batch, 1)``,
    is an id, or -1 for a label never seen in training, which adds no loss and is never right.

    Args:
        encoder: gives a vector a word.
        dropout: of the pooled vector.
        optimization: by default Adam at 1e-3 (Kingma and Ba 2015, Jin et al. 2020), constant.
        seed: of initialisation and dropout.

    Raises:
        InputError: a number is out of range.
    """

    task = ClassificationTask()
    unit = "texts"

    def __init__(
        self, encoder: Encoder, dropout: float, optimization: Optimization | None, seed: int
    ) -> None:
        usual = Optimization(1e-3, betas=(0.9, 0.999), eps=1e-8, schedule="constant")
        super().__init__(encoder, optimization or usual, seed)
        check_rates(type(self).__name__, dropout=dropout)
        self.dropout = dropout

    @property
    @abstractmethod
    def pooled_dim(self) -> int:
        """Return how wide the vector of a text is."""

    @abstractmethod
    def vectors(self, embeddings: Tensor, batch: Batch) -> Tensor:
        """``(batch, units, dim)`` -> one vector a text, ``(batch, pooled_dim)``."""

    def build(self, vocabulary: Vocabulary) -> None:
        """Make the linear layer."""
        self.output = nn.Linear(self.pooled_dim, len(vocabulary.labels))

    def read(self, embeddings: Tensor, batch: Batch) -> Tensor:
        """``(batch, units, dim)`` -> scores of labels, ``(batch, labels)``."""
        vectors = self.vectors(embeddings, batch)
        scores: Tensor = self.output(nn.functional.dropout(vectors, self.dropout, self.training))
        return scores

    def loss(self, states: Tensor, batch: Batch) -> Tensor:
        """Cross-entropy of the gold label, ``(batch,)``."""
        gold = batch.gold["label"][:, 0]
        return nn.functional.cross_entropy(states, gold, reduction="none", ignore_index=-1)

    def margin(self, states: Tensor, batch: Batch) -> Tensor:
        """Return by how much the best other label beats the gold one, at most 1, ``(batch,)``.

        The margin of Zheng et al. (2020, eq. 4) on labels in place of heads.
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
        """Return the members' probabilities together, labels numbered as this classifier does."""
        found = []
        for one, scores in zip(members, states, strict=True):
            order = one.vocabulary.places_of(self.vocabulary.labels)
            found.append(scores.detach().double()[:, order])
        return (mean_scores(found, self.mean).softmax(1).cpu().numpy(),)

    def answers(self, predictions: Predictions, lengths: Sequence[int]) -> list[Label]:
        """Return the most probable label of each text; of equal ones that of the lower id."""
        names, (probabilities,) = self.vocabulary.labels, predictions
        best = probabilities.argmax(1).tolist()
        known = [dict(zip(names, row, strict=True)) for row in probabilities.tolist()]
        return [Label(names[label], own) for label, own in zip(best, known, strict=True)]

    def gold_columns(
        self, examples: Sequence[Example], punctuation: PunctuationPolicy
    ) -> dict[str, Column]:
        """Return the column ``label``."""
        ids = self.vocabulary.label_ids
        labels = np.array([ids.get(example.gold, -1) for example in examples], dtype=np.int64)
        return {"label": Column.of([1] * len(examples), labels)}

    def restricted_gold(
        self, gold: Sequence[Any], among: Sequence[NDArray[np.bool_]]
    ) -> dict[str, NDArray[np.int64]]:
        """Return the label ids that a goal keeps; a label is of all words."""
        return {"label": np.array(gold, dtype=np.int64)[:, None]}

    def warnings(
        self, examples: Sequence[Example], path: str | Path, *args: Any, **options: Any
    ) -> Iterator[str]:
        """Warn of pairs, too, of which only one text is read; see `Model.warnings`."""
        yield from super().warnings(examples, path, *args, **options)
        if not self.reads_pairs and any(example.sentence.context for example in examples):
            yield f"{path}: pairs of texts, of which {type(self).__name__} reads only the second"

    def metric(self) -> Metric:
        """Return an accuracy without texts."""
        return Accuracy()

    def update(self, metric: Metric, predictions: Predictions, batch: Batch) -> None:
        """Count right labels."""
        found = torch.from_numpy(predictions[0].argmax(1)).to(self.device)
        metric.update(found == batch.gold["label"][:, 0])


def check_contextual(owner: str, encoder: Encoder, remedy: str) -> None:
    """Refuse an encoder whose vector of ROOT says nothing of the text."""
    if not encoder.contextual:
        found = f"{type(encoder).__name__} gives ROOT the same vector in every text"
        raise InputError(found, key=f"{owner}: encoder", remedy=remedy)


def maximum(states: Tensor, lengths: Tensor) -> Tensor:
    """``(batch, length, dim)`` and words a text, one at least -> ``(batch, dim)``, the maximum."""
    after = torch.arange(states.shape[1], device=states.device) >= lengths[:, None]
    return states.masked_fill(after.unsqueeze(-1), float("-inf")).amax(1)


def padded_words(states: Tensor, lengths: Tensor, least: int = 1) -> tuple[Tensor, Tensor]:
    """Leave ROOT out; a text of fewer words than ``least`` ends in zeros that count as words.

    Args:
        states: ``(batch, 1 + length, dim)``.
        lengths: ``(batch,)`` words a text.
        least: words a text.

    Returns:
        ``(batch, longest, dim)``, zeros after the words, and words a text, ``(batch,)``.
    """
    words = states[:, 1:]
    places = torch.arange(words.shape[1], device=words.device)
    words = words.masked_fill((places >= lengths[:, None]).unsqueeze(-1), 0.0)
    missing = max(0, least - words.shape[1])
    return nn.functional.pad(words, (0, 0, 0, missing)), lengths.clamp(min=least)
