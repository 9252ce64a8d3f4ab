"""The population shared by genetic search and particle swarm: members as arrays, random draws."""

import numpy as np

from robustparse.attacks.search.requests import Judged
from robustparse.types import Floats, Indices, Mask, States

_REDRAWS = 20  # as in TextAttack, after the first draw


class Population(Judged):
    """States `(members, words)` with their verdicts."""

    def __len__(self) -> int:
        return len(self.scores)

    def select(self, members: Indices) -> "Population":
        """Return copies of some members; a member may be selected more than once."""
        return Population(self.states[members], self.scores[members], self.success[members])

    def put(self, members: Indices, other: Judged, rows: Indices) -> None:
        """Replace some members by rows of another population or answer."""
        self.states[members] = other.states[rows]
        self.scores[members] = other.scores[rows]
        self.success[members] = other.success[rows]


def draw(weights: Floats, rng: np.random.Generator) -> Indices:
    """Draw one column per row in proportion to the weights `(rows, columns)`, `(rows,)`.

    Every row must have a weight above 0.
    """
    cumulative = np.cumsum(weights, axis=1)
    points = rng.random(len(weights)) * cumulative[:, -1]
    # Rounding may raise a point to the total; it then selects the last column with a weight.
    last = weights.shape[1] - 1 - (weights[:, ::-1] > 0).argmax(axis=1)
    columns: Indices = np.minimum((cumulative <= points[:, None]).sum(axis=1), last)
    return columns


def redraw_repeats(
    of_second: Mask, first: States, second: States, rng: np.random.Generator
) -> Mask:
    """Redraw, in place, the words of children that equal a parent.

    A child is compared with its first parent, or with the second if the first is unchanged. Two
    unchanged parents may have an unchanged child. Arguments are `(children, words)`.

    Returns:
        Which children still equal the parent after all redraws, `(children,)`.
    """
    changed = (first != 0).any(axis=1)
    parent = np.where(changed[:, None], first, second)
    checked = changed | (second != 0).any(axis=1)
    differ = (first != second).any(axis=1)

    def same() -> Mask:
        children = np.where(of_second, second, first)
        equal: Mask = (children == parent).all(axis=1) & checked
        return equal

    for _ in range(_REDRAWS):
        again = np.flatnonzero(same() & differ)
        if not len(again):
            break
        of_second[again] = rng.random((len(again), first.shape[1])) < 0.5
    return same()
