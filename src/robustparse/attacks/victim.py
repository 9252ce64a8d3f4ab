"""What an attack asks of the parser it attacks: a protocol, so that attacks know no parser."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray


class Victim(Protocol):
    """A parser under attack.

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
    ) -> tuple[NDArray[np.int16], NDArray[np.int16]]:
        """Parse n texts in one forward pass.

        Args:
            words: rows, `(n, length)`, 0 beyond a text's length.
            tags: tag ids, `(n, length)`, 0 beyond a text's length.
            lengths: words of each text, `(n,)`.

        Returns:
            Heads in 0..length (0 is ROOT) and label ids, both `(n, length)`; what stands beyond a
            text's length is undefined.
        """
        ...

    def evaluating(self) -> AbstractContextManager[None]:
        """Evaluation mode without gradients; on exit the victim is as it was found."""
        ...
