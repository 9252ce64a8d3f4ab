"""The answer to a request for a gradient: where the loss of a state rises, and how words embed."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Slope:
    """The gradient of a state's loss; it points to where the victim errs.

    Args:
        gradient: towards the words' embeddings, `float64 (words, dim)`.
        vectors: these embeddings, `float64 (words, dim)`.
        norms: of the gradient, L2, over all pieces of a word, `float64 (words,)`.
        embed: looks the embeddings of rows up, `(n,)` to `(n, dim)`.
    """

    gradient: NDArray[np.float64]
    vectors: NDArray[np.float64]
    norms: NDArray[np.float64]
    embed: Callable[[NDArray[np.int32]], NDArray[np.float64]]


@dataclass(frozen=True, eq=False)
class SpelledSlope(Slope):
    """The same, and the gradient towards characters.

    Args:
        character_gradient: `float64 (words, characters, dim)`, 0 beyond a word's last character.
        character_vectors: the embeddings of the characters, of the same shape.
        spell: looks those of rows up, `(n,)` to `(n, characters, dim)`; zeros beyond a word's last
            character and for an unknown character.
    """

    character_gradient: NDArray[np.float64]
    character_vectors: NDArray[np.float64]
    spell: Callable[[NDArray[np.int32]], NDArray[np.float64]]
