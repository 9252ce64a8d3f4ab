"""The search space of one sentence, and its states.

A candidate is one word or, if its generator allows it (`CandidateGenerator.spans`), a phrase:
several words, or none. A merged candidate also replaces the next word.

A state is an `int16[words]` array with one choice per position: 0 keeps the original word, k puts
the k-th candidate there (counted from 1), `UNKNOWN` puts the victim's unknown word there, and
`DELETED` removes the word. Searches handle only states; strings are made again at the end.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from robustparse.attacks.candidates.generator import Merged
from robustparse.data.reading import Reading
from robustparse.types import Example, Ids, Indices, Mask, Sentence, States

UNKNOWN = -1
"""The choice that puts the victim's unknown word at a position."""

DELETED = -2
"""The choice that removes the word at a position, to measure its importance; never an outcome."""

State = States


class Phrase(NamedTuple):
    """A candidate that is not one word in the place of one word.

    Args:
        rows: the victim's rows of its words.
        merged: whether it takes the place of the next word too.
    """

    rows: tuple[int, ...]
    merged: bool


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
        rows: the victim's rows of all candidates, `int32 (candidates,)`; -1 - k for the k-th
            phrase.
        words: the candidates as strings, aligned with `rows`.
        gold: what the goal compares the victim's predictions with (`Goal.gold`).
        counted: which words enter the scores, `bool (words,)`, decided on the original sentence.
        once: whether a changed word may not be changed again (`SentenceConstraint.once`).
        most_edits: maximum number of changed words that the constraints allow.
        phrases: the candidates that are phrases.
        follows: whether a word that was visited has candidates of its own
            (`CandidateGenerator.follows`).
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
    phrases: tuple[Phrase, ...] = ()
    follows: bool = False

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
            at = self.text_position(position)
            words[at] = self.word(state, position)
            if isinstance(words[at], Merged):
                words[at : at + 2] = str(words[at]), ""
        return tuple(words)

    def changed(self, state: State) -> list[int]:
        """Return the positions of the words that differ from the original, rising.

        Of two merged words, the second one is always changed.
        """
        if not self.phrases:
            return np.flatnonzero(state).tolist()
        both = enumerate(zip(self.sentence.words, self.text(state), strict=True))
        return [position for position, (old, new) in both if old != new]

    def spelt(self, states: States) -> Mask:
        """Tell which states `(n, words)` are texts, `(n,)`.

        The others change the second of two merged words as well, or leave no word.
        """
        chosen, rows = states > 0, np.zeros(states.shape, dtype=np.int64)
        rows[chosen] = self.rows[(self.ptr[:-1] + states - 1)[chosen]]
        sizes, merging = np.ones(states.shape, dtype=np.int64), np.zeros(states.shape, np.bool_)
        spelt_out = [self.phrases[number] for number in (-1 - rows[rows < 0]).tolist()]
        sizes[rows < 0] = [len(phrase.rows) for phrase in spelt_out]
        merging[rows < 0] = [phrase.merged for phrase in spelt_out]
        clashes = (merging[:, :-1] & chosen[:, 1:]).any(axis=1)
        sizes[:, 1:][merging[:, :-1]] = 0
        spelt: Mask = ~clashes & (sizes.sum(axis=1) > 0)
        return spelt


def one_changed(state: State, positions: Indices, choice: int) -> States:
    """Copy a state once per position and put the choice there, `(positions, words)`."""
    states = np.repeat(state[None], len(positions), axis=0)
    states[np.arange(len(positions)), positions] = choice
    return states
