"""One sentence's search space, and the states that live in it.

A state is `int16[words]`: 0 keeps the original word, k puts its k-th candidate there (counted from
1), `UNKNOWN` the victim's unknown word, `DELETED` no word at all. Searches handle nothing else;
strings return at the end.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from robustparse.data.reading import Reading
from robustparse.types import Example, Ids, Indices, Mask, Sentence, States

UNKNOWN = -1
"""The choice that puts the victim's unknown word at a position."""

DELETED = -2
"""The choice that takes the word at a position out, to see what it is worth; never an outcome."""

State = States


@dataclass(frozen=True, eq=False)
class Problem:
    """Everything a search may do to one sentence.

    Positions are those of the words that the victim reads; `place` says where they are in the text.

    Args:
        example: the original sentence; random choices follow from (seed, its id).
        reading: the text that is reworded, and what the victim reads of it.
        original: the victim's rows of the original words, `int32 (words,)`.
        marks: the victim's ids of the original's marks, `int32 (words,)`.
        eligible: which words may be changed, `bool (words,)`.
        ptr: candidates proposed for word i are `ptr[i]:ptr[i + 1]`, `int64 (words + 1,)`.
        rows: the victim's rows of all candidates, `int32 (candidates,)`.
        words: the candidates as they stand in the text, aligned with `rows`.
        gold: what the goal compares the victim's answers with (`Goal.gold`).
        counted: which words enter the scores, `bool (words,)`, decided on the original sentence.
        once: whether no changed word may be changed again (`SentenceConstraint.once`).
        most_edits: words that constraints let differ from the original's.
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
        """The text that is reworded, as it is."""
        return self.reading.sentence

    def place(self, position: int) -> int:
        """Return where the text has the word of a position that may be changed."""
        return int(self.reading.places[position])

    def start(self) -> State:
        """Return the sentence as it is."""
        return np.zeros(len(self.original), dtype=np.int16)

    def changeable(self, states: States) -> Mask:
        """Where a state may still be changed if every word is changed once at most.

        These are the eligible words that stand as they were and have candidates. Shape as `states`,
        `(words,)` or `(n, words)`.
        """
        changeable: Mask = (np.diff(self.ptr) > 0) & (states == 0)
        return changeable

    def word(self, state: State, position: int) -> str:
        """Return the text's word at a position of a state, neither unknown nor deleted."""
        choice = int(state[position])
        if not choice:
            return self.sentence.words[self.place(position)]
        return self.words[int(self.ptr[position]) + choice - 1]

    def text(self, state: State) -> tuple[str, ...]:
        """Return the words of the text in a state.

        Raises:
            ValueError: the state holds the unknown word, which has no spelling, or lacks a word.
        """
        if (state < 0).any():
            raise ValueError(f"state {state.tolist()} holds the unknown word or lacks one: no text")
        words = list(self.sentence.words)
        for position in np.flatnonzero(state).tolist():
            words[self.place(position)] = self.word(state, position)
        return tuple(words)


def one_changed(state: State, positions: Indices, choice: int) -> States:
    """Return the state with one choice at only one position each, `(positions, words)`."""
    states = np.repeat(state[None], len(positions), axis=0)
    states[np.arange(len(positions)), positions] = choice
    return states
