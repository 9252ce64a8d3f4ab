"""Converts states to the victim's input.

A deleted word is removed from its text, so that the following words move to the left; the words of
a phrase have the mark of the word that they replace. A text without any words left becomes the
unknown word with the first word's mark.
"""

from collections.abc import Sequence

import numpy as np

from robustparse.attacks.problem import DELETED, UNKNOWN, Problem
from robustparse.types import Ids, Indices, States, TextRows

Asked = tuple[Problem, States]
"""A sentence and its states `(n, words)`."""


def texts_of(batch: Sequence[Asked], unknown: int) -> TextRows:
    """Convert the states of several sentences to texts, in order.

    The arrays are built for all sentences together, because a loop over sentences would be slower.

    Args:
        batch: sentences and their states, at least one state in all.
        unknown: the victim's row of the unknown word.
    """
    problems = [problem for problem, _ in batch]
    widths = np.array([len(problem.original) for problem in problems])
    owner = np.repeat(np.arange(len(batch)), [len(states) for _, states in batch])
    lengths = widths[owner]
    words, marks = _originals(problems, widths)
    words, marks = words[owner], marks[owner]
    # Only changed words, which are few, are looked up.
    flat = np.concatenate([states.ravel() for _, states in batch])
    changed = np.flatnonzero(flat)
    choice, ends = flat[changed], np.cumsum(lengths)
    row = np.searchsorted(ends, changed, side="right")
    column = changed - (ends - lengths)[row]
    words[row, column] = _rows(problems, unknown, widths, owner[row], column, choice)
    deleted, phrases = choice == DELETED, words < 0
    if deleted.any() or phrases.any():
        sizes = (np.arange(words.shape[1]) < lengths[:, None]).astype(np.int64)
        sizes[row[deleted], column[deleted]] = 0
        words, marks, lengths = _resized(problems, owner, words, marks, sizes)
    empty = lengths == 0
    if empty.any():
        marks[empty, 0] = np.array([problem.marks[0] for problem in problems])[owner[empty]]
        words[empty, 0] = unknown
        lengths = np.maximum(lengths, 1)
    longest = int(lengths.max())  # all texts may have lost words, or got some
    return TextRows(words[:, :longest], marks[:, :longest], lengths.astype(np.int32))


def _originals(problems: Sequence[Problem], widths: Indices) -> tuple[Ids, Ids]:
    """Return the words and marks of the unchanged sentences, `(problems, longest)` each."""
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
    owner: Indices,
    position: Indices,
    choice: States,
) -> Ids:
    """Return the victim's rows of choices other than the original, `(choices,)`.

    A deleted word has row 0. Choice i is made in sentence `owner[i]`, at `position[i]`; owners
    rise.
    """
    rows = np.where(choice == UNKNOWN, np.int32(unknown), np.int32(0))
    replaced = choice > 0
    if replaced.any():
        owner, position = owner[replaced], position[replaced]
        first = np.concatenate([problem.ptr[:-1] for problem in problems])
        word = (np.cumsum(widths) - widths)[owner] + position
        index = first[word] + choice[replaced] - 1
        # A problem may have many candidates, so its rows are not copied but indexed one by one.
        ends = np.bincount(owner, minlength=len(problems)).cumsum().tolist()
        begins = [0, *ends[:-1]]
        rows[replaced] = np.concatenate(
            [
                problem.rows[index[begin:end]]
                for problem, begin, end in zip(problems, begins, ends, strict=True)
            ]
        )
    return rows


def _resized(
    problems: Sequence[Problem], owner: Indices, words: Ids, marks: Ids, sizes: Indices
) -> tuple[Ids, Ids, Indices]:
    """Spell out phrases, and close the gaps.

    Args:
        problems: the sentences.
        owner: the sentence of each text, `(n,)`.
        words: rows, and numbers of phrases, `(n, words)`.
        marks: ids of marks, `(n, words)`.
        sizes: how many words each position has, 0 or 1, `(n, words)`.

    Returns:
        Words and marks, `(n, longest)`, filled with 0, and the lengths, `(n,)`.
    """
    rows, columns = np.nonzero(words < 0)
    numbers = (-1 - words[rows, columns]).tolist()
    of_text = zip(owner[rows].tolist(), numbers, strict=True)
    spelt = [problems[sentence].phrases[number] for sentence, number in of_text]
    sizes[rows, columns] = [len(phrase.rows) for phrase in spelt]
    merged = np.array([phrase.merged for phrase in spelt], dtype=np.bool_)
    sizes[rows[merged], columns[merged] + 1] = 0
    lengths = sizes.sum(axis=1)
    of_phrase = np.repeat(words.ravel() < 0, sizes.ravel())
    flat = np.repeat(words.ravel(), sizes.ravel())
    flat[of_phrase] = np.fromiter((row for phrase in spelt for row in phrase.rows), np.int32)
    inside = np.arange(max(1, int(lengths.max()))) < lengths[:, None]
    moved, moved_marks = np.zeros((2, *inside.shape), dtype=np.int32)
    moved[inside], moved_marks[inside] = flat, np.repeat(marks.ravel(), sizes.ravel())
    return moved, moved_marks, lengths
