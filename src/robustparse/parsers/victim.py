"""A parser as attacks see it: word rows in, heads and labels out, left as it was found."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np
import torch
from numpy.typing import NDArray

from robustparse.data.batch import Batch
from robustparse.parsers.base import ParserModule
from robustparse.parsers.evaluating import evaluating
from robustparse.parsers.word_table import UNKNOWN


class ParserVictim:
    """Fulfils the protocol of ``robustparse.attacks.victim`` with a parser.

    Args:
        parser: the parser under attack.
    """

    unknown = UNKNOWN

    def __init__(self, parser: ParserModule) -> None:
        self.parser = parser

    @property
    def training_tags(self) -> Mapping[str, str]:
        """Lower-cased word -> its most frequent Penn tag in training."""
        return self.parser.vocabulary.training_tags

    def intern(self, words: Sequence[str]) -> NDArray[np.int32]:
        """Rows of the parser's word table, ``(words,)``."""
        return self.parser.encoder.intern(words)

    def intern_tags(self, tags: Sequence[str]) -> NDArray[np.int32]:
        """Tag ids, ``(tags,)``."""
        return self.parser.encoder.intern_tags(tags)

    def label_ids(self, labels: Sequence[str]) -> NDArray[np.int32]:
        """Label ids, -1 for a label never seen in training."""
        ids = self.parser.vocabulary.label_ids
        return np.array([ids.get(label, -1) for label in labels], dtype=np.int32)

    def label_names(self, ids: NDArray[np.integer]) -> list[str]:
        """The inverse of ``label_ids`` for known labels."""
        return [self.parser.vocabulary.labels[index] for index in ids.tolist()]

    def embedded(self, words: Sequence[str]) -> NDArray[np.bool_] | None:
        """Which words have an embedding of their own, ``(words,)``: see ``Encoder.embedded``."""
        return self.parser.encoder.embedded(words)

    def seen_in_training(self, words: Sequence[str]) -> NDArray[np.bool_]:
        """Which words the checkpoint's vocabulary holds, lower-cased, ``(words,)``.

        It leaves out words rarer than its ``min_count`` and ``tag_count``, which therefore count
        as not seen.
        """
        held = self.parser.vocabulary.held
        return np.array([word.lower() in held for word in words], dtype=np.bool_)

    def parse(
        self, words: NDArray[np.int32], tags: NDArray[np.int32], lengths: NDArray[np.int32]
    ) -> tuple[NDArray[np.int16], NDArray[np.int16]]:
        """One forward pass: ``(n, length)`` rows -> heads and label ids, ``(n, length)``."""
        device = self.parser.device
        rows, tag_ids, sizes = (
            torch.from_numpy(part.astype(np.int64)).to(device) for part in (words, tags, lengths)
        )
        return self.parser.parse_ids(rows, tag_ids, sizes)

    def gradient(
        self,
        words: NDArray[np.int32],
        tags: NDArray[np.int32],
        lengths: NDArray[np.int32],
        gold: Sequence[tuple[NDArray[np.integer], NDArray[np.integer]]],
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Gradients of the sentences' losses, and embeddings, ``(n, length, dim)``.

        Args:
            words: rows, ``(n, length)``.
            tags: tag ids, ``(n, length)``.
            lengths: ``(n,)``.
            gold: heads and label ids of each sentence.
        """
        heads, labels = np.zeros(words.shape, np.int64), np.full(words.shape, -1, np.int64)
        for row, (right_heads, right_labels) in enumerate(gold):
            heads[row, : len(right_heads)] = right_heads
            labels[row, : len(right_labels)] = right_labels
        parts = (np.arange(len(words)), words, tags, lengths, heads, labels, words != 0)
        tensors = [torch.from_numpy(part.astype(np.int64)) for part in parts]
        batch = Batch(*[*tensors, torch.tensor(1.0)]).to(self.parser.device)
        # The backward pass of cuDNN's LSTM exists in training mode only.
        with torch.enable_grad(), torch.backends.cudnn.flags(enabled=False):
            offset = self.parser.zero_offset(batch).requires_grad_()
            losses, _ = self.parser.loss(batch, offset)
            (gradient,) = torch.autograd.grad(losses.sum(), offset)
        vectors = self.parser.embed(batch).detach()
        # Without ROOT.
        return gradient[:, 1:].double().cpu().numpy(), vectors[:, 1:].double().cpu().numpy()

    @contextmanager
    def evaluating(self) -> Iterator[None]:
        """Evaluation mode without gradients; afterwards every module's mode is what it was."""
        with evaluating(self.parser):
            yield
