"""Growing tables of word forms with the ids that an encoder needs, looked up once per form.

Training, prediction and attacks pass words to a parser as rows of its table. Rows are numbered in
order of appearance and are not part of a checkpoint. Rows 0, 1 and 2 are padding, the unknown word
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

# Its own id would make every embedding table, and so every checkpoint, one row longer. It shares
# ROOT's id, since ROOT marks the beginning of a text. Encoders of characters still distinguish the
# two by spelling; a training word of this form keeps its own id.
SEPARATOR = "[SEP]"
"""The word between two texts that are read as one; word tables treat it as ROOT."""


_RESERVED_WORDS = ("[PAD]", "[UNK]", "[ROOT]")


class FormTable(ABC):
    """Maps rows to columns of ids; a new form gets a new row.

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
        """Return the columns of new words, ``(words, width)`` each."""

    def __len__(self) -> int:
        return RESERVED + len(self._rows)

    def intern(self, words: Sequence[str]) -> NDArray[np.int32]:
        """Return the row of each word, ``(words,)``; new forms get new rows."""
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
    """Maps rows to word ids, character ids and rows of a vector file.

    Ids 0, 1 and 2 are padding, unknown and ROOT, for words and for characters; the unknown word has
    one unknown character. A form without a vector has vector row 0.

    Args:
        vocabulary: defines the ids.
        vector_words: the words of a vector file; a form is looked up as written, then lower-cased.
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
        """Return word ids, character ids and vector rows."""
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
        """Tell which words have their own id or vector, ``(words,)``, without adding rows."""
        ids, _, vectors = self.describe(words)
        known: NDArray[np.bool_] = (ids[:, 0] != UNKNOWN) | (vectors[:, 0] > 0)
        return known


def in_order_met(rows: Tensor) -> tuple[Tensor, Tensor]:
    """Return the distinct rows in order of appearance and the inverse indices.

    ``torch.unique`` sorts the rows. Their numbers depend on what was read before, which differs in
    a resumed run, and so would the order of summation.
    """
    different, where = torch.unique(rows, return_inverse=True)
    positions = torch.arange(rows.numel(), device=rows.device)
    first = torch.full_like(different, rows.numel())
    first = first.scatter_reduce(0, where.flatten(), positions, "amin")
    order = first.argsort()
    return different[order], order.argsort()[where]


def trimmed(character_ids: Tensor) -> tuple[Tensor, Tensor]:
    """Cut ``(words, max_characters)`` to the longest word; also return lengths ``(words,)``."""
    lengths = (character_ids != PADDING).sum(1)
    return character_ids[:, : max(1, int(lengths.max()))], lengths
