"""Balls of deltas with operations ``draw`` (a random start), ``normalize`` and ``project``.

A ball contains the deltas whose norm is at most epsilon. The norm is that of a sentence's whole
delta (Miyato et al. 2017, section 3) or that of each unit (word or word piece). Rows without a unit
(ROOT, padding) are zero and stay zero.
"""

from typing import Literal, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from robustparse.errors import check_choice

Norm = Literal["l2", "linf"]
Per = Literal["sentence", "token"]


class L2Ball:
    """The Euclidean ball.

    Args:
        per: whether the norm is that of a ``sentence``'s delta or of each ``token``'s delta.
    """

    def __init__(self, per: Per) -> None:
        self.per = per
        self._dims = (1, 2) if per == "sentence" else (2,)

    def draw(self, rng: np.random.Generator, units: int, dim: int) -> NDArray[np.float64]:
        """Draw uniformly from the ball of epsilon 1, ``(units, dim)``."""
        # A uniform direction, and a radius r such that r to the power of the dimension is uniform.
        direction = rng.standard_normal((units, dim))
        if self.per == "sentence":
            norm = np.linalg.norm(direction)
            return np.asarray(direction / norm * rng.random() ** (1.0 / (units * dim)))
        norms = np.linalg.norm(direction, axis=1, keepdims=True)
        return np.asarray(direction / norms * rng.random((units, 1)) ** (1.0 / dim))

    def half_side(self, units: int, dim: int) -> float:
        """Return half the side of the largest cube in the ball of epsilon 1."""
        return float((units * dim if self.per == "sentence" else dim) ** -0.5)

    def normalize(self, gradient: Tensor) -> Tensor:
        """Scale a gradient ``(batch, units, dim)`` to norm 1; zeros stay zero."""
        # Multiplying by the inverse of the smallest number, which is infinite, would give NaN.
        return gradient / self._norm(gradient).clamp(min=torch.finfo(gradient.dtype).tiny)

    def project(self, delta: Tensor, epsilon: float) -> Tensor:
        """Return the nearest deltas in the ball, ``(batch, units, dim)``."""
        return delta * (epsilon / self._norm(delta).clamp(min=epsilon))

    def _norm(self, delta: Tensor) -> Tensor:
        norm: Tensor = torch.linalg.vector_norm(delta, dim=self._dims, keepdim=True)
        return norm


class LinfBall:
    """The ball of the maximum norm, which is the same by sentence and by token; see `L2Ball`."""

    def draw(self, rng: np.random.Generator, units: int, dim: int) -> NDArray[np.float64]:
        """Draw every number uniformly."""
        return rng.uniform(-1.0, 1.0, (units, dim))

    def half_side(self, units: int, dim: int) -> float:
        """Return 1: the ball is a cube."""
        return 1.0

    def normalize(self, gradient: Tensor) -> Tensor:
        """Return the gradient's signs."""
        return gradient.sign()

    def project(self, delta: Tensor, epsilon: float) -> Tensor:
        """Clip every number at epsilon."""
        return delta.clamp(-epsilon, epsilon)


Ball = L2Ball | LinfBall


def ball(norm: Norm, per: Per) -> Ball:
    """Return the ball of a norm.

    Raises:
        InputError: there is no norm of that name.
    """
    check_choice("gradient adversary: norm", norm, get_args(Norm))
    check_choice("gradient adversary: per", per, get_args(Per))
    return L2Ball(per) if norm == "l2" else LinfBall()
