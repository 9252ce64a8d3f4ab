"""What the population-based searches share: members as arrays, and weighted draws."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(eq=False)
class Population:
    """States with their scores.

    Args:
        states: `int16 (members, words)`.
        scores: `float64 (members,)`.
        success: `bool (members,)`.
    """

    states: NDArray[np.int16]
    scores: NDArray[np.float64]
    success: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.scores)

    def part(self, members: NDArray[np.int64]) -> "Population":
        """Some members, free to change; one may come more than once."""
        return Population(self.states[members], self.scores[members], self.success[members])

    def best(self) -> int:
        """The member with the highest score among those that succeed, or among all if none does.

        The first one on ties.
        """
        among = self.success if self.success.any() else np.ones(len(self), dtype=np.bool_)
        return int(np.where(among, self.scores, -np.inf).argmax())

    def put(self, where: NDArray[np.int64], other: "Population", rows: NDArray[np.int64]) -> None:
        """Replace some members by rows of another population."""
        self.states[where] = other.states[rows]
        self.scores[where] = other.scores[rows]
        self.success[where] = other.success[rows]


def draw(weights: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.int64]:
    """One column of each row in proportion to its weights `(rows, columns)`, `(rows,)`.

    Every row has a weight above 0.
    """
    heights = np.cumsum(weights, axis=1)
    points = rng.random(len(weights)) * heights[:, -1]
    # A point may be rounded up to the last height: then the last column with a weight is meant.
    last = weights.shape[1] - 1 - (weights[:, ::-1] > 0).argmax(axis=1)
    columns: NDArray[np.int64] = np.minimum((heights <= points[:, None]).sum(axis=1), last)
    return columns
