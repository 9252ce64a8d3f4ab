"""Compiled loop of `tree_decoding.eisner`: the best projective tree in O(length^3) (Eisner 1996).

There are four charts over spans `i <= j`: an *open* span has an arc between i and j, a *closed*
span has all dependents of its head on that side; i is the head in `right` charts, j in `left`
charts. A cell has the weight `(forbidden arcs, value)`, compared lexicographically, so that
forbidden arcs appear only if no projective tree avoids them. The single root is exact: the charts
leave out ROOT, and its child r maximizes `score(r, ROOT) + closed_left(1, r) + closed_right(r, n)`.
"""

import numpy as np
from numba import njit

from robustparse.types import Floats, Heads, Indices, Mask

OPEN_LEFT, OPEN_RIGHT, CLOSED_LEFT, CLOSED_RIGHT = 0, 1, 2, 3


@njit(cache=True, nogil=True)
def decode_batch(values: Floats, forbidden: Mask, lengths: Indices, heads: Heads) -> None:
    """Write the best projective tree of each sentence into `heads`; see `mst` for the arguments."""
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
    n: int, scores: Floats, forbidden: Mask, value: Floats, penalty: Indices, split: Indices
) -> None:
    for width in range(1, n):
        for i in range(1, n + 1 - width):
            j = i + width
            best, p, v = _best_split(CLOSED_RIGHT, CLOSED_LEFT, i, j, 1, value, penalty)
            for kind, dependent, head in ((OPEN_RIGHT, j, i), (OPEN_LEFT, i, j)):
                value[kind, i, j] = v + scores[dependent, head]
                penalty[kind, i, j] = p + forbidden[dependent, head]
                split[kind, i, j] = best
            for kind, left, right in (
                (CLOSED_RIGHT, OPEN_RIGHT, CLOSED_RIGHT),
                (CLOSED_LEFT, CLOSED_LEFT, OPEN_LEFT),
            ):
                best, p, v = _best_split(left, right, i, j, 0, value, penalty)
                split[kind, i, j], penalty[kind, i, j], value[kind, i, j] = best, p, v


@njit(cache=True, nogil=True)
def _best_split(
    left: int, right: int, i: int, j: int, gap: int, value: Floats, penalty: Indices
) -> tuple[int, int, float]:
    """Find the k with the best sum of `left[i, k]` and `right[k + gap, j]`, the lowest on ties.

    Returns:
        The k, and the weight of the sum.
    """
    # An open left span has a dependent, so that k > i.
    start = i + 1 if left == OPEN_RIGHT else i
    best, best_p, best_v = -1, 0, 0.0
    for k in range(start, start + j - i):
        p = penalty[left, i, k] + penalty[right, k + gap, j]
        v = value[left, i, k] + value[right, k + gap, j]
        if best < 0 or p < best_p or (p == best_p and v > best_v):
            best, best_p, best_v = k, p, v
    return best, best_p, best_v


@njit(cache=True, nogil=True)
def _best_root(n: int, scores: Floats, forbidden: Mask, value: Floats, penalty: Indices) -> int:
    best, best_p, best_v = -1, 0, 0.0
    for root in range(1, n + 1):
        p = penalty[CLOSED_LEFT, 1, root] + penalty[CLOSED_RIGHT, root, n] + forbidden[root, 0]
        v = value[CLOSED_LEFT, 1, root] + value[CLOSED_RIGHT, root, n] + scores[root, 0]
        if best < 0 or p < best_p or (p == best_p and v > best_v):
            best, best_p, best_v = root, p, v
    return best


@njit(cache=True, nogil=True)
def _trace(kind: int, i: int, j: int, split: Indices, heads: Heads) -> None:
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
