"""The answer to a gradient request: the gradients of a state's loss and the embeddings of words."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from robustparse.types import Floats, Ids

_AT_ONCE = 512  # vectors per product, few enough to stay in the processor's cache


class Embeddings:
    """Looks up embeddings, from rows `(n,)` to `(n, dim)`, and caches their squared lengths."""

    def __init__(self, look_up: Callable[[Ids], Floats]) -> None:
        self.of = look_up
        self._squares: Floats = np.zeros(0)

    def products(self, rows: Ids, target: Floats) -> tuple[Floats, Floats]:
        """Return inner products with a target `(dim,)` and squared lengths of rows, `(n,)` each.

        Products of equal vectors may differ by rounding.
        """
        products, squares = np.empty(len(rows)), np.empty(len(rows))
        if (size := int(rows.max(initial=-1)) + 1) > len(self._squares):
            self._squares = np.pad(
                self._squares, (0, 2 * size - len(self._squares)), constant_values=np.nan
            )
        for begin in range(0, len(rows), _AT_ONCE):
            chunk = slice(begin, begin + _AT_ONCE)
            vectors = self.of(rows[chunk])
            products[chunk] = vectors @ target
            squares[chunk] = self._squares[rows[chunk]]
            if np.isnan(squares[chunk]).any():
                squares[chunk] = self._squares[rows[chunk]] = np.square(vectors).sum(axis=1)
        return products, squares


@dataclass(frozen=True, eq=False)
class WordGradients:
    """The gradients of a state's loss; following them makes the victim err.

    Args:
        at_words: gradients at the words' embeddings, `float64 (words, dim)`.
        vectors: these embeddings, `float64 (words, dim)`.
        norms: L2 norms of the gradients, over all pieces of a word, `float64 (words,)`.
        embeddings: the embeddings of all rows.
        loss: the loss, negated if the goal lowers it (`Goal.wants_gold`); NaN unless requested.
    """

    at_words: Floats
    vectors: Floats
    norms: Floats
    embeddings: Embeddings
    loss: float = field(default=math.nan, kw_only=True)


@dataclass(frozen=True, eq=False)
class CharacterGradients(WordGradients):
    """Word gradients with the gradients at the characters' embeddings.

    Args:
        at_characters: `float64 (words, characters, dim)`, 0 beyond a word's last character.
        character_vectors: the embeddings of the characters, of the same shape.
        spell: looks up the characters' embeddings, from rows `(n,)` to `(n, characters, dim)`;
            zeros beyond a word's last character and for unknown characters.
    """

    at_characters: Floats
    character_vectors: Floats
    spell: Callable[[Ids], Floats]
