"""Encoded texts, and batches of them.

A word is a *row* of the model's growing word table, so that batches have the same form for every
model, in training and under attack. Texts are encoded once; a batch is a slice.
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
    """Texts of one forward pass, without ROOT; padding is 0.

    Args:
        ids: ``(batch,)`` the examples' ids.
        words: ``(batch, length)`` rows of the model's word table.
        marks: ``(batch, length)`` ids that belong to positions, whatever their words: those of
            part-of-speech tags, or the id of the text's context at every position.
        lengths: ``(batch,)`` words of each text.
        gold: columns of the gold answers by name, each ``(batch, width)``; see `Codec.encode`.
        weight: a number by which training divides losses: the words or texts (`Model.unit`) of the
            global batch, over all processes, including `appended`. Only training uses it.
        appended: a number: the share of the weight that adversaries will append to the global
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
        tensors = {name: moved(value) for name, value in vars(self).items() if name != "gold"}
        return Batch(**tensors, gold=gold)

    @property
    def mask(self) -> Tensor:
        """Which positions are words, ``(batch, length)`` booleans."""
        return torch.arange(self.words.shape[1], device=self.words.device) < self.lengths[:, None]


@dataclass(frozen=True)
class Column:
    """Values of many texts, one text after the other; those of text i begin at ``start[i]``.

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
        """The number of values of each text, ``(texts,)``."""
        return np.diff(self.start)

    def padded(self, chosen: NDArray[np.int64]) -> Tensor:
        """Return the values of the chosen texts, ``(chosen, longest)``, padded with zeros."""
        lengths = self.lengths[chosen]
        positions = np.arange(lengths.max(initial=0))
        mask = positions < lengths[:, None]
        rows = np.zeros(mask.shape, dtype=self.values.dtype)
        rows[mask] = self.values[(self.start[chosen][:, None] + positions)[mask]]
        return torch.from_numpy(rows)


@dataclass(frozen=True)
class EncodedCorpus:
    """All texts of a split as a model reads them.

    Args:
        ids: ``(texts,)`` the examples' ids.
        words, marks: as in `Batch`.
        contexts: ``(texts,)`` words of each text's context.
        gold: columns by name, as in `Batch`; empty without gold answers.
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
        """Encode texts; ``intern`` and ``intern_marks`` number words and marks, ``(words,)``."""
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
        """The words of each text, ``(texts,)``."""
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
    """Return the texts of these rows, in this order, with the weight of the batch."""
    chosen = torch.tensor(rows, dtype=torch.long, device=batch.words.device)
    texts = {name: getattr(batch, name)[chosen] for name in ("ids", "words", "marks", "lengths")}
    gold = {name: column[chosen] for name, column in batch.gold.items()}
    return replace(batch, **texts, gold=gold)


def join(first: Batch, second: Batch, weight: float) -> Batch:
    """Append the texts of the second batch to the first, and ``weight`` to its weight."""

    def both(*tensors: Tensor) -> Tensor:
        width = max(tensor.shape[-1] for tensor in tensors)
        pad = torch.nn.functional.pad
        return torch.cat([pad(t, (0, width - t.shape[1])) if t.dim() == 2 else t for t in tensors])

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
