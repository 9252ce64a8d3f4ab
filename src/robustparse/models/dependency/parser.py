"""What every dependency parser shares: gold columns, answers and scores."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torchmetrics import Metric

from robustparse.data.batch import Batch, Column
from robustparse.metrics import (
    AttachmentScore,
    PunctuationPolicy,
    counted_words,
)
from robustparse.models.base import Model
from robustparse.tasks.dependency import DependencyTask
from robustparse.types import DependencyTree, Example, Predictions


class DependencyParser(Model):
    """Answers with dependency trees; its predictions are heads and label ids, ``(batch, length)``.

    Gold columns are ``heads`` (0 is ROOT; -1 leaves a word out of the loss), ``labels`` (ids, -1
    for a label never seen in training) and ``counted`` (which words count in scores).
    """

    task = DependencyTask()

    def gold_columns(
        self, examples: Sequence[Example], punctuation: PunctuationPolicy
    ) -> dict[str, Column]:
        """Return the columns ``heads``, ``labels`` and ``counted``."""
        lengths = [len(example.sentence) for example in examples]
        ids = self.vocabulary.label_ids
        labels = [ids.get(label, -1) for example in examples for label in example.gold.labels]
        heads = [head for example in examples for head in example.gold.heads]
        counted = [counted_words(example.sentence, punctuation) for example in examples]
        none = np.zeros(0, dtype=np.bool_)
        return {
            "heads": Column.of(lengths, np.array(heads, dtype=np.int64)),
            "labels": Column.of(lengths, np.array(labels, dtype=np.int64)),
            "counted": Column.of(lengths, np.concatenate([none, *counted])),
        }

    def restricted_gold(
        self, gold: Sequence[Any], among: Sequence[NDArray[np.bool_]]
    ) -> dict[str, NDArray[np.int64]]:
        """Return heads, -1 where a word is not ``among`` those wanted, and label ids.

        Each gold answer has heads and label ids first.
        """
        shape = len(gold), max((len(some) for some in among), default=0)
        heads, labels = np.full(shape, -1, np.int64), np.full(shape, -1, np.int64)
        for row, (right, wanted) in enumerate(zip(gold, among, strict=True)):
            heads[row, : len(wanted)] = np.where(wanted, right[0], -1)
            labels[row, : len(wanted)] = right[1]
        return {"heads": heads, "labels": labels}

    def answers(self, predictions: Predictions, lengths: Sequence[int]) -> list[DependencyTree]:
        """Return the trees of heads and label ids."""
        heads, labels = predictions
        names = self.vocabulary.labels
        return [
            DependencyTree(
                tuple(heads[row, :length].tolist()),
                tuple(names[label] for label in labels[row, :length].tolist()),
            )
            for row, length in enumerate(lengths)
        ]

    def possible_labels(self, scores: Tensor, heads: Tensor) -> Tensor:
        """Rule out labels that contradict the heads, as far as training labels tell.

        Where the training data give some labels to words with head 0 only, and no other label to
        such words (`Vocabulary.root_labels`), so do parses.

        Args:
            scores: of labels, ``(..., labels)``.
            heads: ``(...)``, or of a shape that broadcasts to it; 0 is ROOT.

        Returns:
            The scores, -inf for labels that are ruled out.
        """
        below_root = [label in self.vocabulary.root_labels for label in self.vocabulary.labels]
        if not any(below_root):
            return scores
        contradicts = (heads == 0).unsqueeze(-1) != torch.tensor(below_root, device=scores.device)
        return scores.masked_fill(contradicts, float("-inf"))

    def metric(self) -> Metric:
        """Return an attachment score without sentences."""
        return AttachmentScore()

    def update(self, metric: Metric, predictions: Predictions, batch: Batch) -> None:
        """Count correct heads and labels."""
        heads, labels = (torch.from_numpy(part).to(self.device) for part in predictions)
        gold = batch.gold
        metric.update(heads == gold["heads"], labels == gold["labels"], gold["counted"])
