"""EncodedCorpus sentences and the batches cut from them.

A word is a *row* of the parser's own growing table (what the encoder needs of one word form), so a
batch looks the same for every encoder, in training and under attack. Sentences are numbered once;
a batch is made by slicing.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


@dataclass
class Batch:
    """Sentences of one forward pass; ROOT is not part of them, padding is 0.

    Args:
        ids: ``(batch,)`` the examples' ids.
        words: ``(batch, length)`` rows of the parser's word table.
        tags: ``(batch, length)`` tag ids.
        lengths: ``(batch,)`` words a sentence.
        heads: ``(batch, length)`` gold heads, 0 is ROOT; -1 leaves a word out of the loss.
        labels: ``(batch, length)`` gold label ids, -1 for a label never seen in training.
        counted: ``(batch, length)`` words that count in scores.
        weight: a number: the words of the whole global batch, over all processes, by which losses
            are divided.
        appended: a number: those of the weight's words that adversaries are expected to append to
            the global batch.
    """

    ids: Tensor
    words: Tensor
    tags: Tensor
    lengths: Tensor
    heads: Tensor
    labels: Tensor
    counted: Tensor
    weight: Tensor
    appended: Tensor = field(default_factory=lambda: torch.tensor(0.0))

    def __len__(self) -> int:
        return len(self.lengths)

    def to(self, device: torch.device | str, non_blocking: bool = False) -> "Batch":
        """Return a copy on a device."""
        moved = {
            f.name: getattr(self, f.name).to(device, non_blocking=non_blocking)
            for f in fields(self)
        }
        return Batch(**moved)

    @property
    def mask(self) -> Tensor:
        """``(batch, length)`` booleans, true on words."""
        return torch.arange(self.words.shape[1], device=self.words.device) < self.lengths[:, None]


@dataclass(frozen=True)
class EncodedCorpus:
    """All sentences of a split in flat arrays: sentence i is ``start[i]:start[i + 1]``.

    Args:
        ids: ``(sentences,)`` the examples' ids.
        start: ``(sentences + 1,)`` offsets into the arrays below, each ``(words,)``.
        words, tags, heads, labels, counted: as in ``Batch``.
    """

    ids: NDArray[np.int64]
    start: NDArray[np.int64]
    words: NDArray[np.int64]
    tags: NDArray[np.int64]
    heads: NDArray[np.int64]
    labels: NDArray[np.int64]
    counted: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """``(sentences,)`` words a sentence."""
        return np.diff(self.start)

    def batch(self, indices: Sequence[int] | NDArray[np.int64], weight: float) -> Batch:
        """Return the sentences at these indices as one padded batch."""
        chosen = np.asarray(indices, dtype=np.int64)
        lengths = self.lengths[chosen]
        columns = np.arange(lengths.max(initial=0))
        mask = columns < lengths[:, None]
        flat = (self.start[chosen][:, None] + columns)[mask]

        def padded(values: NDArray[np.generic]) -> Tensor:
            rows = np.zeros(mask.shape, dtype=values.dtype)
            rows[mask] = values[flat]
            return torch.from_numpy(rows)

        return Batch(
            ids=torch.from_numpy(self.ids[chosen]),
            words=padded(self.words),
            tags=padded(self.tags),
            lengths=torch.from_numpy(lengths),
            heads=padded(self.heads),
            labels=padded(self.labels),
            counted=padded(self.counted),
            weight=torch.tensor(float(weight)),
        )


def join(first: Batch, second: Batch, words: float) -> Batch:
    """Return a batch with another one's sentences appended, padded to the longer.

    Args:
        first: gives the weight.
        second: its sentences.
        words: by which the weight grows.
    """
    width = max(first.words.shape[1], second.words.shape[1])

    def both(name: str) -> Tensor:
        parts = [getattr(first, name), getattr(second, name)]
        if parts[0].dim() == 2:
            parts = [torch.nn.functional.pad(p, (0, width - p.shape[1])) for p in parts]
        return torch.cat(parts)

    names = [f.name for f in fields(Batch) if f.name not in ("weight", "appended")]
    merged = {name: both(name) for name in names}
    return Batch(**merged, weight=first.weight + words, appended=first.appended + words)
