"""The answer to a request for a gradient: where the loss of a state rises, and how words embed."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from robustparse.types import Floats, Ids

_AT_ONCE = 512  # vectors multiplied in one go: a product is quick while they are in the cache


class Embeddings:
    """Looks embeddings of rows up, `(n,)` to `(n, dim)`, and keeps their squared lengths."""

    def __init__(self, look_up: Callable[[Ids], Floats]) -> None:
        self.of = look_up
        self._squares: Floats = np.zeros(0)

    def products(self, rows: Ids, target: Floats) -> tuple[Floats, Floats]:
        """Inner products of rows `(n,)` and a vector `(dim,)`, and squared lengths, both `(n,)`.

        Equal vectors may have products that differ by rounding.
        """
        products, squares = np.empty(len(rows)), np.empty(len(rows))
        if (size := int(rows.max(initial=-1)) + 1) > len(self._squares):
            self._squares = np.pad(
                self._squares, (0, 2 * size - len(self._squares)), constant_values=np.nan
            )
        for begin in range(0, len(rows), _AT_ONCE):
            some = slice(begin, begin + _AT_ONCE)
            vectors = self.of(rows[some])
            products[some] = vectors @ target
            squares[some] = self._squares[rows[some]]
            if np.isnan(squares[some]).any():
                squares[some] = self._squares[rows[some]] = np.square(vectors).sum(axis=1)
        return products, squares


@dataclass(frozen=True, eq=False)
class WordGradients:
    """The gradients of a state's loss; they point to where the victim errs.

    Args:
        at_words: towards the words' embeddings, `float64 (words, dim)`.
        vectors: these embeddings, `float64 (words, dim)`.
        norms: of the gradients, L2, over all pieces of a word, `float64 (words,)`.
        embeddings: of all rows.
        loss: the loss itself, or minus the loss if the victim is to come nearer to what the goal
            wants (`Goal.wants_gold`); not a number unless the request asks for it.
    """

    at_words: Floats
    vectors: Floats
    norms: Floats
    embeddings: Embeddings
    loss: float = field(default=math.nan, kw_only=True)


@dataclass(frozen=True, eq=False)
class CharacterGradients(WordGradients):
    """The same, and the gradients towards characters.

    Args:
        at_characters: `float64 (words, characters, dim)`, 0 beyond a word's last character.
        character_vectors: the embeddings of the characters, of the same shape.
        spell: looks those of rows up, `(n,)` to `(n, characters, dim)`; zeros beyond a word's last
            character and for an unknown character.
    """

    at_characters: Floats
    character_vectors: Floats
    spell: Callable[[Ids], Floats]
