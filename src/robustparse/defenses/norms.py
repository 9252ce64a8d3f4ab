"""Balls that deltas stay in: a random start (``draw``), ``normalize``, ``project``.

A ball holds the deltas whose norm is at most epsilon: the norm of a sentence's whole delta (Miyato
et al. 2017, section 3) or that of each of its units, words or word pieces. Rows without a unit
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
    """Euclidean.

    Args:
        per: what has the norm: the delta of a ``sentence``, or of each ``token``.
    """

    def __init__(self, per: Per) -> None:
        self.per = per
        self._dims = (1, 2) if per == "sentence" else (2,)

    def draw(self, rng: np.random.Generator, units: int, dim: int) -> NDArray[np.float64]:
        """Draw uniformly from the ball of epsilon 1, ``(units, dim)``."""
        # A direction, and a radius whose power of the dimension is uniform.
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
        """Return the direction of norm 1 along which a linear function grows fastest.

        Args:
            gradient: ``(batch, units, dim)`` of that function; where it is zero, the result is.
        """
        # Multiplying by one over the smallest number, which is infinite, would turn zero into NaN.
        return gradient / self._norm(gradient).clamp(min=torch.finfo(gradient.dtype).tiny)

    def project(self, delta: Tensor, epsilon: float) -> Tensor:
        """Return the nearest deltas in the ball, ``(batch, units, dim)``."""
        return delta * (epsilon / self._norm(delta).clamp(min=epsilon))

    def _norm(self, delta: Tensor) -> Tensor:
        norm: Tensor = torch.linalg.vector_norm(delta, dim=self._dims, keepdim=True)
        return norm


class LinfBall:
    """The largest absolute value, which is the same ball by sentence and by token; see `L2Ball`."""

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
        InputError: no norm has that name.
    """
    check_choice("gradient adversary: norm", norm, get_args(Norm))
    check_choice("gradient adversary: per", per, get_args(Per))
    return L2Ball(per) if norm == "l2" else LinfBall()
