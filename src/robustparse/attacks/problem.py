"""The search space of one sentence, and its states.

A state is an `int16[words]` array with one choice per position: 0 keeps the original word, k puts
the k-th candidate there (counted from 1), `UNKNOWN` puts the victim's unknown word there, and
`DELETED` removes the word. Searches handle only states; strings are made again at the end.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from robustparse.data.reading import Reading
from robustparse.types import Example, Ids, Indices, Mask, Sentence, States

UNKNOWN = -1
"""The choice that puts the victim's unknown word at a position."""

DELETED = -2
"""The choice that removes the word at a position, to measure its importance; never an outcome."""

State = States


@dataclass(frozen=True, eq=False)
class Problem:
    """All changes that a search may make to one sentence.

    Positions count the words that the victim reads; `text_position` converts one into a position in
    the text.

    Args:
        example: the original sentence; random choices follow from (seed, id).
        reading: the text to reword, and the words that the victim reads for it.
        original: the victim's rows of the original words, `int32 (words,)`.
        marks: the victim's ids of the original's marks, `int32 (words,)`.
        eligible: which words may be changed, `bool (words,)`.
        ptr: candidates of word i are `ptr[i]:ptr[i + 1]`, `int64 (words + 1,)`.
        rows: the victim's rows of all candidates, `int32 (candidates,)`.
        words: the candidates as strings, aligned with `rows`.
        gold: what the goal compares the victim's predictions with (`Goal.gold`).
        counted: which words enter the scores, `bool (words,)`, decided on the original sentence.
        once: whether a changed word may not be changed again (`SentenceConstraint.once`).
        most_edits: maximum number of changed words that the constraints allow.
    """

    example: Example
    reading: Reading
    original: Ids
    marks: Ids
    eligible: Mask
    ptr: Indices
    rows: Ids
    words: tuple[str, ...]
    gold: Any
    counted: Mask
    most_edits: int
    once: bool = False

    def __len__(self) -> int:
        return len(self.original)

    @property
    def id(self) -> int:
        """The example's id."""
        return self.example.id

    @property
    def sentence(self) -> Sentence:
        """The original text."""
        return self.reading.sentence

    def text_position(self, position: int) -> int:
        """Return the position in the text of a word that may be changed."""
        return int(self.reading.positions[position])

    def start(self) -> State:
        """Return the state of the unchanged sentence."""
        return np.zeros(len(self.original), dtype=np.int16)

    def changeable(self, states: States) -> Mask:
        """Tell which unchanged words have candidates, in the shape of `states`.

        States are `(words,)` or `(n, words)`.
        """
        changeable: Mask = (np.diff(self.ptr) > 0) & (states == 0)
        return changeable

    def word(self, state: State, position: int) -> str:
        """Return the word at a position of a state; it must be neither unknown nor deleted."""
        choice = int(state[position])
        if not choice:
            return self.sentence.words[self.text_position(position)]
        return self.words[int(self.ptr[position]) + choice - 1]

    def text(self, state: State) -> tuple[str, ...]:
        """Return the words of the text in a state.

        Raises:
            ValueError: the state holds the unknown word, which has no spelling, or a deleted word.
        """
        if (state < 0).any():
            raise ValueError(
                f"state {state.tolist()} has an unknown word or a deleted one: not a text"
            )
        words = list(self.sentence.words)
        for position in np.flatnonzero(state).tolist():
            words[self.text_position(position)] = self.word(state, position)
        return tuple(words)


def one_changed(state: State, positions: Indices, choice: int) -> States:
    """Copy a state once per position and put the choice there, `(positions, words)`."""
    states = np.repeat(state[None], len(positions), axis=0)
    states[np.arange(len(positions)), positions] = choice
    return states
