"""What encoders share that read words by a table of their own, and may read a file of vectors."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robustparse.errors import InputError, check_least
from robustparse.models.encoders.base import Encoder
from robustparse.models.encoders.word_table import FormTable
from robustparse.vectors import read_vectors


class WordEncoder(Encoder):
    """Knows each word as a row of ``table``, which ``build`` makes.

    Args:
        word_dim: of the word embeddings.
        vectors: a text file of word vectors, plain or .gz.
        max_vectors: how many are read from the start of the file; None reads all.
        tune_vectors: train them too.
        vector_words: the words of the vectors, where a checkpoint holds them; the file is then not
            read again.

    Raises:
        InputError: settings of vectors are given without vectors.
    """

    table: FormTable

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
        if vectors is None and (max_vectors is not None or tune_vectors):
            name = "tune_vectors" if max_vectors is None else "max_vectors"
            found, remedy = "has no effect without vectors", "set vectors, or leave it out"
            raise InputError(found, key=f"{type(self).__name__}: {name}", remedy=remedy)
        self.word_dim, self.vector_words = word_dim, vector_words
        self.vectors, self.max_vectors, self.tune_vectors = vectors, max_vectors, tune_vectors

    def read_vectors(self) -> NDArray[np.float32]:
        """Return the vectors of ``vector_words``, ``(words, word_dim)``, which are noted.

        There is none where a checkpoint gave the words: it holds the vectors among its weights.

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
        return matrix

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Restore the words of the vectors; the vectors themselves are among the weights."""
        if self.vectors is not None:
            self.vector_words = saved.get("vector_words")

    def differences(self, saved: Mapping[str, Any]) -> list[str]:
        """Name vectors of other words, or in another order."""
        same = saved.get("vector_words") == self.vector_words
        return [] if same else [f"the words of its vectors (vectors: {self.vectors})"]

    def intern(self, words: Sequence[str]) -> NDArray[np.int32]:
        """See ``Encoder.intern``."""
        return self.table.intern(words)
