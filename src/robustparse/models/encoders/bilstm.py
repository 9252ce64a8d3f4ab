"""The LSTM encoder: words, characters, tags and static vectors, read by a stacked BiLSTM."""

from collections.abc import Iterable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from robustparse.data.vocab import Vocabulary
from robustparse.errors import InputError, check_least, check_rates
from robustparse.models.encoders.dropout import shared_dropout, word_dropout
from robustparse.models.encoders.lstm import BiLSTM
from robustparse.models.encoders.word_embeddings import WordEncoder
from robustparse.models.encoders.word_table import (
    PADDING,
    RESERVED,
    ROOT,
    UNKNOWN,
    WordTable,
    in_order_met,
    trimmed,
)
from robustparse.types import Sentence


class LSTMEncoder(WordEncoder):
    """Word, character and tag embeddings, read by a stacked BiLSTM (Dozat and Manning 2017).

    The parsers of Zheng et al. (2020) are word (the default without characters), word + POS
    (``tag_dim: 100``) and character (``word_dim: 0``, ``character_dim: 100``,
    ``character_out: 200``). A word's character vector consists of the last states of a BiLSTM over
    its first 20 characters, computed once for each distinct word of a batch.

    Args:
        word_dim: size of the word embeddings (100); 0: none. They are the first dimensions of
            ``dim``.
        character_dim: size of the character embeddings (50, SuPar); 0: none.
        character_out: size of a word's character vector (100, SuPar).
        hidden: LSTM units per direction (400).
        layers: LSTM layers (3).
        dropout: dropout of whole embeddings and, with masks shared over time, between layers and of
            the output (0.33).
        tag_dim: size of the embeddings of part-of-speech tags (0: tags are not read).
        vectors: a text file of word vectors, packed or not. They are divided by their standard
            deviation and added to the trained embeddings, which then start at zero (SuPar).
        max_vectors: read only the first N vectors of the file; None reads all.
        tune_vectors: train the vectors, too (SuPar does not).
        vector_words: the words of the vectors, from a checkpoint; the file is then not read again.
        embedding_dropout: dropout of dimensions of the embeddings, with a mask shared over time,
            instead of whole embeddings; None: whole embeddings.

    Raises:
        InputError: a size is out of range, there are no embeddings, or options of vectors are given
            without vectors; or, in ``build``, the vectors cannot be used.
    """

    table: WordTable

    def __init__(
        self,
        word_dim: int = 100,
        character_dim: int = 50,
        character_out: int = 100,
        hidden: int = 400,
        layers: int = 3,
        dropout: float = 0.33,
        tag_dim: int = 0,
        vectors: str | None = None,
        max_vectors: int | None = None,
        tune_vectors: bool = False,
        vector_words: list[str] | None = None,
        embedding_dropout: float | None = None,
    ) -> None:
        super().__init__(word_dim, vectors, max_vectors, tune_vectors, vector_words)
        self.refuse_unless_read(tune_vectors=tune_vectors)
        owner = "LSTMEncoder"
        check_least(owner, hidden=hidden, layers=layers)
        check_least(owner, 0, word_dim=word_dim, character_dim=character_dim, tag_dim=tag_dim)
        if not word_dim and not character_dim:
            raise InputError(
                "word_dim and character_dim are both 0: words cannot be distinguished", key=owner
            )
        if character_dim and (character_out < 2 or character_out % 2):
            message = f"must be even and >= 2, got {character_out}"
            raise InputError(message, key=f"{owner}: character_out")
        check_rates(owner, dropout=dropout, embedding_dropout=embedding_dropout or 0.0)
        if vectors is not None and not word_dim:
            message = "are added to word embeddings, but word_dim is 0"
            raise InputError(message, key=f"{owner}: vectors", remedy="set word_dim to their width")
        self.hidden, self.layers, self.dropout = hidden, layers, dropout
        self.embedding_dropout = embedding_dropout
        self.character_dim, self.character_out = character_dim, character_out
        self.tag_dim, self.reads_tags = tag_dim, tag_dim > 0
        self.form_dim = word_dim + (character_out if character_dim else 0)
        self.dim, self.out_dim = self.form_dim + tag_dim, 2 * hidden

    def build(self, vocabulary: Vocabulary) -> None:
        """Make the layers."""
        if self.word_dim:
            size = RESERVED + len(vocabulary.words)
            self.words = nn.Embedding(size, self.word_dim, padding_idx=PADDING)
        if self.character_dim:
            size = RESERVED + len(vocabulary.characters)
            self.characters = nn.Embedding(size, self.character_dim, padding_idx=PADDING)
            self.character_lstm = BiLSTM(self.character_dim, self.character_out // 2)
        self.lstm = BiLSTM(self.dim, self.hidden, self.layers, self.dropout)
        if self.tag_dim:
            self._tag_ids = {tag: RESERVED + i for i, tag in enumerate(vocabulary.xpos)}
            size = RESERVED + len(vocabulary.xpos)
            self.tags = nn.Embedding(size, self.tag_dim, padding_idx=PADDING)
        if self.vectors is not None:
            self._add_vectors(self.vectors, vocabulary)
        self.table = WordTable(vocabulary, self.vector_words or ())

    def _add_vectors(self, path: str, vocabulary: Vocabulary) -> None:
        matrix = self.read_vectors(vocabulary)
        if len(matrix):
            matrix = _divided_by_deviation(matrix, path)
        words = self.vector_words or ()
        self.static = nn.Embedding(1 + len(words), self.word_dim, padding_idx=0)
        with torch.no_grad():
            self.static.weight[1 : 1 + len(matrix)] = torch.from_numpy(matrix)
        self.static.requires_grad_(self.tune_vectors)
        nn.init.zeros_(self.words.weight)

    def embedded(self, words: Sequence[str]) -> NDArray[np.bool_] | None:
        """Tell which words are in the vocabulary or vector file; None without word embeddings."""
        return self.table.known(words) if self.word_dim else None

    def intern_tags(self, tags: Sequence[str]) -> NDArray[np.int32]:
        """Return ids of tags; tags not seen in training are unknown."""
        if not self.tag_dim:
            return super().intern_tags(tags)
        return np.array([self._tag_ids.get(tag, UNKNOWN) for tag in tags], dtype=np.int32)

    def warnings(self, sentences: Iterable[Sentence]) -> list[str]:
        """Warn if tags are read but none of the sentences' tags is known."""
        tags = {tag for sentence in sentences for tag in sentence.tags}
        if not self.tag_dim or not tags or tags & self._tag_ids.keys():
            return []
        return [
            "the model reads part-of-speech tags, but knows none of these sentences' tags: "
            f"{', '.join(sorted(tags))}; expected some of {', '.join(sorted(self._tag_ids))} in "
            "column 5 (or in column 4 if column 5 has none)"
        ]

    def embed(self, words: Tensor, tags: Tensor) -> Tensor:
        """Look up words, characters and tags, concatenated in this order."""
        rows = nn.functional.pad(words, (1, 0), value=ROOT)
        word_ids, character_ids, vector_rows = self.table.tensors(words.device)
        parts = []
        if self.word_dim:
            parts.append(self.words(word_ids[rows, 0]))
        if self.vectors is not None:
            parts[0] = parts[0] + self.static(vector_rows[rows, 0])
        if self.character_dim:
            different, where = in_order_met(rows)
            ids, counts = trimmed(character_ids[different])
            parts.append(self.spell(self.characters(ids), counts)[where])
        if self.tag_dim:
            parts.append(self.tags(nn.functional.pad(tags, (1, 0), value=ROOT)))
        return torch.cat(parts, dim=-1)

    def spell(self, characters: Tensor, lengths: Tensor) -> Tensor:
        """Read characters ``(words, width, character_dim)`` -> ``(words, character_out)``."""
        spelled = self.character_lstm.last_states(characters, lengths)
        return spelled.to(self.characters.weight.dtype)

    def forward(self, embeddings: Tensor, words: Tensor, lengths: Tensor) -> Tensor:
        """Apply dropout and read the sentence."""
        states = self.lstm(self._dropped(embeddings), lengths + 1)
        return shared_dropout(states, self.dropout, self.training)

    def _dropped(self, embeddings: Tensor) -> Tensor:
        if self.embedding_dropout is not None:
            return shared_dropout(embeddings, self.embedding_dropout, self.training)
        sizes = [self.word_dim, self.character_out if self.character_dim else 0, self.tag_dim]
        parts = list(torch.split(embeddings, [size for size in sizes if size], dim=-1))
        return torch.cat(word_dropout(parts, self.dropout, self.training), dim=-1)


def _divided_by_deviation(matrix: NDArray[np.float32], path: str) -> NDArray[np.float32]:
    """Divide vectors ``(words, dim)`` by the standard deviation of all their values."""
    # In float64, since the square of a float32 may not fit a float32.
    deviation = np.float32(matrix.std(dtype=np.float64))
    if matrix.min() == matrix.max() or not 0 < deviation < np.inf:
        raise InputError(
            f"the values cannot be divided by their standard deviation, {deviation:g}",
            path=path,
            remedy="use vectors whose values differ, or leave vectors out",
        )
    return matrix / deviation
