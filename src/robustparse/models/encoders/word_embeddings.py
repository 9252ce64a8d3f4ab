"""Embeddings of whole words, from a table or a file of vectors, and an encoder that is no more.

Text classifiers read such embeddings without a context (Kim 2014; Jin et al. 2020).
"""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from robustparse.data.vocab import Vocabulary
from robustparse.errors import InputError, check_least, check_rates
from robustparse.models.encoders.base import TableEncoder
from robustparse.models.encoders.word_table import (
    PADDING,
    RESERVED,
    ROOT,
    SEPARATOR,
    UNKNOWN,
    FormTable,
)
from robustparse.vectors import read_vectors

LEAST_COVERAGE = 0.5
"""Share of the vocabulary's words below which vectors do not fit the training data."""

log = logging.getLogger(__name__)

_SPREAD = 0.25  # of random embeddings, uniform on both sides of 0 (Kim 2014)


class WordEncoder(TableEncoder):
    """What encoders share that know each word as a row of their own ``table`` and may read vectors.

    Args:
        word_dim: of the word embeddings.
        vectors: a text file of word vectors, plain or .gz.
        max_vectors: how many are read from the start of the file; None reads all.
        tune_vectors: train them too.
        vector_words: the words of the vectors, where a checkpoint holds them; the file is then not
            read again.

    Raises:
        InputError: ``max_vectors`` is below 1, or given without vectors.
    """

    def __init__(
        self,
        word_dim: int,
        vectors: str | None,
        max_vectors: int | None,
        tune_vectors: bool,
        vector_words: list[str] | None,
    ) -> None:
        super().__init__()
        check_least(type(self).__name__, max_vectors=max_vectors)
        self.word_dim, self.vector_words = word_dim, vector_words
        self.vectors, self.max_vectors, self.tune_vectors = vectors, max_vectors, tune_vectors
        self.refuse_unless_read(max_vectors=max_vectors is not None)

    def refuse_unless_read(self, **settings: bool) -> None:
        """Refuse settings of vectors, by name whether one was given, where none are read.

        Raises:
            InputError: names the setting.
        """
        for name, given in settings.items():
            if given and self.vectors is None:
                found, remedy = "has no effect without vectors", "set vectors, or leave it out"
                raise InputError(found, key=f"{type(self).__name__}: {name}", remedy=remedy)

    def read_vectors(self, vocabulary: Vocabulary) -> NDArray[np.float32]:
        """Return the vectors of ``vector_words``, ``(words, word_dim)``, which are noted.

        There is none where a checkpoint gave the words: it holds the vectors among its weights.
        Vectors of less than `LEAST_COVERAGE` of the vocabulary's words are warned of.

        Raises:
            InputError: the file cannot be read, or its vectors have another width.
        """
        none: NDArray[np.float32] = np.zeros((0, self.word_dim), dtype=np.float32)
        if self.vectors is None or self.vector_words is not None:
            return none
        self.vector_words, matrix = read_vectors(Path(self.vectors), self.max_vectors)
        if matrix.shape[1] != self.word_dim:
            raise InputError(
                f"vectors of {matrix.shape[1]} numbers, and word_dim is {self.word_dim}",
                path=self.vectors,
                remedy=f"set word_dim to {matrix.shape[1]}",
            )
        if vocabulary.words:
            there = {word.lower() for word in self.vector_words}
            share = len(there.intersection(vocabulary.words)) / len(vocabulary.words)
            if share < LEAST_COVERAGE:
                message = "%s: holds vectors of %.1f%% of the training words, below %.0f%%: "
                message += "are they of another language, or capped by max_vectors?"
                log.warning(message, self.vectors, 100 * share, 100 * LEAST_COVERAGE)
        return matrix

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Restore the words of the vectors; the vectors themselves are among the weights."""
        if self.vectors is not None:
            self.vector_words = saved.get("vector_words")

    def differences(self, saved: Mapping[str, Any]) -> list[str]:
        """Name vectors of other words, or in another order."""
        same = saved.get("vector_words") == self.vector_words
        return [] if same else [f"the words of its vectors (vectors: {self.vectors})"]


class WordEmbeddings(WordEncoder):
    """One vector a word: trained, or from a file of vectors, whose words are then all it knows.

    A form is looked up as it is, then lower-cased. All words without an embedding share that of
    the unknown word.

    Args:
        word_dim: of the embeddings (100); as wide as the vectors, where there are some.
        dropout: of single numbers of the embeddings (0.3, released code of Jin et al. 2020).
        vectors: a text file of word vectors, plain or .gz.
        max_vectors: how many are read from the start of the file; None reads all.
        tune_vectors: train them (Yoo et al. 2020); otherwise they stay as they are (Jin et al.
            2020).
        unit_length: scale every embedding to length 1 before training (Jin et al. 2020).
        vector_words: the words of the vectors, where a checkpoint holds them; the file is then not
            read again.

    Raises:
        InputError: a size is out of range, or settings of vectors are given without vectors; or, in
            ``build``, the vectors cannot be used.
    """

    table: "EmbeddingTable"
    contextual = False

    def __init__(
        self,
        word_dim: int = 100,
        dropout: float = 0.3,
        vectors: str | None = None,
        max_vectors: int | None = None,
        tune_vectors: bool = True,
        unit_length: bool = False,
        vector_words: list[str] | None = None,
    ) -> None:
        super().__init__(word_dim, vectors, max_vectors, tune_vectors, vector_words)
        self.refuse_unless_read(tune_vectors=not tune_vectors)
        check_least("WordEmbeddings", word_dim=word_dim)
        check_rates("WordEmbeddings", dropout=dropout)
        self.dropout, self.unit_length = dropout, unit_length
        self.dim = self.form_dim = self.out_dim = word_dim

    def build(self, vocabulary: Vocabulary) -> None:
        """Make the table: random numbers, in part overwritten by vectors."""
        matrix = self.read_vectors(vocabulary)
        words = vocabulary.words if self.vectors is None else tuple(self.vector_words or ())
        self.words = nn.Embedding(RESERVED + len(words), self.word_dim, padding_idx=PADDING)
        weight = self.words.weight.detach().uniform_(-_SPREAD, _SPREAD)
        weight[RESERVED : RESERVED + len(matrix)] = torch.from_numpy(matrix)
        if self.unit_length:
            weight.copy_(nn.functional.normalize(weight))
        weight[[PADDING, ROOT]] = 0.0
        self.words.requires_grad_(self.vectors is None or self.tune_vectors)
        self.table = EmbeddingTable(words)

    def embedded(self, words: Sequence[str]) -> NDArray[np.bool_]:
        """Tell words of the training data or, with vectors, of their file."""
        return self.table.known(words)

    def embed(self, words: Tensor, tags: Tensor) -> Tensor:
        """Look words up; tags are not read."""
        rows = nn.functional.pad(words, (1, 0), value=ROOT)
        embedded: Tensor = self.words(self.table.tensors(words.device)[0][rows, 0])
        return embedded

    def forward(self, embeddings: Tensor, words: Tensor, lengths: Tensor) -> Tensor:
        """Drop numbers of the embeddings; no word learns of another."""
        return nn.functional.dropout(embeddings, self.dropout, self.training)


class EmbeddingTable(FormTable):
    """Row -> row of the embeddings.

    Args:
        words: those that have one.
    """

    def __init__(self, words: Sequence[str]) -> None:
        super().__init__([np.arange(RESERVED)[:, None]])
        ids = {word: id_ for id_, word in enumerate(words, start=RESERVED)}
        self._ids = {SEPARATOR: ROOT} | ids

    def describe(self, words: Sequence[str]) -> list[NDArray[np.int64]]:
        """See ``FormTable.describe``."""
        ids = self._ids
        found = [ids.get(word, ids.get(word.lower(), UNKNOWN)) for word in words]
        return [np.array(found, dtype=np.int64)[:, None]]

    def known(self, words: Sequence[str]) -> NDArray[np.bool_]:
        """Tell which words have an embedding of their own, ``(words,)``; none gets a row."""
        found: NDArray[np.bool_] = self.describe(words)[0][:, 0] != UNKNOWN
        return found
