"""What the population-based searches work with: members as arrays, and draws."""

import numpy as np

from robustparse.attacks.search.requests import Judged
from robustparse.types import Floats, Indices, Mask, States

_REDRAWS = 20  # as in TextAttack, after the first draw


class Population(Judged):
    """States `(members, words)` with the verdicts on them."""

    def __len__(self) -> int:
        return len(self.scores)

    def part(self, members: Indices) -> "Population":
        """Return some members, free to change; one may come more than once."""
        return Population(self.states[members], self.scores[members], self.success[members])

    def put(self, where: Indices, other: Judged, rows: Indices) -> None:
        """Replace some members by rows of others."""
        self.states[where] = other.states[rows]
        self.scores[where] = other.scores[rows]
        self.success[where] = other.success[rows]


def draw(weights: Floats, rng: np.random.Generator) -> Indices:
    """One column of each row in proportion to its weights `(rows, columns)`, `(rows,)`.

    Every row has a weight above 0.
    """
    heights = np.cumsum(weights, axis=1)
    points = rng.random(len(weights)) * heights[:, -1]
    # A point may be rounded up to the last height: then the last column with a weight is meant.
    last = weights.shape[1] - 1 - (weights[:, ::-1] > 0).argmax(axis=1)
    columns: Indices = np.minimum((heights <= points[:, None]).sum(axis=1), last)
    return columns


def redraw_repeats(
    of_second: Mask, first: States, second: States, rng: np.random.Generator
) -> Mask:
    """Redraw, in place, the words of children that are no different from a parent.

    The parent is the first one if it is changed at all, else the second; two unchanged parents may
    have an unchanged child. Arguments are `(children, words)`.

    Returns:
        Which children are still the same after all tries, `(children,)`.
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
