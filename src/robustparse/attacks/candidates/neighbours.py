"""Candidates near a word in an embedding space, such as counter-fitted vectors.

Jin et al. 2020 and Wang et al. 2021 take the 50 words with the highest cosine among counter-fitted
vectors. The table of neighbours is built once per file of vectors and cached on disk.
"""

import hashlib
import json
from collections.abc import Sequence
from functools import cached_property
from io import BytesIO
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from robustparse.attacks.candidates.generator import CandidateGenerator, Slot
from robustparse.errors import InputError, check_least
from robustparse.files.digests import file_digest
from robustparse.files.json_text import decode_json
from robustparse.files.writing import write_bytes
from robustparse.types import Ids
from robustparse.vectors import read_vectors

_ROWS_AT_ONCE = 1024
_SLACK = 16  # neighbours beyond k that are ranked again in double precision


class EmbeddingNeighbours(CandidateGenerator):
    """Proposes the k other words with the highest cosine, the nearest first.

    Equal cosines keep the order of the file. Words without a vector, or with a zero vector, get no
    candidates. Words of the file that contain blanks (`. . .`) are left out.

    Args:
        vectors: a text file of word vectors (`vectors.read_vectors`).
        k: neighbours per word (50, Jin et al. 2020 and Wang et al. 2021).
        limit: reads the first N words of the file; None reads all.
        fold: whether to ignore case; the first of several forms in the file then represents them
            all. If false, as in the released code of Jin et al. 2020, "A" gets no candidates if the
            file has only "a".
        cache: folder of the tables; a table's name is a hash of the file's content and the
            settings. None keeps the table in memory.

    Raises:
        InputError: k is below 1; when first used: the file is malformed, the folder not writable.
    """

    needs = ("word vectors",)
    CACHES = ("cache",)
    draws = False
    loads = ("_table",)

    def __init__(
        self,
        vectors: str,
        *,
        k: int = 50,
        limit: int | None = None,
        fold: bool = True,
        cache: str | None = "~/.cache/robustparse/neighbours",
    ) -> None:
        check_least("embedding neighbours", k=k)
        self.vectors = vectors
        self.k = k
        self.limit = limit
        self.fold = fold
        self.cache = cache

    def propose(self, slots: Sequence[Slot], seed: int) -> list[list[str]]:
        """See `CandidateGenerator.propose`."""
        if not slots:
            return []
        words, row_of, table = self._table
        rows = [row_of.get(self._key(slot.word)) for slot in slots]
        return [
            [] if row is None else [words[other] for other in table[row].tolist() if other >= 0]
            for row in rows
        ]

    def fingerprint(self) -> str:
        """See `CandidateGenerator.fingerprint`."""
        return f"EmbeddingNeighbours {self._digest} {self.k} {self.limit} fold={self.fold}"

    @cached_property
    def _digest(self) -> str:
        path = Path(self.vectors).expanduser()
        try:
            return file_digest(path)
        except OSError as error:
            raise InputError(
                f"cannot be read ({error.strerror})",
                path=path,
                expected="a text file of word vectors",
            ) from None

    @cached_property
    def _table(self) -> tuple[list[str], dict[str, int], Ids]:
        """The words, the row of each word, and neighbours `(words, k)`, padded with -1."""
        words, table = self._built() if self.cache is None else self._from_disk(Path(self.cache))
        return words, {self._key(word): row for row, word in enumerate(words)}, table

    def _key(self, word: str) -> str:
        """Return the key of a word in the table."""
        return word.lower() if self.fold else word

    def _built(self) -> tuple[list[str], Ids]:
        words, vectors = read_vectors(Path(self.vectors).expanduser(), self.limit)
        first: dict[str, int] = {}
        for row, word in enumerate(words):
            # Texts are split at every Unicode blank, so a word with one could not be written.
            if vectors[row].any() and word.split() == [word]:
                first.setdefault(self._key(word), row)
        rows = list(first.values())
        return [words[row] for row in rows], nearest(vectors[rows], self.k)

    def _from_disk(self, cache: Path) -> tuple[list[str], Ids]:
        """Read the table from the cache, building it first if it is missing."""
        name = hashlib.sha256(self.fingerprint().encode()).hexdigest()[:32]
        path = cache.expanduser() / f"{name}.npz"
        if not path.is_file():
            words, table = self._built()
            write_bytes(path, _packed(words, table))
            return words, table
        remedy = "delete the file to build the table again"
        try:
            # The zip format has checksums.
            with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
                text, table = arrays["words"].tobytes().decode(), arrays["table"]
        except Exception as error:  # a damaged file raises many types
            raise InputError(f"cannot be read ({error})", path=path, remedy=remedy) from error
        words = decode_json(text, list, path=path, remedy=remedy)
        if table.shape != (len(words), self.k) or table.dtype != np.int32:
            message = f"{len(words)} words, but a table of {table.shape}, {table.dtype}"
            raise InputError(message, path=path, remedy=remedy)
        if not all(isinstance(word, str) for word in words) or not _are_rows(table, len(words)):
            raise InputError("not a table of neighbours", path=path, remedy=remedy)
        return words, table


def _packed(words: list[str], table: Ids) -> bytes:
    """Serialise words and their neighbours."""
    content = BytesIO()
    text = np.frombuffer(json.dumps(words).encode(), dtype=np.uint8)
    np.savez(content, words=text, table=table)
    return content.getvalue()


def _are_rows(table: Ids, size: int) -> bool:
    return size == 0 or (int(table.min()) >= -1 and int(table.max()) < size)


def nearest(vectors: NDArray[np.float32], k: int) -> Ids:
    """Find the k other rows with the highest cosine, the highest first, ties by row.

    Args:
        vectors: `(words, dim)`, no row of zeros.
        k: neighbours a row.

    Returns:
        Rows `(words, k)`, -1 where there are fewer others.
    """
    size = len(vectors)
    exact = vectors.astype(np.float64)
    exact /= np.linalg.norm(exact, axis=1, keepdims=True)
    fast = torch.from_numpy(exact).float()
    table = np.full((size, k), -1, dtype=np.int32)
    count = min(size, k + 1 + _SLACK)
    for begin in range(0, size, _ROWS_AT_ONCE):
        rows = np.arange(begin, min(size, begin + _ROWS_AT_ONCE))
        # Single precision selects, double precision ranks.
        near = (fast[rows] @ fast.T).topk(count, dim=1, sorted=False).indices.numpy()
        near.sort(axis=1)
        cosines = np.einsum("rd,rnd->rn", exact[rows], exact[near])
        cosines[near == rows[:, None]] = -np.inf
        order = np.argsort(-cosines, axis=1, kind="stable")[:, : min(k, size - 1)]
        table[rows, : order.shape[1]] = np.take_along_axis(near, order, axis=1)
    return table
