"""Where a gradient points to, and which embeddings are near it (Zheng et al. 2020, section 3.2)."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from robustparse.attacks.search.white_box.gradients import Embeddings

Distance = Literal["euclidean", "cosine"]

_ROUNDING = 1e-9  # relative, far above that of a product of a few thousand numbers


def target_of(
    vector: NDArray[np.float64], gradient: NDArray[np.float64], alpha: float
) -> NDArray[np.float64]:
    """Return the target vector, `(dim,)`; a request's gradient is that of -F and points the other
    way.
    """
    target: NDArray[np.float64] = vector + alpha * gradient / np.linalg.norm(gradient)
    return target


def ranks_of(
    embeddings: Embeddings,
    rows: NDArray[np.int32],
    target: NDArray[np.float64],
    distance: Distance,
) -> tuple[NDArray[np.float64], float]:
    """Numbers of rows `(n,)` in the order of their distances to the target, without differences.

    Returns:
        ||v||^2 - 2 v t, or minus the cosine, `(n,)`, and by how much rounding may mix them up.
    """
    products, squares = embeddings.products(rows, target)
    length = float(target @ target)
    if distance == "euclidean":
        return squares - 2.0 * products, _ROUNDING * (float(squares.max()) + length)
    lengths = np.sqrt(squares * length)
    return -np.divide(products, lengths, out=np.zeros(len(rows)), where=lengths > 0), _ROUNDING


def distances_to(
    vectors: NDArray[np.float64], target: NDArray[np.float64], distance: Distance
) -> NDArray[np.float64]:
    """From vectors `(n, dim)` to the target, `(n,)`; a zero vector has no direction: cosine 0."""
    distances: NDArray[np.float64]
    if distance == "euclidean":
        away = vectors - target
        distances = np.sqrt(np.einsum("ij,ij->i", away, away))
        return distances
    lengths = np.linalg.norm(vectors, axis=1) * np.linalg.norm(target)
    products = np.einsum("ij,j->i", vectors, target)  # the same for equal rows, unlike BLAS
    cosines = np.divide(products, lengths, out=np.zeros(len(vectors)), where=lengths > 0)
    distances = 1.0 - cosines
    return distances
