"""Gradients and input embeddings of words, for white-box attacks."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from robustparse.data.batch import Batch
from robustparse.errors import InputError
from robustparse.models.base import Model
from robustparse.models.encoders.base import Encoder
from robustparse.models.encoders.bilstm import LSTMEncoder
from robustparse.models.encoders.word_table import RESERVED, trimmed

_AT_ONCE = 4096  # words embedded in one go


def by_word(
    model: Model, batch: Batch, gradient: Tensor, embedded: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Combine gradients and embeddings of units, ``(batch, units, dim)``, by word, without tags.

    Returns:
        The sum of each word's gradients and the mean of its embeddings, both ``(batch, length,
        form_dim)``, and the L2 norm over all its gradients, ``(batch, length)``.
    """
    encoder = model.encoder
    gradient, embedded = gradient[..., : encoder.form_dim], embedded[..., : encoder.form_dim]
    unit_words = encoder.unit_words(batch.words, batch.lengths)
    # [batch, 1 + length, units]; row 0, units that belong to no word, is dropped.
    positions = torch.arange(1 + batch.words.shape[1], device=unit_words.device)
    member = (unit_words[:, None] == positions[:, None]).to(gradient.dtype)[:, 1:]
    sums = member @ gradient
    means = (member @ embedded) / member.sum(-1, keepdim=True).clamp(min=1)
    squares = (member @ gradient.square().sum(-1, keepdim=True)).squeeze(-1)
    return sums, means, squares.sqrt()


def word_vectors(encoder: Encoder, rows: Tensor) -> Tensor:
    """Embed each word as a text of one word, without tags.

    Args:
        encoder: the encoder.
        rows: rows of its word table, ``(words,)``.

    Returns:
        ``(words, form_dim)``: the mean over a word's units.
    """
    words = rows[:, None]
    embedded = encoder.embed(words, torch.zeros_like(words))[..., : encoder.form_dim]
    mask = encoder.delta_mask(words, torch.ones_like(rows)).unsqueeze(-1)
    return (embedded * mask).sum(1) / mask.sum(1).clamp(min=1)


class InputVectors:
    """A model's embeddings of words, without tags, computed once; valid until weights change."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._weights = _versions(model)
        self._vectors: NDArray[np.float64] = np.zeros((0, model.encoder.form_dim))
        self._held: NDArray[np.bool_] = np.zeros(0, dtype=np.bool_)

    @property
    def outdated(self) -> bool:
        """Whether weights of the encoder have changed since."""
        return self._weights != _versions(self._model)

    def of(self, rows: NDArray[np.int32]) -> NDArray[np.float64]:
        """``(rows,)`` -> ``(rows, form_dim)``."""
        if len(rows) and (size := int(rows.max()) + 1) > len(self._held):
            room = max(size, 2 * len(self._held)) - len(self._held)
            self._vectors = np.pad(self._vectors, ((0, room), (0, 0)))
            self._held = np.pad(self._held, (0, room))
        missing = np.unique(rows[~self._held[rows]])
        for begin in range(0, len(missing), _AT_ONCE):
            chunk = missing[begin : begin + _AT_ONCE]
            self._vectors[chunk] = self._computed(chunk)
        self._held[missing] = True
        return self._vectors[rows]

    @torch.no_grad()
    def _computed(self, rows: NDArray[np.int32]) -> NDArray[np.float64]:
        words = torch.from_numpy(rows.astype(np.int64)).to(self._model.device)
        return word_vectors(self._model.encoder, words).double().cpu().numpy()


def _versions(model: Model) -> list[tuple[torch.dtype, int]]:
    """Return the type and number of changes of each weight of the encoder."""
    return [(weight.dtype, weight._version) for weight in model.encoder.parameters()]


def spelling(model: Model) -> LSTMEncoder:
    """Return the encoder, which must read words only by their characters."""
    encoder = model.encoder
    if not isinstance(encoder, LSTMEncoder) or not encoder.character_dim or encoder.word_dim:
        raise InputError(
            "the attack changes characters, and this parser reads words otherwise",
            key="checkpoint",
            expected="a parser that reads words by their characters only (LSTMEncoder with "
            "word_dim: 0 and character_dim: 100)",
            remedy="choose the word attack, zheng2020_whitebox",
        )
    return encoder


def character_gradients(
    encoder: LSTMEncoder, words: Tensor, gradients: Tensor
) -> tuple[Tensor, Tensor]:
    """Backpropagate gradients from words to their characters.

    Args:
        encoder: the encoder.
        words: rows of the word table, ``(words,)``.
        gradients: gradients of the words' vectors, ``(words, form_dim)``.

    Returns:
        Gradients and embeddings of the characters, ``(words, characters, character_dim)``.
    """
    ids, lengths = trimmed(encoder.table.tensors(words.device)[1][words])
    with torch.enable_grad(), torch.backends.cudnn.flags(enabled=False):
        embedded = nn.functional.embedding(ids, encoder.characters.weight.detach())
        embedded.requires_grad_()
        vectors = encoder.spell(embedded, lengths)
        (by_character,) = torch.autograd.grad(vectors, embedded, gradients.to(vectors))
    return by_character, embedded.detach()


def character_vectors(encoder: LSTMEncoder, rows: NDArray[np.int32]) -> Tensor:
    """Return the embeddings of words' characters, ``(rows, max_characters, character_dim)``.

    Padding and unknown characters are zeros.
    """
    table = encoder.table.tensors(encoder.characters.weight.device)[1]
    ids = table[torch.from_numpy(rows.astype(np.int64)).to(table.device)]
    embedded = nn.functional.embedding(ids, encoder.characters.weight.detach())
    return embedded * (ids >= RESERVED).unsqueeze(-1)
