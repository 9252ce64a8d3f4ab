"""What an attack asks of the model it attacks: a protocol, so that attacks know no parser.

What a victim says about n texts are its predictions: arrays of n rows. What stands in them is
between the victim and the goal that judges them: heads and labels of a parser, one column a word,
or the probabilities of a classifier, one column a class.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Predictions = tuple[NDArray[Any], ...]
"""What a victim says about n texts: arrays of n rows."""


def joined(parts: Sequence[Predictions]) -> Predictions:
    """The predictions of all parts, in their order; there is one part at least."""
    if len(parts) == 1:
        return parts[0]
    return tuple(map(np.concatenate, zip(*parts, strict=True)))


class Victim(Protocol):
    """A model under attack.

    It numbers words in a growing table of its own: a row is what it needs of one word form.
    """

    @property
    def unknown(self) -> int:
        """The row that stands for the unknown word."""
        ...

    @property
    def training_tags(self) -> Mapping[str, str]:
        """Lower-cased word to its most frequent Penn tag in training (words seen twice or more)."""
        ...

    def intern(self, words: Sequence[str]) -> NDArray[np.int32]:
        """Rows of the words, `(len(words),)`."""
        ...

    def intern_tags(self, tags: Sequence[str]) -> NDArray[np.int32]:
        """Tag ids, `(len(tags),)`; only ever the tags of the original sentence."""
        ...

    def label_ids(self, labels: Sequence[str]) -> NDArray[np.int32]:
        """Label ids, `(len(labels),)`; -1 for a label never seen in training."""
        ...

    def label_names(self, ids: NDArray[Any]) -> list[str]:
        """Names of label ids."""
        ...

    def parse(
        self, words: NDArray[np.int32], tags: NDArray[np.int32], lengths: NDArray[np.int32]
    ) -> Predictions:
        """Read n texts in one forward pass.

        Args:
            words: rows, `(n, length)`, 0 beyond a text's length.
            tags: tag ids, `(n, length)`, 0 beyond a text's length.
            lengths: words of each text, `(n,)`.

        Returns:
            A parser: heads in 0..length (0 is ROOT) and label ids, both `(n, length)`; what stands
            beyond a text's length is undefined. A classifier: the probabilities of its classes,
            `float64 (n, classes)`, alone.
        """
        ...

    def evaluating(self) -> AbstractContextManager[None]:
        """Evaluation mode without gradients; on exit the victim is as it was found."""
        ...


@runtime_checkable
class LexicalVictim(Victim, Protocol):
    """A victim that tells which words it knows."""

    def embedded(self, words: Sequence[str]) -> NDArray[np.bool_] | None:
        """Which words have an embedding of their own, `(words,)`; None if no word has one."""
        ...

    def seen_in_training(self, words: Sequence[str]) -> NDArray[np.bool_]:
        """Which words it learnt from in training, in whatever casing, `(words,)`."""
        ...


@runtime_checkable
class DifferentiableVictim(Victim, Protocol):
    """A victim that white-box attacks see into."""

    def gradient(
        self,
        words: NDArray[np.int32],
        tags: NDArray[np.int32],
        lengths: NDArray[np.int32],
        gold: Sequence[Any],
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Gradients of n texts' losses towards their word embeddings.

        Args:
            words: rows, `(n, length)`, 0 beyond a text's length.
            tags: tag ids, `(n, length)`.
            lengths: words of each text, `(n,)`.
            gold: what the goal compares the predictions with, one a text (`Goal.gold`).

        Returns:
            The gradients and the embeddings, both `(n, length, dim)`; what stands beyond a text's
            length is undefined.
        """
        ...
