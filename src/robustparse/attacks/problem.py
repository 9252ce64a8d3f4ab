"""One sentence's search space, and the states that live in it.

A state is `int16[words]`: 0 keeps the original word, k puts its k-th candidate there (counted from
1), `UNKNOWN` the victim's unknown word. Searches handle nothing else; strings return at the end.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robustparse.types import Sentence

UNKNOWN = -1
"""The choice that puts the victim's unknown word at a position."""

State = NDArray[np.int16]


@dataclass(frozen=True, eq=False)
class Parse:
    """A victim's answer for one text: heads `(words,)` (0 is ROOT) and label ids `(words,)`."""

    heads: NDArray[np.int16]
    labels: NDArray[np.int16]


@dataclass(frozen=True, eq=False)
class Problem:
    """Everything a search may do to one sentence.

    Args:
        id: the example's id; random choices follow from (seed, id).
        sentence: the original sentence.
        original: the victim's rows of the original words, `int32 (words,)`.
        tags: the victim's ids of the original tags, `int32 (words,)`.
        unknown: the victim's row of the unknown word.
        eligible: which words may be changed, `bool (words,)`.
        ptr: candidates proposed for word i are `ptr[i]:ptr[i + 1]`, `int64 (words + 1,)`.
        rows: the victim's rows of all candidates, `int32 (candidates,)`.
        words: the candidates as strings, aligned with `rows`.
        heads: gold heads, `int16 (words,)`.
        labels: the victim's ids of the gold labels, `int32 (words,)`, -1 for an unseen label.
        counted: which words enter the scores, `bool (words,)`, decided on the original sentence.
    """

    id: int
    sentence: Sentence
    original: NDArray[np.int32]
    tags: NDArray[np.int32]
    unknown: int
    eligible: NDArray[np.bool_]
    ptr: NDArray[np.int64]
    rows: NDArray[np.int32]
    words: tuple[str, ...]
    heads: NDArray[np.int16]
    labels: NDArray[np.int32]
    counted: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.original)

    def start(self) -> State:
        """The sentence as it is."""
        return np.zeros(len(self.original), dtype=np.int16)

    def table(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """A look-up table from choices to the victim's rows.

        Returns:
            `origin (words,)` and `rows (candidates + 2 * words,)` such that the row of choice k at
            word i is `rows[origin[i] + k]`, for k = `UNKNOWN` too.
        """
        origin = self.ptr[:-1] + 2 * np.arange(len(self.original)) + 1
        rows = np.empty(len(self.rows) + 2 * len(self.original), dtype=np.int32)
        rows[origin + UNKNOWN] = self.unknown
        rows[origin] = self.original
        position = np.repeat(np.arange(len(self.original)), np.diff(self.ptr))
        rows[np.arange(len(self.rows)) + 2 * position + 2] = self.rows
        return origin, rows

    def text(self, state: State) -> tuple[str, ...]:
        """The words of a state.

        Raises:
            ValueError: the state holds the unknown word, which has no spelling.
        """
        if (state < 0).any():
            raise ValueError(f"state {state.tolist()} holds the unknown word, which has no text")
        words = list(self.sentence.words)
        for position in np.flatnonzero(state).tolist():
            words[position] = self.words[int(self.ptr[position]) + int(state[position]) - 1]
        return tuple(words)
