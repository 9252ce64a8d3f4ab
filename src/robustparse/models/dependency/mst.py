"""Compiled loop of `tree_decoding.mst`: Chu-Liu-Edmonds on dense scores, O(length^2) a sentence.

The search follows best heads upwards from a word until the path meets ROOT or a word that already
reaches ROOT, and contracts every cycle on the way (Tarjan 1977, dense variant).

The single root is exact, not a heuristic. Subtracting a constant larger than any difference of tree
scores from all ROOT arcs makes the best tree a best single-root tree (Stanojevic and Cohen 2021),
but floating-point scores would lose their low digits. The algorithm only adds, subtracts and
compares weights, so weights may be of any ordered group: here an arc has the weight
`(penalty, value)`, compared lexicographically. The integer penalty counts ROOT arcs in its high
bits and forbidden arcs in its low bits.
"""

import numpy as np
from numba import njit

from robustparse.types import Floats, Heads, Indices, Mask

ROOT_ARC = 1 << 32

NEW, ON_PATH, IN_CYCLE, CONNECTED, MERGED = 0, 1, 2, 3, 4


@njit(cache=True, nogil=True)
def decode_batch(
    values: Floats, forbidden: Mask, lengths: Indices, single_root: bool, heads: Heads
) -> None:
    """Write the best tree of each sentence into `heads`, shape `(batch, length)`.

    Args:
        values: shape `(batch, length + 1, length + 1)`, `[sentence, dependent, head]`, finite.
        forbidden: same shape; such arcs are taken only if no tree avoids them.
        lengths: shape `(batch,)`, in words.
        single_root: allow one child of ROOT.
        heads: zeros, to be filled.
    """
    for b in range(lengths.shape[0]):
        n = lengths[b]
        value = values[b, : n + 1, : n + 1].copy()
        penalty = forbidden[b, : n + 1, : n + 1].astype(np.int64)
        if single_root:
            penalty[1:, 0] += ROOT_ARC
        _decode(penalty, value, heads[b, :n])


@njit(cache=True, nogil=True)
def _decode(penalty: Indices, value: Floats, heads: Heads) -> None:
    n = heads.shape[0]
    # A slot is a row and column of the shrinking graph; `node` names the word or contracted cycle
    # in it, and `arcs[slot, from]` is the arc between words that joins two slots.
    arcs = _word_arcs(n)
    node = np.arange(n + 1)
    parent = np.full(2 * n + 1, -1)
    entering = np.zeros((2 * n + 1, 2), dtype=np.int64)
    state = np.full(n + 1, NEW)
    state[0] = CONNECTED
    path = np.empty(n + 1, dtype=np.int64)
    before = np.empty(n + 1, dtype=np.int64)
    n_nodes = n + 1
    for start in range(1, n + 1):
        if state[start] != NEW:
            continue
        path[0], size = start, 1
        state[start] = ON_PATH
        while True:
            slot = path[size - 1]
            best = _best_head(slot, penalty, value, state)
            before[size - 1] = best
            entering[node[slot]] = arcs[slot, best]
            if state[best] == CONNECTED:
                break
            if state[best] == NEW:
                path[size], state[best] = best, ON_PATH
                size += 1
                continue
            first = int(np.argmax(path[:size] == best))
            parent[node[path[first:size]]] = n_nodes
            _contract(path[first:size], before[first:size], penalty, value, arcs, state)
            node[best] = n_nodes
            n_nodes += 1
            size = first + 1
        state[path[:size]] = CONNECTED
    _expand(n_nodes, parent, entering, heads)


@njit(cache=True, nogil=True)
def _word_arcs(n: int) -> Indices:
    arcs = np.empty((n + 1, n + 1, 2), dtype=np.int64)
    for dependent in range(n + 1):
        for head in range(n + 1):
            arcs[dependent, head, 0] = dependent
            arcs[dependent, head, 1] = head
    return arcs


@njit(cache=True, nogil=True)
def _best_head(slot: int, penalty: Indices, value: Floats, state: Indices) -> int:
    best, best_p, best_v = -1, 0, 0.0
    for other in range(state.shape[0]):
        if other == slot or state[other] == MERGED:
            continue
        p, v = penalty[slot, other], value[slot, other]
        if best < 0 or p < best_p or (p == best_p and v > best_v):
            best, best_p, best_v = other, p, v
    return best


@njit(cache=True, nogil=True)
def _contract(
    cycle: Indices, before: Indices, penalty: Indices, value: Floats, arcs: Indices, state: Indices
) -> None:
    """Merge a cycle into its first slot; an arc into it costs the arc that it replaces."""
    home = cycle[0]
    size = cycle.shape[0]
    kept_penalty = np.empty(size, dtype=np.int64)
    kept_value = np.empty(size, dtype=np.float64)
    for i in range(size):
        kept_penalty[i] = penalty[cycle[i], before[i]]
        kept_value[i] = value[cycle[i], before[i]]
        state[cycle[i]] = IN_CYCLE
    for other in range(state.shape[0]):
        if state[other] == IN_CYCLE or state[other] == MERGED:
            continue
        into, into_penalty, into_value = -1, 0, 0.0
        out = cycle[0]
        for i in range(size):
            slot = cycle[i]
            p = penalty[slot, other] - kept_penalty[i]
            v = value[slot, other] - kept_value[i]
            if into < 0 or p < into_penalty or (p == into_penalty and v > into_value):
                into, into_penalty, into_value = slot, p, v
            p, v = penalty[other, slot], value[other, slot]
            if p < penalty[other, out] or (p == penalty[other, out] and v > value[other, out]):
                out = slot
        penalty[home, other], value[home, other] = into_penalty, into_value
        arcs[home, other] = arcs[into, other]
        penalty[other, home], value[other, home] = penalty[other, out], value[other, out]
        arcs[other, home] = arcs[other, out]
    for i in range(size):
        state[cycle[i]] = MERGED
    state[home] = ON_PATH


@njit(cache=True, nogil=True)
def _expand(n_nodes: int, parent: Indices, entering: Indices, heads: Heads) -> None:
    """Open the contracted cycles, last first: the arc into a cycle replaces one arc inside it."""
    n = heads.shape[0]
    for cycle in range(n_nodes - 1, n, -1):
        member = entering[cycle, 0]
        while parent[member] != cycle:
            member = parent[member]
        entering[member] = entering[cycle]
    for word in range(1, n + 1):
        heads[word - 1] = entering[word, 1]
