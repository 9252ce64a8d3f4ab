"""Tags and labels of texts as numbers."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torchmetrics import Metric

from robustparse.data.batch import Batch, Column
from robustparse.data.vocab import Vocabulary
from robustparse.metrics import PunctuationPolicy, counted_words
from robustparse.models.codec import Codec
from robustparse.tasks.tags import TagScores
from robustparse.types import Example, Predictions, Sentence, TagSequence


class TagCodec(Codec):
    """Tag sequences as tag ids, ``(batch, length)``, and label probabilities, ``(batch, labels)``.

    The gold columns are ``tags``, ``label`` (one a text, if texts have labels) and ``counted``. The
    ids of names that are not in the training data follow those of the others; they add no loss.

    Args:
        vocabulary: its labels are the tags, and labels of texts after a blank.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.tags = [name for name in vocabulary.labels if not name.startswith(" ")]
        self.labels = [name[1:] for name in vocabulary.labels if name.startswith(" ")]
        self._tag_ids = {tag: row for row, tag in enumerate(self.tags)}
        self._label_ids = {label: row for row, label in enumerate(self.labels)}

    def encode(
        self, examples: Sequence[Example], punctuation: PunctuationPolicy
    ) -> dict[str, Column]:
        """See `Codec`."""
        ids = self._tag_ids
        lengths = [len(example.sentence) for example in examples]
        tags = [ids.setdefault(tag, len(ids)) for each in examples for tag in each.gold.tags]
        counted = [counted_words(example.sentence, punctuation) for example in examples]
        columns = {
            "tags": Column.of(lengths, np.array(tags, dtype=np.int64)),
            "counted": Column.of(lengths, np.concatenate([np.zeros(0, np.bool_), *counted])),
        }
        if self.labels:
            of_texts = self._label_ids
            labels = [of_texts.setdefault(e.gold.label, len(of_texts)) for e in examples]
            columns["label"] = Column.of([1] * len(labels), np.array(labels, dtype=np.int64))
        return columns

    def restrict(
        self, gold: Sequence[Any], among: Sequence[NDArray[np.bool_]]
    ) -> dict[str, NDArray[np.int64]]:
        """See `Codec`; a gold answer begins with the ids of the tags. Labels add no loss."""
        tags = np.full((len(gold), max(map(len, among), default=0)), -1, np.int64)
        for row, (of_text, mask) in enumerate(zip(gold, among, strict=True)):
            tags[row, : len(mask)] = np.where(mask, of_text[0], -1)
        return {"tags": tags}

    def decode_rows(self, predictions: Predictions, lengths: Sequence[int]) -> list[TagSequence]:
        """See `Codec`; of labels, the most probable one, on ties that with the lower id."""
        labels = [""] * len(lengths)
        if len(predictions) > 1:
            labels = [self.labels[row] for row in predictions[1].argmax(1).tolist()]
        rows = zip(predictions[0].tolist(), labels, lengths, strict=True)
        return [
            TagSequence(tuple(self.tags[tag] for tag in tags[:length]), label)
            for tags, label, length in rows
        ]

    def name_ids(self, names: Sequence[str]) -> NDArray[np.int32]:
        """See `Codec`; a name that begins with a blank is that of a label."""
        known = {tag: row for row, tag in enumerate(self.tags)}
        known |= {f" {label}": row for row, label in enumerate(self.labels)}
        return np.array([known.get(name, -1) for name in names], np.int32)

    def metric(self) -> Metric:
        """See `Codec`."""
        return TagMetric()

    def update(self, metric: Metric, predictions: Predictions, batch: Batch) -> None:
        """See `Codec`."""
        lengths, scores = batch.lengths.tolist(), TagScores()
        tags, labels = list(self._tag_ids), list(self._label_ids)
        gold = {name: column.tolist() for name, column in batch.gold.items()}
        for row, answer in enumerate(self.decode_rows(predictions, lengths)):
            n = lengths[row]
            of_text = TagSequence(
                tuple(tags[tag] for tag in gold["tags"][row][:n]),
                labels[gold["label"][row][0]] if self.labels else "",
            )
            example = Example(row, Sentence(answer.tags), of_text)
            counted = np.array(gold["counted"][row][:n], dtype=np.bool_)
            metric.update(scores.correct(answer, example, counted))


class TagMetric(Metric):
    """The scores of `TagScores`, from sums over texts, so that sharding does not change them."""

    full_state_update = False

    def __init__(self) -> None:
        super().__init__()
        none = Example(0, Sentence(()), TagSequence(()))
        self.names = [*TagScores().correct(none.gold, none, np.zeros(0, dtype=np.bool_))]
        for name in self.names:
            self.add_state(name, torch.zeros((), dtype=torch.int64), dist_reduce_fx="sum")

    def update(self, sums: dict[str, int]) -> None:
        """Add the counts of a text."""
        for name, count in sums.items():
            setattr(self, name, getattr(self, name) + int(count))

    def compute(self) -> dict[str, float]:
        """Compute the scores, NaN where nothing was counted; those of labels if texts have some."""
        sums = {name: int(getattr(self, name)) for name in self.names}
        names = ["accuracy", "f1", "span_precision", "span_recall"]
        names += ["label_accuracy", "frames"] if sums["texts"] else []
        scores = TagScores().score(sums)
        values = ((name, scores[name]) for name in names)
        return {name: float("nan") if value is None else value for name, value in values}
