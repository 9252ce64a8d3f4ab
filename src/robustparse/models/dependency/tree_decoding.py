"""Decodes dependency trees from arc scores.

In the code of Zheng et al. (2020), black-box attacks see greedy heads, and all else is decoded by
single-root Eisner; Wang et al. (2021) decode labelled maximum spanning trees without the
single-root constraint; SuPar repairs greedy heads that are no tree. Results of different decoders
are not comparable.

Every function takes numpy arrays for a whole batch: `scores` of shape
`(batch, length + 1, length + 1)`, indexed `[sentence, dependent, head]`, with ROOT at position 0,
and `lengths` of shape `(batch,)`, in words without ROOT. They return heads as int16 of shape
`(batch, length)`: entry `[b, i]` is the head of word `i + 1`, 0 is ROOT, and entries beyond a
sentence's length are 0. Scores of padding, of the diagonal and of ROOT's row are never read, and a
tree does not depend on the other sentences of the batch.

A score of -inf, or of -1e30 and below (as `torch.finfo(torch.float32).min` in a mask), forbids an
arc. If every tree has forbidden arcs, the trees with the fewest of them compete. Sums are in
float64. Of heads with equal scores, `greedy` takes the lowest; the other decoders are deterministic
functions of the sentence's scores. A NaN or +inf raises `ValueError`.

The compiled loops in `mst` and `eisner` are imported when they are first called, so that importing
this module does not load numba.
"""

from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robustparse.errors import check_choice
from robustparse.types import Heads

Decoder = Literal["greedy", "repair", "mst", "mst_unrestricted", "eisner"]

ArcScores: TypeAlias = NDArray[np.float32] | NDArray[np.float64]

FORBIDDEN = -1e30


def check_decoder(decoder: str) -> None:
    """Reject an unknown name.

    Raises:
        InputError: names all decoders.
    """
    check_choice("decoder", decoder, get_args(Decoder))


def decode_heads(scores: ArcScores, lengths: ArrayLike, decoder: Decoder) -> Heads:
    """Decode a batch.

    Args:
        scores: ``(batch, 1 + length, 1 + length)`` [sentence, dependent, head].
        lengths: ``(batch,)`` in words.
        decoder: ``greedy`` takes each word's best head, even if the heads are no tree; ``repair``
            replaces such heads by the best single-root tree; ``mst`` is the best single-root tree,
            ``mst_unrestricted`` the best tree with any number of roots, ``eisner`` the best
            projective single-root tree.
    """
    if decoder == "greedy":
        return greedy(scores, lengths)
    if decoder == "repair":
        return greedy_with_repair(scores, lengths)
    if decoder == "eisner":
        return eisner(scores, lengths)
    return mst(scores, lengths, single_root=decoder == "mst")


def is_tree(
    heads: NDArray[np.integer], lengths: ArrayLike, *, single_root: bool = True
) -> NDArray[np.bool_]:
    """Return which head sequences are dependency trees, ``(n,)``.

    A sequence without words, or with a head outside 0..length, is not a tree.

    Args:
        heads: ``(n, length)``, the head of each word, 0 for ROOT.
        lengths: ``(n,)``, in words.
        single_root: require exactly one word whose head is ROOT; otherwise one or more.
    """
    n, length = heads.shape
    sizes = np.asarray(lengths)
    inside = np.arange(length) < sizes[:, None]
    in_range = ((heads >= 0) & (heads <= sizes[:, None])) | ~inside
    roots: NDArray[np.int64] = ((heads == 0) & inside).sum(axis=1)
    # ancestor[b, i]: ROOT and padding stay, and every round doubles the number of steps upwards.
    ancestor = np.zeros((n, length + 1), dtype=np.int64)
    ancestor[:, 1:] = np.where(inside & in_range, heads, 0)
    for _ in range(int(length).bit_length()):
        ancestor = np.take_along_axis(ancestor, ancestor, axis=1)
    well_formed: NDArray[np.bool_] = in_range.all(axis=1) & (ancestor == 0).all(axis=1)
    return well_formed & ((roots == 1) if single_root else (roots >= 1))


def greedy(scores: ArcScores, lengths: ArrayLike) -> Heads:
    """Give each word its best head other than itself; the result may not be a tree."""
    sizes = np.asarray(lengths)
    masked = np.where(_legal(scores, sizes), scores, -np.inf)[:, 1:]
    heads = masked.argmax(axis=2)
    # argmax returns a NaN if there is one, so the chosen scores show every sentence with a NaN.
    chosen = np.take_along_axis(masked, heads[:, :, None], axis=2)[:, :, 0]
    _refuse(np.isnan(chosen) | (chosen == np.inf))
    inside = np.arange(heads.shape[1]) < sizes[:, None]
    return np.where(inside, heads, 0).astype(np.int16)


def greedy_with_repair(scores: ArcScores, lengths: ArrayLike) -> Heads:
    """Take greedy heads if they form a single-root tree, otherwise the best such tree.

    Greedy heads that form a tree are the best tree, so the result equals `mst` up to ties.
    """
    sizes = np.asarray(lengths)
    heads = greedy(scores, sizes)
    broken = ~is_tree(heads, sizes) & (sizes > 0)
    if broken.any():
        heads[broken] = mst(scores[broken], sizes[broken])
    return heads


def mst(scores: ArcScores, lengths: ArrayLike, *, single_root: bool = True) -> Heads:
    """Find the highest-scoring tree, projective or not (Chu and Liu 1965, Edmonds 1967).

    With ``single_root``, exactly one word has the head ROOT, and the search is still exact.
    """
    from robustparse.models.dependency.mst import decode_batch

    sizes, values, forbidden, heads = _prepared(scores, lengths)
    decode_batch(values, forbidden, sizes, single_root, heads)
    return heads


def eisner(scores: ArcScores, lengths: ArrayLike) -> Heads:
    """Find the highest-scoring projective tree with one child of ROOT (Eisner 1996)."""
    from robustparse.models.dependency.eisner import decode_batch

    sizes, values, forbidden, heads = _prepared(scores, lengths)
    decode_batch(values, forbidden, sizes, heads)
    return heads


def _prepared(
    scores: ArcScores, lengths: ArrayLike
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.bool_], Heads]:
    """Return lengths, float64 scores (0 for forbidden arcs), forbidden arcs, and empty heads."""
    sizes = np.asarray(lengths, dtype=np.int64)
    legal = _legal(scores, sizes)
    _refuse(legal & (np.isnan(scores) | (scores == np.inf)))
    allowed = legal & (scores > FORBIDDEN)
    values = np.where(allowed, scores, 0.0).astype(np.float64)
    return sizes, values, ~allowed, np.zeros((len(sizes), scores.shape[1] - 1), dtype=np.int16)


def _legal(scores: ArcScores, sizes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return the arcs between different positions of the sentence, without ROOT as dependent."""
    positions = np.arange(scores.shape[1])
    inside = positions <= sizes[:, None]
    legal: NDArray[np.bool_] = inside[:, :, None] & inside[:, None, :]
    legal &= positions[:, None] != positions
    legal[:, 0] = False
    return legal


def _refuse(bad: NDArray[np.bool_]) -> None:
    if bad.any():
        sentence = int(np.argwhere(bad)[0, 0])
        raise ValueError(f"arc scores must be below +inf, got NaN or +inf in sentence {sentence}")
