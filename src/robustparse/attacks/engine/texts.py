"""From states to what the victim reads.

A deleted word is left out of its text, so that the words after it move up; a text that loses all
its words is read as only the unknown word with the first word's mark, as a victim needs something
to read.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robustparse.attacks.problem import DELETED, UNKNOWN, Problem
from robustparse.types import Ids, Indices, Mask, States

Asked = tuple[Problem, States]
"""States of one sentence, `(n, words)`, and what they are read from."""


@dataclass(frozen=True, eq=False)
class Texts:
    """Texts as a victim reads them.

    Args:
        words: the victim's rows, `int32 (n, words)`, 0 beyond a text's length.
        marks: the victim's ids of marks, `int32 (n, words)`.
        lengths: words of each text, `int32 (n,)`.
    """

    words: Ids
    marks: Ids
    lengths: Ids


def texts_of(parts: Sequence[Asked], unknown: int) -> Texts:
    """Return the texts of states of several sentences, one state at least, in their order.

    All are made at once: what is done sentence by sentence costs more than it reads.

    Args:
        parts: the states, with their sentences.
        unknown: the victim's row of the unknown word.
    """
    problems = [problem for problem, _ in parts]
    widths = np.array([len(problem.original) for problem in problems])
    part = np.repeat(np.arange(len(parts)), [len(states) for _, states in parts])
    lengths = widths[part]
    words, marks = _originals(problems, widths)
    words, marks = words[part], marks[part]
    # Few words of a state are changed: only they are looked up.
    flat = np.concatenate([states.ravel() for _, states in parts])
    changed = np.flatnonzero(flat)
    choice, ends = flat[changed], np.cumsum(lengths)
    row = np.searchsorted(ends, changed, side="right")
    column = changed - (ends - lengths)[row]
    words[row, column] = _rows(problems, unknown, widths, part[row], column, choice)
    deleted = choice == DELETED
    if deleted.any():
        kept = np.arange(words.shape[1]) < lengths[:, None]
        kept[row[deleted], column[deleted]] = False
        lengths = kept.sum(axis=1)
        words, marks = _moved_up(words, kept, lengths), _moved_up(marks, kept, lengths)
    empty = lengths == 0
    if empty.any():
        marks[empty, 0] = np.array([problem.marks[0] for problem in problems])[part[empty]]
        words[empty, 0] = unknown
        lengths = np.maximum(lengths, 1)
    longest = int(lengths.max())  # all texts may have lost words
    return Texts(words[:, :longest], marks[:, :longest], lengths.astype(np.int32))


def _originals(problems: Sequence[Problem], widths: Indices) -> tuple[Ids, Ids]:
    """Words and marks of the sentences as they are, `(problems, longest)`."""
    words = np.zeros((len(problems), max(1, int(widths.max()))), dtype=np.int32)
    marks = np.zeros_like(words)
    inside = np.arange(words.shape[1]) < widths[:, None]
    words[inside] = np.concatenate([problem.original for problem in problems])
    marks[inside] = np.concatenate([problem.marks for problem in problems])
    return words, marks


def _rows(
    problems: Sequence[Problem],
    unknown: int,
    widths: Indices,
    part: Indices,
    position: Indices,
    choice: States,
) -> Ids:
    """Return the victim's rows of choices other than the original, `(choices,)`; 0 for a deleted
    word.

    Each choice is made at a position of one of the problems, `part`, which rises.
    """
    rows = np.where(choice == UNKNOWN, np.int32(unknown), np.int32(0))
    put = choice > 0
    if put.any():
        part, position = part[put], position[put]
        first = np.concatenate([problem.ptr[:-1] for problem in problems])
        word = (np.cumsum(widths) - widths)[part] + position
        index = first[word] + choice[put] - 1
        # Candidates may be many: they are looked up where they are, problem by problem.
        ends = np.bincount(part, minlength=len(problems)).cumsum().tolist()
        begins = [0, *ends[:-1]]
        rows[put] = np.concatenate(
            [
                problem.rows[index[begin:end]]
                for problem, begin, end in zip(problems, begins, ends, strict=True)
            ]
        )
    return rows


def _moved_up(values: Ids, kept: Mask, lengths: Indices) -> Ids:
    """Return the values kept `(n, words)`, without gaps between them; 0 stands beyond the last."""
    moved = np.zeros_like(values)
    moved[np.arange(values.shape[1]) < lengths[:, None]] = values[kept]
    return moved
