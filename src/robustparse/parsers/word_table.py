"""A growing table of word forms: what an encoder needs of each, looked up once.

Training, prediction and attacks all hand words to a parser as rows of this table. Rows carry no
meaning of their own and are not part of a checkpoint.
"""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from robustparse.data.vocab import Vocabulary

PADDING, UNKNOWN, ROOT = 0, 1, 2
RESERVED = 3


class WordTable:
    """Row -> word id and character ids.

    Ids 0, 1 and 2 are padding, unknown and ROOT, for words and for characters; row 1 is the unknown
    word itself, whose characters are one unknown character.

    Args:
        vocabulary: gives the ids.
        max_characters: longer words are cut (20 as in Zheng et al. 2020).
    """

    def __init__(self, vocabulary: Vocabulary, max_characters: int = 20) -> None:
        self._word_ids = {word: RESERVED + i for i, word in enumerate(vocabulary.words)}
        self._character_ids = {c: RESERVED + i for i, c in enumerate(vocabulary.characters)}
        self._rows: dict[str, int] = {}
        self._words = np.arange(RESERVED, dtype=np.int64)
        self._characters = np.zeros((RESERVED, max_characters), dtype=np.int64)
        self._characters[:, 0] = np.arange(RESERVED)
        self._tensors: tuple[Tensor, Tensor] | None = None

    def __len__(self) -> int:
        return RESERVED + len(self._rows)

    def intern(self, words: Sequence[str]) -> NDArray[np.int32]:
        """The row of each word, a new one for a form not met before. Shape ``(words,)``."""
        new = [word for word in dict.fromkeys(words) if word not in self._rows]
        if new:
            self._add(new)
        return np.fromiter((self._rows[word] for word in words), dtype=np.int32, count=len(words))

    def _add(self, new: Sequence[str]) -> None:
        first = len(self)
        if first + len(new) > len(self._words):
            room = max(first + len(new), 2 * len(self._words)) - len(self._words)
            self._words = np.pad(self._words, (0, room))
            self._characters = np.pad(self._characters, ((0, room), (0, 0)))
        width = self._characters.shape[1]
        for row, word in enumerate(new, start=first):
            self._rows[word] = row
            self._words[row] = self._word_ids.get(word.lower(), UNKNOWN)
            ids = [self._character_ids.get(character, UNKNOWN) for character in word[:width]]
            self._characters[row, : len(ids)] = ids
        self._tensors = None

    def tensors(self, device: torch.device) -> tuple[Tensor, Tensor]:
        """Word ids ``(rows,)`` and character ids ``(rows, max_characters)`` on a device."""
        if self._tensors is None or self._tensors[0].device != device:
            size = len(self)
            self._tensors = (
                torch.from_numpy(self._words[:size]).to(device),
                torch.from_numpy(self._characters[:size]).to(device),
            )
        return self._tensors
