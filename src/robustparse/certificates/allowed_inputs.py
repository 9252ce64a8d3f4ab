"""The inputs that a substitution table allows for one sentence, as its victim reads them.

An input is allowed at d edits if it differs from the sentence in at most d positions, and each
changed position holds a substitute of its word. The victim reads words as rows of its vocabulary.
Substitutes with the same row, such as those with the same code of a robust encoding, count as one,
and a substitute with the row of the original word does not count. The number of inputs is therefore
the product of the numbers of distinct rows at all positions (Jones et al. 2020, section 3).
"""

from collections.abc import Iterator
from itertools import combinations, islice, product
from typing import Literal

import numpy as np

from robustparse.attacks.problem import Problem
from robustparse.errors import InputError
from robustparse.types import States

Edits = int | Literal["all"]
"""A number of edits, or any number of them."""


class AllowedInputs:
    """The distinct inputs that are allowed for a sentence.

    Args:
        problem: the sentence; its candidates are the allowed substitutes.

    Attributes:
        changeable: the number of positions with a choice, which is the largest number of edits.
        counts: `counts[k]` is the number of inputs that differ from the original in exactly k
            positions, `(changeable + 1,)`.
    """

    def __init__(self, problem: Problem) -> None:
        self._words = len(problem)
        self._choices = [_choices(problem, position) for position in range(len(problem))]
        self._positions = [i for i, choices in enumerate(self._choices) if choices]
        self.changeable = len(self._positions)
        self.counts = [1] + [0] * self.changeable
        for last, position in enumerate(self._positions, start=1):
            for edits in range(last, 0, -1):  # each edit chooses one of the position's choices
                self.counts[edits] += self.counts[edits - 1] * len(self._choices[position])

    def edits(self, edits: Edits) -> int:
        """Return how many positions can change at most with this number of edits."""
        return self.changeable if edits == "all" else min(edits, self.changeable)

    def count(self, edits: Edits) -> int:
        """Return how many inputs are allowed at this number of edits, the original included."""
        return sum(self.counts[: self.edits(edits) + 1])

    def states(self, edits: int, at_once: int, most: int) -> Iterator[States]:
        """Yield the inputs with exactly this number of edits, in a fixed order.

        Positions come from left to right, the best substitutes first. If the victim reads several
        substitutes as one row, the state has the best of them.

        Args:
            edits: how many positions differ from the original.
            at_once: largest number of states in an array.
            most: largest number of states in all.

        Yields:
            States `(n, words)`.
        """
        changes = islice(self._changes(edits), most)
        while chunk := list(islice(changes, at_once)):
            changed = np.array(chunk, dtype=np.int64).reshape(len(chunk), 2, edits)
            states = np.zeros((len(chunk), self._words), dtype=np.int16)
            np.put_along_axis(states, changed[:, 0], changed[:, 1].astype(np.int16), axis=1)
            yield states

    def _changes(self, edits: int) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
        """Yield the positions and the choices of each input with this number of edits."""
        for positions in combinations(self._positions, edits):
            for choices in product(*(self._choices[position] for position in positions)):
                yield positions, choices


def _choices(problem: Problem, position: int) -> list[int]:
    """Return the first choice of each row at a position, except the row of the original."""
    begin, end = problem.ptr[position : position + 2].tolist()
    first = {int(problem.original[position]): 0}
    for choice, row in enumerate(problem.rows[begin:end].tolist(), start=1):
        first.setdefault(row, choice)
    return [*first.values()][1:]


def checked_edits(edits: Edits) -> Edits:
    """Return a number of edits if it is valid.

    Raises:
        InputError: it is neither a number from 1 nor `all`.
    """
    if edits == "all" or (type(edits) is int and edits >= 1):
        return edits
    raise InputError(f"got {edits!r}", key="edits", expected="a number from 1, or all")
