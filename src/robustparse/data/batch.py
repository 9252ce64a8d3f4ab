"""Encoded texts and the batches cut from them.

A word is a *row* of the model's own growing table (what its encoder needs of one word form), so a
batch looks the same for every model, in training and under attack. Texts are encoded once; a batch
is made by slicing.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from robustparse.types import Example


@dataclass
class Batch:
    """Texts of one forward pass; ROOT is not part of them, padding is 0.

    Args:
        ids: ``(batch,)`` the examples' ids.
        words: ``(batch, length)`` rows of the model's word table.
        marks: ``(batch, length)`` what goes with a position whatever word stands there, as the ids
            of part-of-speech tags, or at every word that of the text's context.
        lengths: ``(batch,)`` words a text.
        gold: columns of the gold answers by name, each ``(batch, width)`` with a width of its own;
            the model says what they hold (`Model.gold_columns`).
        weight: a number, by which training divides losses: the words or texts (`Model.unit`) of the
            whole global batch, over all processes, with what is `appended`. It means nothing in
            batches that are not trained on.
        appended: a number: how much of the weight adversaries are expected to append to the global
            batch.
    """

    ids: Tensor
    words: Tensor
    marks: Tensor
    lengths: Tensor
    gold: dict[str, Tensor]
    weight: Tensor
    appended: Tensor = field(default_factory=lambda: torch.tensor(0.0))

    def __len__(self) -> int:
        return len(self.lengths)

    def to(self, device: torch.device | str, non_blocking: bool = False) -> "Batch":
        """Return a copy on a device."""

        def moved(tensor: Tensor) -> Tensor:
            return tensor.to(device, non_blocking=non_blocking)

        gold = {name: moved(column) for name, column in self.gold.items()}
        parts = {name: moved(part) for name, part in vars(self).items() if name != "gold"}
        return Batch(**parts, gold=gold)

    @property
    def mask(self) -> Tensor:
        """``(batch, length)`` booleans, true on words."""
        return torch.arange(self.words.shape[1], device=self.words.device) < self.lengths[:, None]


@dataclass(frozen=True)
class Column:
    """Values of many texts, one text after the other: text i has ``start[i]:start[i + 1]``.

    Args:
        start: ``(texts + 1,)``.
        values: ``(start[-1],)``.
    """

    start: NDArray[np.int64]
    values: NDArray[np.generic]

    @classmethod
    def of(cls, lengths: Sequence[int], values: NDArray[np.generic]) -> "Column":
        """Return the column of texts of these lengths."""
        return cls(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64), values)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """``(texts,)`` values a text."""
        return np.diff(self.start)

    def padded(self, chosen: NDArray[np.int64]) -> Tensor:
        """Return the values of the chosen texts, ``(chosen, longest)``, filled up with zeros."""
        lengths = self.lengths[chosen]
        places = np.arange(lengths.max(initial=0))
        mask = places < lengths[:, None]
        rows = np.zeros(mask.shape, dtype=self.values.dtype)
        rows[mask] = self.values[(self.start[chosen][:, None] + places)[mask]]
        return torch.from_numpy(rows)


@dataclass(frozen=True)
class EncodedCorpus:
    """All texts of a split as a model reads them.

    Args:
        ids: ``(texts,)`` the examples' ids.
        words, marks: as in `Batch`.
        contexts: ``(texts,)`` words of each text's context.
        gold: columns by name, as in `Batch`; none where gold answers are not looked at.
    """

    ids: NDArray[np.int64]
    words: Column
    marks: Column
    contexts: NDArray[np.int64]
    gold: Mapping[str, Column]

    @classmethod
    def of(
        cls,
        examples: Sequence[Example],
        intern: Callable[[Sequence[str]], NDArray[np.int32]],
        intern_marks: Callable[[Sequence[str]], NDArray[np.int32]],
        gold: Mapping[str, Column],
    ) -> "EncodedCorpus":
        """Encode texts by what numbers their words and marks, ``(words,)`` each."""
        sentences = [example.sentence for example in examples]
        lengths = [len(sentence) for sentence in sentences]
        words = [word for sentence in sentences for word in sentence.words]
        marks = [mark for sentence in sentences for mark in sentence.marks]
        return cls(
            ids=np.array([example.id for example in examples], dtype=np.int64),
            words=Column.of(lengths, intern(words).astype(np.int64)),
            marks=Column.of(lengths, intern_marks(marks).astype(np.int64)),
            contexts=np.array([len(sentence.context) for sentence in sentences], dtype=np.int64),
            gold=gold,
        )

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """``(texts,)`` words a text."""
        return self.words.lengths

    def batch(self, indices: Sequence[int] | NDArray[np.int64], weight: float) -> Batch:
        """Return the texts at these indices as one padded batch."""
        chosen = np.asarray(indices, dtype=np.int64)
        return Batch(
            ids=torch.from_numpy(self.ids[chosen]),
            words=self.words.padded(chosen),
            marks=self.marks.padded(chosen),
            lengths=torch.from_numpy(self.lengths[chosen]),
            gold={name: column.padded(chosen) for name, column in self.gold.items()},
            weight=torch.tensor(float(weight)),
        )


def select(batch: Batch, rows: Sequence[int]) -> Batch:
    """Return the texts of these rows, in this order, of the same weight."""
    chosen = torch.tensor(rows, dtype=torch.long, device=batch.words.device)
    texts = {name: getattr(batch, name)[chosen] for name in ("ids", "words", "marks", "lengths")}
    gold = {name: column[chosen] for name, column in batch.gold.items()}
    return replace(batch, **texts, gold=gold)


def join(first: Batch, second: Batch, weight: float) -> Batch:
    """Return a batch with another one's texts appended, its weight grown by ``weight``."""

    def both(one: Tensor, other: Tensor) -> Tensor:
        if one.dim() == 2:
            width = max(one.shape[1], other.shape[1])
            pad = torch.nn.functional.pad
            one, other = (pad(part, (0, width - part.shape[1])) for part in (one, other))
        return torch.cat([one, other])

    return replace(
        first,
        **{
            name: both(getattr(first, name), getattr(second, name))
            for name in ("ids", "words", "marks", "lengths")
        },
        gold={name: both(column, second.gold[name]) for name, column in first.gold.items()},
        weight=first.weight + weight,
        appended=first.appended + weight,
    )
