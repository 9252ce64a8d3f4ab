"""From words to one vector each: the encoder of a parser.

An encoder is configured by plain numbers, gets its layers when the vocabulary is known, and splits
its work in two, so that offsets can be added in between: ``embed`` looks words up, ``forward``
reads the sentence.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from robustparse.data.vocab import Vocabulary
from robustparse.errors import InputError
from robustparse.parsers.dropout import shared_dropout, word_dropout
from robustparse.parsers.lstm import BiLSTM
from robustparse.parsers.word_table import PADDING, RESERVED, ROOT, WordTable


class Encoder(nn.Module, ABC):
    """One interface for every encoder.

    Attributes:
        dim: of the embeddings, to which offsets are added.
        out_dim: of the vectors that a parser scores.
    """

    dim: int
    out_dim: int

    @abstractmethod
    def build(self, vocabulary: Vocabulary) -> None:
        """Make the layers, whose sizes follow from the vocabulary."""

    @abstractmethod
    def intern(self, words: Sequence[str]) -> NDArray[np.int32]:
        """The rows of words, by which ``embed`` knows them."""

    @abstractmethod
    def embed(self, words: Tensor, tags: Tensor) -> Tensor:
        """Rows ``(batch, length)`` and tag ids -> embeddings ``(batch, 1 + length, dim)``.

        Position 0 is ROOT; padding embeds to whatever ``forward`` then ignores.
        """

    @abstractmethod
    def forward(self, embeddings: Tensor, lengths: Tensor) -> Tensor:
        """``(batch, 1 + length, dim)`` -> ``(batch, 1 + length, out_dim)``; dropout is in here.

        Args:
            embeddings: what ``embed`` gave, plus an offset where there is one.
            lengths: ``(batch,)`` words a sentence, ROOT not counted.
        """


class LSTMEncoder(Encoder):
    """Word and character embeddings, read by a stacked BiLSTM (Dozat and Manning 2017).

    A word's character vector is the last states of a BiLSTM over its characters (Zheng et al. 2020,
    character variant), computed once for each different word of a batch.

    Args:
        word_dim: of the word embeddings (100); the first ``word_dim`` of ``dim`` are the word's.
        character_dim: of the character embeddings (50, SuPar); 0 leaves characters out.
        character_out: of a word's character vector (100, SuPar).
        hidden: LSTM units a direction (400).
        layers: of the LSTM (3).
        dropout: of whole embeddings and, with masks shared over time, between layers (0.33).
    """

    def __init__(
        self,
        word_dim: int = 100,
        character_dim: int = 50,
        character_out: int = 100,
        hidden: int = 400,
        layers: int = 3,
        dropout: float = 0.33,
    ) -> None:
        super().__init__()
        if min(word_dim, hidden, layers) < 1:
            raise InputError(
                f"word_dim, hidden and layers must be >= 1, got {word_dim}, {hidden}, {layers}"
            )
        if character_dim < 0 or (character_dim and (character_out < 2 or character_out % 2)):
            raise InputError(
                "character_dim must be >= 0 and character_out even and >= 2, got "
                f"{character_dim} and {character_out}"
            )
        if not 0.0 <= dropout < 1.0:
            raise InputError(f"dropout must be in [0, 1), got {dropout}")
        self.word_dim, self.hidden, self.layers = word_dim, hidden, layers
        self.character_dim, self.character_out = character_dim, character_out
        self.dropout = dropout
        self.dim = word_dim + (character_out if character_dim else 0)
        self.out_dim = 2 * hidden

    def build(self, vocabulary: Vocabulary) -> None:
        """Make the layers."""
        self.table = WordTable(vocabulary)
        self.words = nn.Embedding(
            RESERVED + len(vocabulary.words), self.word_dim, padding_idx=PADDING
        )
        if self.character_dim:
            self.characters = nn.Embedding(
                RESERVED + len(vocabulary.characters), self.character_dim, padding_idx=PADDING
            )
            self.character_lstm = BiLSTM(self.character_dim, self.character_out // 2)
        self.lstm = BiLSTM(self.dim, self.hidden, self.layers, self.dropout)

    def intern(self, words: Sequence[str]) -> NDArray[np.int32]:
        """Rows of the word table."""
        return self.table.intern(words)

    def embed(self, words: Tensor, tags: Tensor) -> Tensor:
        """Look words and characters up; tags are not read."""
        rows = nn.functional.pad(words, (1, 0), value=ROOT)
        word_ids, character_ids = self.table.tensors(words.device)
        embeddings = self.words(word_ids[rows])
        if not self.character_dim:
            return embeddings  # type: ignore[no-any-return]
        different, where = _in_order_met(rows)
        spelled = self._spell(character_ids[different])[where]
        return torch.cat([embeddings, spelled.to(embeddings.dtype)], dim=-1)

    def _spell(self, character_ids: Tensor) -> Tensor:
        """``(words, max_characters)`` -> ``(words, character_out)``."""
        lengths = (character_ids != PADDING).sum(1)
        width = max(1, int(lengths.max()))
        return self.character_lstm.last_states(self.characters(character_ids[:, :width]), lengths)

    def forward(self, embeddings: Tensor, lengths: Tensor) -> Tensor:
        """Drop whole embeddings, read the sentence."""
        sizes = [self.word_dim, self.dim - self.word_dim]
        parts = list(torch.split(embeddings, [size for size in sizes if size], dim=-1))
        kept = torch.cat(word_dropout(parts, self.dropout, self.training), dim=-1)
        states = self.lstm(kept, lengths + 1)
        return shared_dropout(states, self.dropout, self.training)


def _in_order_met(rows: Tensor) -> tuple[Tensor, Tensor]:
    """The different rows and the place of each among them, as ``torch.unique`` gives them.

    Not sorted, though: a row's number follows from what was read before it, which a resumed run
    reads in another order, and float sums follow the order of the rows.
    """
    different, where = torch.unique(rows, return_inverse=True)
    positions = torch.arange(rows.numel(), device=rows.device)
    first = torch.full_like(different, rows.numel())
    first = first.scatter_reduce(0, where.flatten(), positions, "amin")
    order = first.argsort()
    return different[order], order.argsort()[where]
