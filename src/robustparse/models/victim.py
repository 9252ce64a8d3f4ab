"""A parser as attacks see it: word rows in, heads and labels out, left as it was found."""

from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager, nullcontext
from typing import Any, Literal, get_args

import numpy as np
import torch
from numpy.typing import NDArray

from robustparse.data.batch import Batch
from robustparse.data.sampler import forward_words
from robustparse.errors import check_choice
from robustparse.models.base import Model
from robustparse.models.encoders.word_table import UNKNOWN
from robustparse.models.evaluating import evaluating
from robustparse.models.white_box import (
    InputVectors,
    by_word,
    character_gradients,
    character_vectors,
    margin_losses,
    spelling,
)
from robustparse.types import DependencyTree

Precision = Literal["32-true", "bf16-mixed"]


class ModelVictim:
    """Fulfils the protocol of ``robustparse.attacks.victim`` with a parser.

    Args:
        parser: the parser under attack.
        precision: of its passes: the parser's own, or bfloat16 products as in mixed training, which
            are faster on processors that have them and may move a head here and there.

    Raises:
        InputError: there is no such precision.
    """

    unknown = UNKNOWN

    def __init__(self, parser: Model, precision: Precision = "32-true") -> None:
        check_choice("precision", precision, get_args(Precision))
        self.parser = parser
        self._mixed = precision == "bf16-mixed"
        self._vectors = InputVectors(parser)

    @property
    def batch_words(self) -> int:
        """Padded words of a forward pass: see ``forward_words``."""
        return forward_words(self.parser.device, None)

    @property
    def training_tags(self) -> Mapping[str, str]:
        """Lower-cased word -> its most frequent Penn tag in training."""
        return self.parser.vocabulary.training_tags

    @property
    def training_words(self) -> Set[str]:
        """Lower-cased words seen at least twice in training, the most frequent first."""
        return self.parser.vocabulary.training_words

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

    def answers(
        self, predictions: Sequence[NDArray[Any]], lengths: Sequence[int]
    ) -> list[DependencyTree]:
        """Turn heads and label ids, ``(n, length)`` each, into trees."""
        names = self.parser.vocabulary.labels
        return [
            DependencyTree(
                tuple(heads[:length].tolist()),
                tuple([names[label] for label in labels[:length].tolist()]),
            )
            for heads, labels, length in zip(*predictions, lengths, strict=True)
        ]

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
        gold: Sequence[Sequence[Any]],
        loss: str,
        among: Sequence[NDArray[np.bool_]],
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Gradients of the sentences' losses towards the words, without their tags.

        Args:
            words: rows, ``(n, length)``.
            tags: tag ids, ``(n, length)``.
            lengths: ``(n,)``.
            gold: of each sentence, heads and label ids first.
            loss: ``margin`` (-F of Zheng et al. 2020, equation 4) or ``cross_entropy`` (the
                training loss).
            among: of each sentence, the words whose arcs enter the loss, ``(words,)``.

        Returns:
            See ``by_word``.

        Raises:
            InputError: the parser does not score every arc, which ``margin`` needs.
        """
        batch = self._batch(words, tags, lengths, gold, among)
        embedded = self.parser.embed(batch).detach()
        # The backward pass of cuDNN's LSTM exists in training mode only.
        with torch.enable_grad(), torch.backends.cudnn.flags(enabled=False):
            scores = self.parser.scored_at(embedded.requires_grad_(), batch)
            if loss == "margin":
                losses = margin_losses(self.parser, scores, batch)
            else:
                losses = self.parser.losses(scores, batch)
            (gradient,) = torch.autograd.grad(losses.sum(), embedded)
        gradients, vectors, norms = by_word(self.parser, batch, gradient, embedded.detach())
        return _numpy(gradients), _numpy(vectors), _numpy(norms)

    def _batch(
        self,
        words: NDArray[np.int32],
        tags: NDArray[np.int32],
        lengths: NDArray[np.int32],
        gold: Sequence[Sequence[Any]],
        among: Sequence[NDArray[np.bool_]],
    ) -> Batch:
        heads, labels = np.full(words.shape, -1, np.int64), np.full(words.shape, -1, np.int64)
        for row, (right, counted) in enumerate(zip(gold, among, strict=True)):
            heads[row, : len(counted)] = np.where(counted, right[0], -1)
            labels[row, : len(counted)] = right[1]
        parts = (np.arange(len(words)), words, tags, lengths, heads, labels, words != 0)
        tensors = [torch.from_numpy(part.astype(np.int64)) for part in parts]
        return Batch(*[*tensors, torch.tensor(1.0)]).to(self.parser.device)

    def vectors(self, rows: NDArray[np.int32]) -> NDArray[np.float64]:
        """Input embeddings of words, without tags, ``(rows, form_dim)``."""
        return self._vectors.of(rows)

    def character_gradient(
        self, words: NDArray[np.int32], gradients: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """From gradients towards words to those towards their characters.

        Args:
            words: rows, ``(n, length)``.
            gradients: ``(n, length, form_dim)``.

        Returns:
            Gradients and embeddings, ``(n, length, characters, character_dim)``.

        Raises:
            InputError: the parser does not read words by their characters alone.
        """
        rows = torch.from_numpy(words.astype(np.int64)).to(self.parser.device).flatten()
        flat = torch.from_numpy(gradients).flatten(0, 1)
        slopes, vectors = character_gradients(spelling(self.parser), rows, flat)
        shape = (*words.shape, *slopes.shape[1:])
        return _numpy(slopes).reshape(shape), _numpy(vectors).reshape(shape)

    def character_vectors(self, rows: NDArray[np.int32]) -> NDArray[np.float64]:
        """Embeddings of the characters of words, ``(rows, characters, character_dim)``."""
        return _numpy(character_vectors(spelling(self.parser), rows))

    @contextmanager
    def evaluating(self) -> Iterator[None]:
        """Give evaluation mode without gradients; afterwards every module's mode is what it was."""
        self._vectors = InputVectors(self.parser)
        device = self.parser.device.type
        mixed = torch.autocast(device, torch.bfloat16) if self._mixed else nullcontext()
        with evaluating(self.parser), mixed:
            yield


def _numpy(tensor: torch.Tensor) -> NDArray[np.float64]:
    array: NDArray[np.float64] = tensor.double().cpu().numpy()
    return array
