"""The sub-word pieces of words, and their layout in a sentence.

A sentence is read as ``[CLS] pieces [SEP]``; ROOT is [CLS] (Wang et al. 2021). A sentence over the
network's limit is either cut off or read in windows, each with its own [CLS] and [SEP]; the units
of a sentence are those of its windows, one after the other.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer
from torch import Tensor

from robustparse.models.encoders.word_table import RESERVED, FormTable
from robustparse.tagsets import BRACKETS

# Maximum pieces per word; the rest is cut, so that a pathological token cannot fill the memory.
MAX_PIECES = 16


class SpecialPieces(NamedTuple):
    """Ids of the pieces that belong to no word."""

    padding: int
    unknown: int
    first: int
    last: int


class PieceTable(FormTable):
    """Row -> piece ids, ``(rows, max_pieces)``, and how many there are, ``(rows, 1)``.

    Args:
        special: ids of the pieces that belong to no word.
        unknown: ids of the pieces of the unknown word.
        max_pieces: maximum pieces per word.
    """

    unit = "word pieces"
    separator: str

    def __init__(self, special: SpecialPieces, unknown: Sequence[int], max_pieces: int) -> None:
        pieces = np.full((RESERVED, max_pieces), special.padding)
        pieces[1, : len(unknown)] = unknown
        super().__init__([pieces, np.array([[0], [len(unknown)], [0]])])
        self.special = special

    def rows(self, ids: Sequence[Sequence[int]]) -> list[NDArray[np.int64]]:
        """Return the columns of words with these piece ids, cut to ``max_pieces``."""
        width = self._columns[0].shape[1]
        pieces = np.full((len(ids), width), self.special.padding, dtype=np.int64)
        counts = np.ones((len(ids), 1), dtype=np.int64)
        for row, of_word in enumerate(ids):
            counts[row] = min(len(of_word), width)
            pieces[row, : counts[row, 0]] = of_word[:width]
        return [pieces, counts]

    def count(self, rows: NDArray[np.int32]) -> int:
        """Return the total number of pieces of these words."""
        return int(self._columns[1][rows].sum())


class SubwordTable(PieceTable):
    """Row -> piece ids and how many there are; a word without a piece gets the unknown piece.

    Args:
        tokenizer: the tokenizer of the network; its padding and truncation are switched off, since
            many words are encoded at once.
        special: its special pieces.
        max_pieces: maximum pieces per word, see ``MAX_PIECES``.
    """

    def __init__(
        self, tokenizer: Tokenizer, special: SpecialPieces, max_pieces: int = MAX_PIECES
    ) -> None:
        super().__init__(special, [special.unknown], max_pieces)
        tokenizer.no_padding()
        tokenizer.no_truncation()
        self._tokenizer = tokenizer
        # The last special piece also separates two texts.
        self.separator = str(tokenizer.id_to_token(special.last))

    def describe(self, words: Sequence[str]) -> list[NDArray[np.int64]]:
        """Piece ids ``(words, max_pieces)`` and counts ``(words, 1)``; ``-LRB-`` is a bracket."""
        encoded = self._tokenizer.encode_batch(
            [[readable(word)] for word in words],
            is_pretokenized=True,
            add_special_tokens=False,
        )
        return self.rows([encoding.ids or [self.special.unknown] for encoding in encoded])

    def known(self, words: Sequence[str]) -> NDArray[np.bool_]:
        """Tell which words have no unknown piece, ``(words,)``, without adding rows."""
        known: NDArray[np.bool_] = (self.describe(words)[0] != self.special.unknown).all(axis=1)
        return known


def readable(word: str) -> str:
    """Return a word in the form that pretrained networks read.

    Treebank names of brackets, which their training texts lack, become brackets. Lone surrogates,
    which tokenizers reject, are replaced.
    """
    if word in BRACKETS:
        return BRACKETS[word]
    return word.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


@dataclass(frozen=True)
class Layout:
    """The positions of the pieces of a batch.

    Args:
        units: ``(batch, units)`` piece ids.
        word: ``(batch, units)`` the word of each unit, counted from 1; 0 is ROOT, and 1 + length
            means none (separators, padding).
        sizes: ``(batch,)`` number of units.
        cuts: ``(windows, 3)`` sentence, first unit and size of each window if a sentence has
            several windows; otherwise None.
    """

    units: Tensor
    word: Tensor
    sizes: Tensor
    cuts: NDArray[np.int64] | None


def lay_out(
    pieces: Tensor, counts: Tensor, special: SpecialPieces, limit: int, split: bool
) -> Layout:
    """Lay out the pieces of a batch.

    Args:
        pieces: ``(batch, length, max_pieces)``.
        counts: ``(batch, length)``, 0 on padding.
        special: ids of the special pieces.
        limit: pieces per window, without [CLS] and [SEP].
        split: read longer sentences in windows; otherwise words after the limit have no pieces.
    """
    device = counts.device
    window = torch.zeros_like(counts)
    if int(counts.sum(1).max()) > limit:
        if split:
            window = torch.from_numpy(_windows(counts.cpu().numpy(), limit)).to(device)
        else:
            counts = counts * (counts.cumsum(1) <= limit)
    batch, length = counts.shape
    # The first unit of a word comes after [CLS], all pieces before it, and two special units for
    # each window before it.
    start = 1 + counts.cumsum(1) - counts + 2 * window
    sizes = counts.sum(1) + 2 * (window.amax(1) + 1)
    width = int(sizes.max())
    places = torch.arange(width, device=device)
    units = torch.where(places < sizes[:, None], special.last, special.padding)
    word = torch.full((batch, width), 1 + length, device=device)
    inside = torch.arange(pieces.shape[2], device=device) < counts[..., None]
    row, at, piece = inside.nonzero(as_tuple=True)
    unit = start[row, at] + piece
    units[row, unit], word[row, unit] = pieces[row, at, piece], at + 1
    units[:, 0], word[:, 0] = special.first, 0
    cuts = None
    if bool(window.any()):
        opens = (window[:, 1:] > window[:, :-1]).nonzero(as_tuple=True)
        units[opens[0], start[:, 1:][opens] - 1] = special.first
        cuts = _cuts(opens[0], start[:, 1:][opens] - 1, sizes)
    return Layout(units, word, sizes, cuts)


def _windows(counts: NDArray[np.int64], limit: int) -> NDArray[np.int64]:
    """Return the window of each word, filled from the front, ``(batch, length)``."""
    windows = np.zeros_like(counts)
    for row in np.flatnonzero(counts.sum(1) > limit):
        window = filled = 0
        for at, count in enumerate(counts[row]):
            if filled + count > limit:
                window, filled = window + 1, 0
            filled += count
            windows[row, at] = window
    return windows


def _cuts(rows: Tensor, starts: Tensor, sizes: Tensor) -> NDArray[np.int64]:
    cuts = []
    for row, size in enumerate(sizes.tolist()):
        edges = [0, *starts[rows == row].tolist(), size]
        cuts += [(row, a, b - a) for a, b in pairwise(edges)]
    return np.array(cuts, dtype=np.int64)
