"""A search's question how similar changed sentences are to what they were.

Jin et al. 2020 (TextFooler, algorithm 1) ask it of the candidates of a word that change the answer:
the most similar one is taken.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robustparse.attacks.constraints.sentence_constraint import Edit
from robustparse.attacks.problem import Problem, State


@dataclass(eq=False, slots=True)
class Compare:
    """Ask for the similarity of changes of one word each, by the constraint that measures one.

    Only what a search compares is measured, and nothing where searches do not ask. Nothing is
    charged.

    Args:
        state: before the change, `int16 (words,)`, without a deleted word.
        states: each with one more word changed, or changed otherwise, `int16 (n, words)`.
    """

    state: State
    states: NDArray[np.int16]

    def edits(self, problem: Problem) -> list[Edit]:
        """Return the changes, as constraints see them."""
        current = problem.text(self.state)
        positions = (self.states != self.state).argmax(axis=1).tolist()
        return [
            Edit(problem.sentence, current, position, problem.word(state, position))
            for state, position in zip(self.states, positions, strict=True)
        ]
