"""Compiled loop of `trees.eisner`: the best projective tree in O(length^3) (Eisner 1996).

Four charts over spans `i <= j`: *open* spans end in the arc that joins i and j, *closed* spans have
taken all dependents of their head on that side; `right` means that i is the head, `left` that j
is. A cell weighs `(forbidden arcs, value)`, compared lexicographically, so that forbidden arcs
appear only where no projective tree avoids them. A single root is exact: words are charted
without ROOT, and the one word r that hangs from ROOT is chosen at the end,
`score(r, ROOT) + closed_left(1, r) + closed_right(r, n)`.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

OPEN_LEFT, OPEN_RIGHT, CLOSED_LEFT, CLOSED_RIGHT = 0, 1, 2, 3


@njit(cache=True, nogil=True)
def decode_batch(
    values: NDArray[np.float64],
    forbidden: NDArray[np.bool_],
    lengths: NDArray[np.int64],
    heads: NDArray[np.int16],
) -> None:
    """Write the best projective tree of each sentence into `heads`; arguments as of `mst`'s."""
    for b in range(lengths.shape[0]):
        n = lengths[b]
        if n == 0:
            continue
        value = np.zeros((4, n + 1, n + 1), dtype=np.float64)
        penalty = np.zeros((4, n + 1, n + 1), dtype=np.int64)
        split = np.zeros((4, n + 1, n + 1), dtype=np.int64)
        _fill(n, values[b], forbidden[b], value, penalty, split)
        root = _best_root(n, values[b], forbidden[b], value, penalty)
        heads[b, root - 1] = 0
        _trace(CLOSED_LEFT, 1, root, split, heads[b])
        _trace(CLOSED_RIGHT, root, n, split, heads[b])


@njit(cache=True, nogil=True)
def _fill(
    n: int,
    scores: NDArray[np.float64],
    forbidden: NDArray[np.bool_],
    value: NDArray[np.float64],
    penalty: NDArray[np.int64],
    split: NDArray[np.int64],
) -> None:
    for width in range(1, n):
        for i in range(1, n + 1 - width):
            j = i + width
            best = _best_split(CLOSED_RIGHT, CLOSED_LEFT, i, j, 1, value, penalty)
            v = value[CLOSED_RIGHT, i, best] + value[CLOSED_LEFT, best + 1, j]
            p = penalty[CLOSED_RIGHT, i, best] + penalty[CLOSED_LEFT, best + 1, j]
            value[OPEN_RIGHT, i, j] = v + scores[j, i]
            penalty[OPEN_RIGHT, i, j] = p + forbidden[j, i]
            split[OPEN_RIGHT, i, j] = best
            value[OPEN_LEFT, i, j] = v + scores[i, j]
            penalty[OPEN_LEFT, i, j] = p + forbidden[i, j]
            split[OPEN_LEFT, i, j] = best
            best = _best_split(OPEN_RIGHT, CLOSED_RIGHT, i, j, 0, value, penalty)
            value[CLOSED_RIGHT, i, j] = value[OPEN_RIGHT, i, best] + value[CLOSED_RIGHT, best, j]
            penalty[CLOSED_RIGHT, i, j] = (
                penalty[OPEN_RIGHT, i, best] + penalty[CLOSED_RIGHT, best, j]
            )
            split[CLOSED_RIGHT, i, j] = best
            best = _best_split(CLOSED_LEFT, OPEN_LEFT, i, j, 0, value, penalty)
            value[CLOSED_LEFT, i, j] = value[CLOSED_LEFT, i, best] + value[OPEN_LEFT, best, j]
            penalty[CLOSED_LEFT, i, j] = penalty[CLOSED_LEFT, i, best] + penalty[OPEN_LEFT, best, j]
            split[CLOSED_LEFT, i, j] = best


@njit(cache=True, nogil=True)
def _best_split(
    left: int,
    right: int,
    i: int,
    j: int,
    gap: int,
    value: NDArray[np.float64],
    penalty: NDArray[np.int64],
) -> int:
    """Find the k whose cells `left[i, k]`, `right[k + gap, j]` weigh most, the lowest on ties."""
    # Closing to the right needs a dependent (k > i), joining two closed spans leaves room for one.
    start = i + 1 if left == OPEN_RIGHT else i
    best = start
    for k in range(start + 1, j + 1 if left == OPEN_RIGHT else j):
        p = penalty[left, i, k] + penalty[right, k + gap, j]
        best_p = penalty[left, i, best] + penalty[right, best + gap, j]
        if p > best_p:
            continue
        v = value[left, i, k] + value[right, k + gap, j]
        if p < best_p or v > value[left, i, best] + value[right, best + gap, j]:
            best = k
    return best


@njit(cache=True, nogil=True)
def _best_root(
    n: int,
    scores: NDArray[np.float64],
    forbidden: NDArray[np.bool_],
    value: NDArray[np.float64],
    penalty: NDArray[np.int64],
) -> int:
    best, best_p, best_v = -1, 0, 0.0
    for root in range(1, n + 1):
        p = penalty[CLOSED_LEFT, 1, root] + penalty[CLOSED_RIGHT, root, n] + forbidden[root, 0]
        v = value[CLOSED_LEFT, 1, root] + value[CLOSED_RIGHT, root, n] + scores[root, 0]
        if best < 0 or p < best_p or (p == best_p and v > best_v):
            best, best_p, best_v = root, p, v
    return best


@njit(cache=True, nogil=True)
def _trace(kind: int, i: int, j: int, split: NDArray[np.int64], heads: NDArray[np.int16]) -> None:
    """Write the arcs of the best derivation of one chart cell into `heads`."""
    stack = [(kind, i, j)]
    while len(stack) > 0:
        kind, i, j = stack.pop()
        if i == j:
            continue
        k = split[kind, i, j]
        if kind == CLOSED_RIGHT:
            stack.append((OPEN_RIGHT, i, k))
            stack.append((CLOSED_RIGHT, k, j))
        elif kind == CLOSED_LEFT:
            stack.append((CLOSED_LEFT, i, k))
            stack.append((OPEN_LEFT, k, j))
        else:
            if kind == OPEN_RIGHT:
                heads[j - 1] = i
            else:
                heads[i - 1] = j
            stack.append((CLOSED_RIGHT, i, k))
            stack.append((CLOSED_LEFT, k + 1, j))
