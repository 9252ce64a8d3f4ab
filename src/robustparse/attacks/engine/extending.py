"""Puts candidates into problems that have none at some positions as yet."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robustparse.attacks.candidates.generator import Slot
from robustparse.attacks.engine.funnel import CandidateCounts
from robustparse.attacks.problem import Problem
from robustparse.errors import InputError


def check_sizes(slots: Sequence[Slot], added: NDArray[np.int64]) -> None:
    """See that a state can tell the candidates of each slot apart.

    Args:
        slots: the slots.
        added: how many candidates each has, `(slots,)`.

    Raises:
        InputError: one has too many.
    """
    most = np.iinfo(np.int16).max
    if added.max(initial=0) > most:
        slot = slots[int(added.argmax())]
        raise InputError(
            f"attack: {added.max()} candidates for one word of sentence {slot.id}; expected at "
            f"most {most}; draw some with the generator's option sample"
        )


def sums_up_to(values: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return sums over the first axis, up to each of the ends."""
    sums = np.zeros((1 + len(values), *values.shape[1:]), dtype=np.int64)
    values.cumsum(axis=0, out=sums[1:])
    return sums[ends]


class Candidates(NamedTuple):
    """New candidates: words and their number by slot, and of all of them rows and sources."""

    words: Sequence[Sequence[str]]
    added: NDArray[np.int64]
    rows: NDArray[np.int32]
    sources: NDArray[np.bool_]


def with_candidates(
    problem: Problem, positions: NDArray[np.int64], more: Candidates, counts: CandidateCounts
) -> Problem:
    """Return the problem with candidates put at rising positions."""
    new = np.zeros(len(problem), dtype=np.int64)
    new[positions] = more.added
    ptr = problem.ptr.copy()
    ptr[1:] += new.cumsum()
    if not len(problem.rows):
        return replace(
            problem,
            ptr=ptr,
            rows=more.rows,
            words=tuple(chain.from_iterable(more.words)),
            sources=more.sources,
            counts=counts,
        )
    joined: list[str] = []
    done = 0
    for begin, some in zip(problem.ptr[positions].tolist(), more.words, strict=True):
        joined += [*problem.words[done:begin], *some]
        done = begin
    places = np.repeat(problem.ptr[positions], more.added)
    return replace(
        problem,
        ptr=ptr,
        rows=np.insert(problem.rows, places, more.rows),
        words=(*joined, *problem.words[done:]),
        sources=np.insert(problem.sources, places, more.sources, axis=0),
        counts=counts,
    )
