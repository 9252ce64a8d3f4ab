"""Growing tables of word forms: what an encoder needs of each, looked up once.

Training, prediction and attacks all hand words to a parser as rows of its table. Rows carry no
meaning of their own and are not part of a checkpoint. Rows 0, 1 and 2 are padding, the unknown word
and ROOT.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from robustparse.data.vocab import Vocabulary

PADDING, UNKNOWN, ROOT = 0, 1, 2
RESERVED = 3

# A row of its own would make every table, and so every checkpoint, one row longer. ROOT's stands
# where a text begins, as the second one does here. An encoder of characters still tells the two
# apart, since the separator is spelled; a training word of this form keeps the row that it has.
SEPARATOR = "[SEP]"
"""Stands between two texts read as one; tables of words read it as a text's beginning, ROOT."""


_RESERVED_WORDS = ("[PAD]", "[UNK]", "[ROOT]")


class FormTable(ABC):
    """Row -> columns of ids; a form not met before gets a new row.

    Args:
        reserved: the first three rows of each column, ``(3, width)`` each.
    """

    def __init__(self, reserved: Sequence[NDArray[np.int64]]) -> None:
        self._columns = [np.array(column, dtype=np.int64) for column in reserved]
        self._rows: dict[str, int] = {}
        self._words = [*_RESERVED_WORDS]
        self._tensors: tuple[Tensor, ...] | None = None

    @abstractmethod
    def describe(self, words: Sequence[str]) -> list[NDArray[np.int64]]:
        """Return the rows of new words, ``(words, width)`` a column."""

    def __len__(self) -> int:
        return RESERVED + len(self._rows)

    def intern(self, words: Sequence[str]) -> NDArray[np.int32]:
        """Return the row of each word, a new one for a form not met before. Shape ``(words,)``."""
        new = [word for word in dict.fromkeys(words) if word not in self._rows]
        if new:
            self._add(new)
        return np.fromiter((self._rows[word] for word in words), dtype=np.int32, count=len(words))

    def words_of(self, rows: Sequence[int]) -> list[str]:
        """Return the word of each row, the inverse of ``intern``; reserved ones are in brackets."""
        return [self._words[row] for row in rows]

    def _add(self, new: Sequence[str]) -> None:
        first, needed = len(self), len(self) + len(new)
        held = len(self._columns[0])
        if needed > held:
            room = max(needed, 2 * held) - held
            self._columns = [np.pad(column, ((0, room), (0, 0))) for column in self._columns]
        for column, values in zip(self._columns, self.describe(new), strict=True):
            column[first:needed] = values
        self._rows.update((word, row) for row, word in enumerate(new, start=first))
        self._words.extend(new)
        self._tensors = None

    def tensors(self, device: torch.device) -> tuple[Tensor, ...]:
        """Return the columns on a device, ``(rows, width)`` each."""
        if self._tensors is None or self._tensors[0].device != device:
            size = len(self)
            self._tensors = tuple(torch.from_numpy(c[:size]).to(device) for c in self._columns)
        return self._tensors


class WordTable(FormTable):
    """Row -> word id, character ids and row of a vector file.

    Ids 0, 1 and 2 are padding, unknown and ROOT, for words and for characters; the unknown word's
    characters are one unknown character. A form with no vector has 0 there.

    Args:
        vocabulary: gives the ids.
        vector_words: the words of a vector file; a form is looked up as it is, then lower-cased.
        max_characters: longer words are cut (20 as in Zheng et al. 2020).
    """

    def __init__(
        self, vocabulary: Vocabulary, vector_words: Sequence[str] = (), max_characters: int = 20
    ) -> None:
        ids = np.arange(RESERVED)[:, None]
        characters = np.zeros((RESERVED, max_characters), dtype=np.int64)
        characters[:, :1] = ids
        super().__init__([ids, characters, np.zeros_like(ids)])
        words = {word: RESERVED + i for i, word in enumerate(vocabulary.words)}
        self._word_ids = {SEPARATOR.lower(): ROOT} | words
        self._character_ids = {c: RESERVED + i for i, c in enumerate(vocabulary.characters)}
        self._vector_rows = {word: 1 + i for i, word in enumerate(vector_words)}

    def describe(self, words: Sequence[str]) -> list[NDArray[np.int64]]:
        """Word id, character ids and vector row of each word."""
        width = self._columns[1].shape[1]
        ids = np.zeros((len(words), 1), dtype=np.int64)
        characters = np.zeros((len(words), width), dtype=np.int64)
        vectors = np.zeros((len(words), 1), dtype=np.int64)
        for row, word in enumerate(words):
            lower = word.lower()
            ids[row] = self._word_ids.get(lower, UNKNOWN)
            spelled = [self._character_ids.get(character, UNKNOWN) for character in word[:width]]
            characters[row, : len(spelled)] = spelled
            vectors[row] = self._vector_rows.get(word, self._vector_rows.get(lower, 0))
        return [ids, characters, vectors]

    def known(self, words: Sequence[str]) -> NDArray[np.bool_]:
        """Which words have an id or a vector of their own, ``(words,)``; none gets a row."""
        ids, _, vectors = self.describe(words)
        known: NDArray[np.bool_] = (ids[:, 0] != UNKNOWN) | (vectors[:, 0] > 0)
        return known


def in_order_met(rows: Tensor) -> tuple[Tensor, Tensor]:
    """Return the different rows and the place of each among them, as ``torch.unique`` gives them.

    Not sorted, though: a row's number follows from what was read before it, which a resumed run
    reads in another order, and float sums follow the order of the rows.
    """
    different, where = torch.unique(rows, return_inverse=True)
    positions = torch.arange(rows.numel(), device=rows.device)
    first = torch.full_like(different, rows.numel())
    first = first.scatter_reduce(0, where.flatten(), positions, "amin")
    order = first.argsort()
    return different[order], order.argsort()[where]


def trimmed(character_ids: Tensor) -> tuple[Tensor, Tensor]:
    """``(words, max_characters)`` cut to the longest word, and how many each has, ``(words,)``."""
    lengths = (character_ids != PADDING).sum(1)
    return character_ids[:, : max(1, int(lengths.max()))], lengths
