"""From states to what the victim reads, and the keys that tell states apart.

A deleted word is left out of its text, so that the words after it move up; a text that loses all
its words is read as the unknown word alone, as a victim needs something to read.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from robustparse.attacks.problem import DELETED, Problem
from robustparse.attacks.victim import Predictions


@dataclass(frozen=True, eq=False)
class Texts:
    """Texts as a victim reads them.

    Args:
        words: the victim's rows, `int32 (n, words)`, 0 beyond a text's length.
        tags: the victim's tag ids, `int32 (n, words)`.
        lengths: words of each text, `int32 (n,)`.
    """

    words: NDArray[np.int32]
    tags: NDArray[np.int32]
    lengths: NDArray[np.int32]

    def part(self, begin: int, end: int) -> "Texts":
        """The texts `begin:end`."""
        if begin == 0 and end == len(self.lengths):
            return self
        return Texts(self.words[begin:end], self.tags[begin:end], self.lengths[begin:end])


class Reader:
    """Turns the states of one problem into texts.

    Args:
        problem: with the candidates that the states choose from.
    """

    def __init__(self, problem: Problem) -> None:
        self._problem = problem

    @cached_property
    def _tables(self) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.uint64]]:
        """`Problem.table`, made when it is first needed: sentences to be skipped do without."""
        return self._problem.table()

    def keys(self, states: NDArray[np.int16]) -> NDArray[np.uint64]:
        """A 64-bit key of each state `(n, words)`, which candidates made later leave as it is.

        It is the exclusive or of the keys of the changed words (Zobrist hashing), so that the clean
        state has key 0.
        """
        origin, _, table = self._tables
        keys: NDArray[np.uint64] = np.bitwise_xor.reduce(table[origin + states], axis=1)
        return keys

    def original(self) -> Texts:
        """The sentence as it is."""
        words, tags = self._problem.original, self._problem.tags
        return Texts(words[None], tags[None], np.array([len(words)], dtype=np.int32))

    def read(self, states: NDArray[np.int16]) -> Texts:
        """The texts of states `(n, words)`."""
        origin, rows, _ = self._tables
        words = rows[origin + states]
        tags, lengths = np.empty_like(words), np.empty(len(words), dtype=np.int32)
        tags[:], lengths[:] = self._problem.tags, states.shape[1]
        deleted = states == DELETED
        if not deleted.any():
            return Texts(words, tags, lengths)
        # A stable sort moves the words that are left to the front, in their order.
        order = np.argsort(deleted, axis=1, kind="stable")
        words = np.take_along_axis(words, order, axis=1)
        tags = np.take_along_axis(tags, order, axis=1)
        lengths = lengths - deleted.sum(axis=1, dtype=np.int32)
        beyond = np.arange(states.shape[1]) >= lengths[:, None]
        words[beyond], tags[beyond] = 0, 0
        words[lengths == 0, 0] = self._problem.unknown
        return Texts(words, tags, np.maximum(lengths, 1))


def padded(
    parts: Sequence[Texts],
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """Words and tags `(n, longest)` and lengths `(n,)` of all texts, the widest part first."""
    lengths = np.concatenate([part.lengths for part in parts])
    words = np.zeros((len(lengths), max(1, parts[0].words.shape[1])), dtype=np.int32)
    tags = np.zeros_like(words)
    at = 0
    for part in parts:
        count, width = part.words.shape
        words[at : at + count, :width], tags[at : at + count, :width] = part.words, part.tags
        at += count
    longest = int(lengths.max())  # all texts may have lost words
    return words[:, :longest], tags[:, :longest], lengths


def restored(
    clean: Predictions, states: NDArray[np.int16], predictions: Predictions
) -> tuple[NDArray[np.int16], NDArray[np.int16]]:
    """A parser's predictions for states with deleted words, by positions of the whole sentence.

    A deleted word keeps its arc of the clean parse, so that its deletion is judged by what it does
    to the others.

    Args:
        clean: heads and label ids of the clean parse, `(1, words)`.
        states: `(n, words)`.
        predictions: heads and label ids, `(n, words)`, in the positions of the words left.

    Returns:
        Heads and label ids, `(n, words)`.
    """
    heads, labels = predictions
    shortened = np.flatnonzero((states == DELETED).any(axis=1))
    if not len(shortened):
        return heads, labels
    heads, labels = heads.copy(), labels.copy()
    for row in shortened.tolist():
        kept = np.flatnonzero(states[row] != DELETED)
        # Where ROOT and each word that was left stand in the original sentence.
        places = np.concatenate([[0], kept + 1]).astype(heads.dtype)
        new_heads = places[heads[row, : len(kept)]]
        new_labels = labels[row, : len(kept)].copy()
        heads[row], labels[row] = clean[0][0], clean[1][0]
        heads[row, kept], labels[row, kept] = new_heads, new_labels
    return heads, labels
