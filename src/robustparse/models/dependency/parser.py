"""The base of dependency parsers: trees as numbers, and labels that fit heads."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torchmetrics import Metric

from robustparse.data.batch import Batch, Column
from robustparse.data.vocab import Vocabulary
from robustparse.metrics import AttachmentScore, PunctuationPolicy, counted_words
from robustparse.models.base import Model, States
from robustparse.models.codec import LabelIds
from robustparse.tasks.dependency import DEPENDENCY
from robustparse.types import DependencyTree, Example, Predictions


class TreeCodec(LabelIds):
    """Trees as heads and label ids, ``(batch, length)``.

    The gold columns are ``heads`` (0 is ROOT; -1 excludes a word from the loss), ``labels`` (-1 for
    a label that is not in the training data) and ``counted`` (the words that are scored).
    """

    def encode(
        self, examples: Sequence[Example], punctuation: PunctuationPolicy
    ) -> dict[str, Column]:
        """See `Codec`."""
        lengths = [len(example.sentence) for example in examples]
        labels = [self.ids.get(label, -1) for example in examples for label in example.gold.labels]
        heads = [head for example in examples for head in example.gold.heads]
        counted = [counted_words(example.sentence, punctuation) for example in examples]
        none = np.zeros(0, dtype=np.bool_)
        return {
            "heads": Column.of(lengths, np.array(heads, dtype=np.int64)),
            "labels": Column.of(lengths, np.array(labels, dtype=np.int64)),
            "counted": Column.of(lengths, np.concatenate([none, *counted])),
        }

    def restrict(
        self, gold: Sequence[Any], among: Sequence[NDArray[np.bool_]]
    ) -> dict[str, NDArray[np.int64]]:
        """See `Codec`; a gold answer begins with heads and label ids."""
        shape = len(gold), max((len(mask) for mask in among), default=0)
        heads, labels = np.full(shape, -1, np.int64), np.full(shape, -1, np.int64)
        for row, (tree, mask) in enumerate(zip(gold, among, strict=True)):
            heads[row, : len(mask)] = np.where(mask, tree[0], -1)
            labels[row, : len(mask)] = tree[1]
        return {"heads": heads, "labels": labels}

    def decode_rows(self, predictions: Predictions, lengths: Sequence[int]) -> list[DependencyTree]:
        """See `Codec`."""
        heads, labels = predictions
        return [
            DependencyTree(
                tuple(heads[row, :length].tolist()),
                tuple(self.labels[label] for label in labels[row, :length].tolist()),
            )
            for row, length in enumerate(lengths)
        ]

    def metric(self) -> Metric:
        """See `Codec`: attachment scores."""
        return AttachmentScore()

    def update(self, metric: Metric, predictions: Predictions, batch: Batch) -> None:
        """See `Codec`."""
        gold = batch.gold
        heads, labels = (torch.from_numpy(array).to(gold["heads"].device) for array in predictions)
        metric.update((heads, labels), (gold["heads"], gold["labels"]), gold["counted"])


class DependencyParser(Model[States]):
    """Answers with dependency trees, see `TreeCodec`."""

    task = DEPENDENCY

    def make_codec(self, vocabulary: Vocabulary) -> TreeCodec:
        """See `Model`."""
        return TreeCodec(vocabulary)

    def possible_labels(self, scores: Tensor, heads: Tensor) -> Tensor:
        """Forbid labels that contradict the heads.

        If words with head 0, and only these, have certain labels in the training data
        (`Vocabulary.root_labels`), the same holds in parses.

        Args:
            scores: scores of labels, ``(..., labels)``.
            heads: ``(...)``, or a shape that broadcasts to it; 0 is ROOT.

        Returns:
            The scores, -inf for forbidden labels.
        """
        below_root = [label in self.vocabulary.root_labels for label in self.vocabulary.labels]
        if not any(below_root):
            return scores
        contradicts = (heads == 0).unsqueeze(-1) != torch.tensor(below_root, device=scores.device)
        return scores.masked_fill(contradicts, float("-inf"))
