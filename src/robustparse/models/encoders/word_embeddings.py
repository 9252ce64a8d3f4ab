"""Word embeddings, trained or from a file of vectors, and the encoder that consists of them.

Text classifiers read such embeddings without context (Kim 2014; Jin et al. 2020).
"""

import logging
import os
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
"""If vectors cover a smaller share of the vocabulary, they do not fit the training data."""

log = logging.getLogger(__name__)

_SPREAD = 0.25  # random embeddings are uniform in (-0.25, 0.25) (Kim 2014)


class WordEncoder(TableEncoder):
    """The base class of encoders with word embeddings and, optionally, static vectors.

    Args:
        word_dim: size of the word embeddings.
        vectors: a text file of word vectors, packed or not.
        max_vectors: read only the first N vectors of the file; None reads all.
        tune_vectors: train the vectors, too.
        vector_words: the words of the vectors, from a checkpoint; the file is then not read again.

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
        """Reject options of vectors if there are no vectors.

        Args:
            settings: option -> whether it is set.

        Raises:
            InputError: names the option.
        """
        for name, is_set in settings.items():
            if is_set and self.vectors is None:
                message, remedy = "has no effect without vectors", "set vectors, or leave it out"
                raise InputError(message, key=f"{type(self).__name__}: {name}", remedy=remedy)

    def read_vectors(self, vocabulary: Vocabulary) -> NDArray[np.float32]:
        """Read the vectors ``(words, word_dim)`` and set ``vector_words``.

        The result is empty if ``vector_words`` came from a checkpoint, whose weights include the
        vectors. A warning is logged if the vectors cover less than `LEAST_COVERAGE` of the
        vocabulary.

        Raises:
            InputError: the file cannot be read, or its vectors have another width.
        """
        none: NDArray[np.float32] = np.zeros((0, self.word_dim), dtype=np.float32)
        if self.vectors is None or self.vector_words is not None:
            return none
        path = Path(os.path.expanduser(self.vectors))  # noqa: PTH111 - `Path` raises on ~a
        self.vector_words, matrix = read_vectors(path, self.max_vectors)
        if matrix.shape[1] != self.word_dim:
            raise InputError(
                f"vectors of {matrix.shape[1]} numbers, but word_dim is {self.word_dim}",
                path=self.vectors,
                remedy=f"set word_dim to {matrix.shape[1]}",
            )
        if vocabulary.words:
            covered = {word.lower() for word in self.vector_words}.intersection(vocabulary.words)
            share = len(covered) / len(vocabulary.words)
            if share < LEAST_COVERAGE:
                message = "%s: holds vectors of %.1f%% of the training words, below %.0f%%: "
                message += "are they of another language, or capped by max_vectors?"
                log.warning(message, self.vectors, 100 * share, 100 * LEAST_COVERAGE)
        return matrix

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Restore the words of the vectors; the vectors are part of the weights."""
        if self.vectors is not None:
            self.vector_words = saved.get("vector_words")

    def differences(self, saved: Mapping[str, Any]) -> list[str]:
        """Name the vectors if their words, or the order of these, differ."""
        same = saved.get("vector_words") == self.vector_words
        return [] if same else [f"the words of its vectors (vectors: {self.vectors})"]


class WordEmbeddings(WordEncoder):
    """One vector per word: trained, or from a file, whose words are then the only known ones.

    A form is looked up as written, then lower-cased. All words without an embedding share that of
    the unknown word.

    Args:
        word_dim: size of the embeddings (100); must equal that of the vectors.
        dropout: dropout of single values of the embeddings (0.3, released code of Jin et al. 2020).
        vectors: a text file of word vectors, packed or not.
        max_vectors: read only the first N vectors of the file; None reads all.
        tune_vectors: train the vectors (Yoo et al. 2020) instead of freezing them (Jin et al.
            2020).
        unit_length: scale every embedding to length 1 before training (Jin et al. 2020).
        vector_words: the words of the vectors, from a checkpoint; the file is then not read again.

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
        """Make the table with random embeddings and those of the file."""
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
        """Tell which words occur in the training data or, with vectors, in their file."""
        return self.table.known(words)

    def embed(self, words: Tensor, tags: Tensor) -> Tensor:
        """Look up words; tags are not read."""
        rows = nn.functional.pad(words, (1, 0), value=ROOT)
        embedded: Tensor = self.words(self.table.tensors(words.device)[0][rows, 0])
        return embedded

    def forward(self, embeddings: Tensor, words: Tensor, lengths: Tensor) -> Tensor:
        """Apply dropout; words do not affect each other."""
        return nn.functional.dropout(embeddings, self.dropout, self.training)


class EmbeddingTable(FormTable):
    """Maps rows to rows of the embeddings.

    Args:
        words: the words with an embedding.
    """

    def __init__(self, words: Sequence[str]) -> None:
        super().__init__([np.arange(RESERVED)[:, None]])
        ids = {word: id_ for id_, word in enumerate(words, start=RESERVED)}
        self._ids = {SEPARATOR: ROOT} | ids

    def describe(self, words: Sequence[str]) -> list[NDArray[np.int64]]:
        """See ``FormTable.describe``."""
        ids = self._ids
        rows = [ids.get(word, ids.get(word.lower(), UNKNOWN)) for word in words]
        return [np.array(rows, dtype=np.int64)[:, None]]

    def known(self, words: Sequence[str]) -> NDArray[np.bool_]:
        """Tell which words have their own embedding, ``(words,)``, without adding rows."""
        known: NDArray[np.bool_] = self.describe(words)[0][:, 0] != UNKNOWN
        return known
