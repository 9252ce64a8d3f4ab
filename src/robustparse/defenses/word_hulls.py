"""Mixtures of the vectors of words and their substitutes: points of a convex hull.

For a word w with the substitutes v_1 to v_m and weights p_0 to p_m, which sum to 1, the embeddings
of its units (the word itself, or its word pieces) become

    e_1 = p_0 E_1(w) + sum_j p_j E(v_j),    e_k = p_0 E_k(w) for its further pieces

E(v) is the vector of a substitute, the mean over its pieces. With weight 1 on the word, its
embeddings do not change. With weight 1 on a substitute, its vector stands at the word's first
piece, and the further pieces are zeros. Embeddings of tags, ROOT, padding and words without
substitutes do not change.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from robustparse.attacks.substitution_table import SubstitutionTable
from robustparse.data.batch import Batch
from robustparse.models.base import Model
from robustparse.models.encoders.word_table import in_order_met
from robustparse.models.white_box import word_vectors


@dataclass(frozen=True)
class Hulls:
    """The words of a batch that have substitutes, and the vectors of these.

    ``words`` is the number of such words; ``units`` are the positions of the batch's embeddings.

    Args:
        texts: ``(words,)`` the row of each word's text, in increasing order.
        valid: ``(words, candidates)`` which candidates exist; the first one is the word itself.
        vectors: ``(words, candidates - 1, form_dim)`` E of the substitutes; any value for
            candidates that do not exist.
        word: ``(batch, units)`` the index of each unit's word; ``words`` if the word has no
            substitutes.
        first: ``(batch, units)`` the same for the first unit of a word; ``words`` for other units.
    """

    texts: Tensor
    valid: Tensor
    vectors: Tensor
    word: Tensor
    first: Tensor

    def detach(self) -> "Hulls":
        """Return the same hulls, without gradients of the vectors."""
        return Hulls(self.texts, self.valid, self.vectors.detach(), self.word, self.first)

    def mixed(self, embeddings: Tensor, weights: Tensor) -> Tensor:
        """Mix the embeddings of words and substitutes.

        Args:
            embeddings: of the batch, ``(batch, units, dim)``.
            weights: of the candidates, ``(words, candidates)``; 0 for those that do not exist.

        Returns:
            ``(batch, units, dim)``.
        """
        weights = weights.to(embeddings.dtype)
        of_word = nn.functional.pad(weights[:, 0], (0, 1), value=1.0)[self.word]
        # Not a matrix product, which mixed precision would round.
        others = (weights[:, 1:, None] * self.vectors).sum(1)
        of_others = nn.functional.pad(others, (0, 0, 0, 1))[self.first]
        form_dim = self.vectors.shape[2]
        form = of_word.unsqueeze(-1) * embeddings[..., :form_dim] + of_others
        return torch.cat([form, embeddings[..., form_dim:]], dim=-1)


class HullTable:
    """Looks up the hulls of batches in a substitution table.

    A model with a robust encoding reads a code in place of a word. The substitutes are then the
    codes of the table's substitutes of the code itself, not of all words of its cluster.

    Args:
        model: the model whose embeddings are mixed.
        table: the substitutes.
        most: the most substitutes of a word; the best ones are used.
    """

    def __init__(self, model: Model, table: SubstitutionTable, most: int) -> None:
        self._model, self._table, self._most = model, table, most
        self._known: dict[int, NDArray[np.int64]] = {}  # row of a word -> rows of its substitutes

    def of(self, batch: Batch) -> Hulls:
        """Return the hulls of a batch, with gradients of the vectors of substitutes.

        Raises:
            InputError: the encoder cannot map rows to words.
        """
        encoder, device, words = self._model.encoder, batch.words.device, batch.words.cpu().numpy()
        texts, positions = batch.mask.cpu().numpy().nonzero()
        substitutes = self._substitutes(words[texts, positions].tolist())
        changeable = np.array([len(rows) > 0 for rows in substitutes], dtype=np.bool_)
        texts, positions = texts[changeable], positions[changeable]
        rows = _padded([rows for rows in substitutes if len(rows)])
        # The indices of words at the positions of the batch, where 0 is ROOT: [batch, 1 + length]
        numbers = np.full((len(words), 1 + words.shape[1]), len(texts))
        numbers[texts, 1 + positions] = np.arange(len(texts))
        units = encoder.unit_words(batch.words, batch.lengths)
        word = torch.from_numpy(numbers).to(device).gather(1, units)
        begins = units != nn.functional.pad(units[:, :-1], (1, 0))
        return Hulls(
            torch.from_numpy(texts).to(device),
            torch.from_numpy(np.pad(rows > 0, ((0, 0), (1, 0)), constant_values=True)).to(device),
            self._vectors(torch.from_numpy(rows).to(device)),
            word,
            torch.where(begins, word, len(texts)),
        )

    def _substitutes(self, rows: Sequence[int]) -> list[NDArray[np.int64]]:
        """Return the rows of the substitutes of each word, from the words' own rows."""
        encoder = self._model.encoder
        new = [row for row in dict.fromkeys(rows) if row not in self._known]
        for row, word in zip(new, encoder.words_of(new), strict=True):
            # With an encoding, substitutes with the same code count once, and not if it is the
            # word's own code.
            substitutes = self._model.intern(self._table.of(word)[: self._most]).tolist()
            different = [other for other in dict.fromkeys(substitutes) if other != row]
            self._known[row] = np.array(different, dtype=np.int64)
        return [self._known[row] for row in rows]

    def _vectors(self, rows: Tensor) -> Tensor:
        """Return the vectors of words, ``(words, most)`` -> ``(words, most, form_dim)``."""
        encoder = self._model.encoder
        if not len(rows):
            return next(self._model.parameters()).new_zeros(0, 0, encoder.form_dim)
        # A resumed run numbers rows differently, which must not change the order of summation.
        different, which = in_order_met(rows)
        return word_vectors(encoder, different)[which]


def _padded(rows: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return rows of different lengths as one array, with 0 after the end of each."""
    padded = np.zeros((len(rows), max(map(len, rows), default=0)), dtype=np.int64)
    for index, of_word in enumerate(rows):
        padded[index, : len(of_word)] = of_word
    return padded
