"""Candidates must be near the word that they replace in an embedding space."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np

from robustparse.attacks.candidates.generator import Slot
from robustparse.attacks.constraints.constraint import Constraint, Masks, Words
from robustparse.attacks.victim import Victim
from robustparse.errors import InputError, check_choice
from robustparse.types import Floats, Indices, Mask
from robustparse.vectors import read_lowered


class WordVectorCosine(Constraint):
    """The cosine of the candidate's and the word's vectors must reach a minimum.

    Compares with the *original* word. Words are looked up lower-cased; if the file has several
    forms of a word, the first one is used.

    Args:
        vectors: a text file of word vectors (`vectors.read_vectors`).
        minimum: in [-1, 1] (0.7, Wang et al. 2021 and Jin et al. 2020; the latter's code uses 0.5,
            Yoo et al. 2020 use 0.9).
        unknown: what to do if the candidate or the word has no vector, or a zero vector: `reject`
            (Wang et al. 2021) or `accept` (Jin et al. 2020).
        limit: reads the first N words of the file; None reads all.

    Raises:
        InputError: when first used: the file is malformed.
    """

    needs = ("word vectors",)
    loads = ("_table",)

    def __init__(
        self,
        vectors: str,
        *,
        minimum: float = 0.7,
        unknown: Literal["reject", "accept"] = "reject",
        limit: int | None = None,
    ) -> None:
        if not -1.0 <= minimum <= 1.0:
            raise InputError(f"must be in [-1, 1], got {minimum}", key="vector cosine: minimum")
        check_choice("vector cosine: unknown", unknown, ("reject", "accept"))
        self.vectors = vectors
        self.minimum = minimum
        self.unknown = unknown
        self.limit = limit

    def accept(self, slots: Sequence[Slot], candidates: Words, victim: Victim) -> Masks:
        """See `Constraint.accept`."""
        if not slots:
            return []
        counts = [len(words) for words in candidates]
        originals = np.repeat(self._rows([slot.word for slot in slots]), counts)
        others = self._rows([word for words in candidates for word in words])
        accepted = self.near(self._between(originals, others))
        return np.split(accepted, np.cumsum(counts)[:-1])

    def near(self, cosines: Floats) -> Mask:
        """Tell which cosines reach the minimum; NaN, without a vector, is as `unknown` says."""
        near = cosines >= self.minimum - 1e-9  # tolerate rounding errors, also at a minimum of 1
        return np.where(np.isnan(cosines), self.unknown == "accept", near)

    def cosines(self, words: Sequence[str], others: Sequence[str]) -> Floats:
        """Compute the cosines of pairs of words, `(words,)`; NaN if a word has no vector."""
        return self._between(self._rows(words), self._rows(others))

    def _between(self, rows: Indices, others: Indices) -> Floats:
        vectors = self._table[1]
        cosines = np.einsum("nd,nd->n", vectors[rows], vectors[others])
        return np.where((rows >= 0) & (others >= 0), cosines, np.nan)

    def _rows(self, words: Sequence[str]) -> Indices:
        """Rows of the words, -1 for one without a vector, `(words,)`."""
        row_of = self._table[0]
        return np.array([row_of.get(word.lower(), -1) for word in words], dtype=np.int64)

    @cached_property
    def _table(self) -> tuple[dict[str, int], Floats]:
        """Row of each lower-cased word, and unit vectors `(words, dim)`."""
        row_of, vectors = read_lowered(Path(self.vectors).expanduser(), self.limit)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        return row_of, vectors / np.where(lengths > 0, lengths, 1.0)
