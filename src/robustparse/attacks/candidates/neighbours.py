"""Candidates near a word in an embedding space, such as counter-fitted vectors.

Jin et al. 2020 take the 50 nearest words by cosine among counter-fitted vectors, and so do Wang et
al. 2021. The table of neighbours is built once for a file of vectors and mapped from disk.
"""

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from robustparse.attacks.candidates.generator import CandidateGenerator, Slot
from robustparse.errors import InputError, check_least
from robustparse.files import file_digest, make_folder
from robustparse.vectors import read_vectors

_ROWS_AT_ONCE = 1024
_SLACK = 16  # neighbours beyond k that are ranked again in double precision


class EmbeddingNeighbours(CandidateGenerator):
    """Proposes the k words with the highest cosine, the nearest first, without the word itself.

    Casing does not count, neither in looking a word up nor among its neighbours: of several forms
    the first of the file, the most frequent one as a rule, stands for all. Ties in cosine go to the
    earlier word. Words without a vector, or with one of zeros, get no candidates. A word of
    the file that holds blanks (`. . .`) would stand for several, and is left out.

    Args:
        vectors: a text file of word vectors (`vectors.read_vectors`).
        k: neighbours a word (50, Jin et al. 2020 and Wang et al. 2021).
        limit: the first so many words of the file; None is all.
        cache: folder of the tables built; a table's name is a hash of the file's content and the
            settings. None keeps the table in memory.

    Raises:
        InputError: k is below 1; when first used: the file is malformed, the folder not writable.
    """

    CACHES = ("cache",)

    def __init__(
        self,
        vectors: str,
        *,
        k: int = 50,
        limit: int | None = None,
        cache: str | None = "~/.cache/robustparse/neighbours",
    ) -> None:
        check_least("embedding neighbours", k=k)
        self.vectors = vectors
        self.k = k
        self.limit = limit
        self.cache = cache

    def propose(self, slots: Sequence[Slot], seed: int) -> list[list[str]]:
        """See `CandidateGenerator.propose`."""
        if not slots:
            return []
        words, row_of, table = self._table
        known = {
            word: self._look_up(word, words, row_of, table) for word in {s.word for s in slots}
        }
        return [list(known[slot.word]) for slot in slots]

    def fingerprint(self) -> str:
        """See `CandidateGenerator.fingerprint`."""
        return f"EmbeddingNeighbours {self._digest} {self.k} {self.limit}"

    def draws(self) -> bool:
        """See `CandidateGenerator.draws`."""
        return False

    def is_model(self) -> bool:
        """See `CandidateGenerator.is_model`."""
        return False

    @staticmethod
    def _look_up(
        word: str, words: list[str], row_of: dict[str, int], table: NDArray[np.int32]
    ) -> list[str]:
        row = row_of.get(word.lower())
        return [] if row is None else [words[other] for other in table[row].tolist() if other >= 0]

    @cached_property
    def _digest(self) -> str:
        path = Path(self.vectors).expanduser()
        try:
            return file_digest(path)
        except OSError as error:
            raise InputError(
                f"word vectors {path}: cannot be read ({error.strerror}); give a text file of word "
                "vectors, plain or .gz"
            ) from None

    @cached_property
    def _table(self) -> tuple[list[str], dict[str, int], NDArray[np.int32]]:
        """Words, row of each lower-cased word, and neighbours `(words, k)`, -1 beyond the last."""
        words, table = self._built() if self.cache is None else self._from_disk(Path(self.cache))
        return words, {word.lower(): row for row, word in enumerate(words)}, table

    def _built(self) -> tuple[list[str], NDArray[np.int32]]:
        words, vectors = read_vectors(Path(self.vectors).expanduser(), self.limit)
        first: dict[str, int] = {}
        for row, word in enumerate(words):
            # Of bytes, as the file is split: other blanks than ASCII's are part of a word.
            if vectors[row].any() and len(word.encode().split()) == 1:
                first.setdefault(word.lower(), row)
        rows = list(first.values())
        return [words[row] for row in rows], nearest(vectors[rows], self.k)

    def _from_disk(self, cache: Path) -> tuple[list[str], NDArray[np.int32]]:
        """Return the table in the cache, built if it is not there yet."""
        name = hashlib.sha256(self.fingerprint().encode()).hexdigest()[:32]
        folder = cache.expanduser() / name
        if not folder.is_dir():
            _write(folder, *self._built())
        try:
            words = json.loads((folder / "words.json").read_text(encoding="utf-8"))
            table: NDArray[np.int32] = np.load(folder / "neighbours.npy", mmap_mode="r")
            if not isinstance(words, list) or table.shape[:1] != (len(words),):
                raise ValueError(f"{len(words)} words, a table of {table.shape}")
        except (OSError, ValueError, EOFError) as error:  # the last one of an empty table
            raise InputError(
                f"table of neighbours {folder}: cannot be used ({error}); delete the folder and "
                "the table is built again"
            ) from error
        return words, table


def nearest(vectors: NDArray[np.float32], k: int) -> NDArray[np.int32]:
    """Return the k other rows with the highest cosine, the highest first, ties by row.

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
        # Single precision finds who may be near, double precision ranks them.
        near = (fast[rows] @ fast.T).topk(count, dim=1, sorted=False).indices.numpy()
        near.sort(axis=1)
        cosines = np.einsum("rd,rnd->rn", exact[rows], exact[near])
        cosines[near == rows[:, None]] = -np.inf
        order = np.argsort(-cosines, axis=1, kind="stable")[:, : min(k, size - 1)]
        table[rows, : order.shape[1]] = np.take_along_axis(near, order, axis=1)
    return table


def _write(folder: Path, words: list[str], table: NDArray[np.int32]) -> None:
    """Write aside, then rename: the folder is there whole or not at all."""
    make_folder(folder.parent)
    aside = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}."))
    try:
        with (
            (aside / "words.json").open("w", encoding="utf-8") as text,
            (aside / "neighbours.npy").open("wb") as numbers,
        ):
            json.dump(words, text)
            np.save(numbers, table)
            # A machine that fails must not leave the name with half of the content.
            for file in (text, numbers):
                file.flush()
                os.fsync(file.fileno())
        os.chmod(aside, 0o755)
        os.rename(aside, folder)
    except OSError as error:
        shutil.rmtree(aside, ignore_errors=True)
        # Another process may have been quicker; its table is the same.
        if not folder.is_dir():
            raise InputError(
                f"table of neighbours {folder}: cannot be written ({error.strerror}); choose "
                "another `cache`"
            ) from error
    except BaseException:
        shutil.rmtree(aside, ignore_errors=True)
        raise
