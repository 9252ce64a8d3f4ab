"""Answers as numbers, for losses, metrics and decoding."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torchmetrics import Metric

from robustparse.data.batch import Batch, Column
from robustparse.data.vocab import Vocabulary
from robustparse.metrics import PunctuationPolicy
from robustparse.types import Example, Predictions


class Codec(ABC):
    """Translates between the answers of a task and the numbers of a model."""

    @abstractmethod
    def encode(
        self, examples: Sequence[Example], punctuation: PunctuationPolicy
    ) -> dict[str, Column]:
        """Return the gold answers as columns for the loss and the metric."""

    @abstractmethod
    def restrict(
        self, gold: Sequence[Any], among: Sequence[NDArray[np.bool_]]
    ) -> dict[str, NDArray[np.int64]]:
        """Return gold columns, ``(texts, width)``, that restrict the loss to some words.

        Args:
            gold: gold answers in the format of the attack's goal.
            among: the words of each text that count in the loss, ``(words,)``.
        """

    @abstractmethod
    def decode_rows(self, predictions: Predictions, lengths: Sequence[int]) -> list[Any]:
        """Return the predictions for texts of these lengths as answers of the gold type."""

    @abstractmethod
    def name_ids(self, names: Sequence[str]) -> NDArray[np.integer[Any]]:
        """Return the ids of labels, ``(names,)``; -1 for a label not seen in training."""

    @abstractmethod
    def metric(self) -> Metric:
        """Return a new metric; ``compute`` returns the headline score, or all scores by name."""

    @abstractmethod
    def update(self, metric: Metric, predictions: Predictions, batch: Batch) -> None:
        """Add the predictions for a batch to a metric."""


class LabelIds(Codec):
    """A codec whose answers consist of the labels of a vocabulary.

    Args:
        vocabulary: numbers the labels.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.labels, self.ids = vocabulary.labels, vocabulary.label_ids

    def name_ids(self, names: Sequence[str]) -> NDArray[np.int32]:
        """See `Codec`."""
        return np.array([self.ids.get(name, -1) for name in names], np.int32)
