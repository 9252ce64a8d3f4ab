"""Attention of a decoder to the words of an utterance (Luong et al. 2015, "general")."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn


@dataclass
class Memory:
    """What a decoder attends to; ROOT is left out.

    Args:
        values: ``(batch, length, dim)`` the encoder's vectors of words.
        keys: ``(batch, length, hidden)`` the same, as queries are compared with them.
        padded: ``(batch, length)`` true after the last word.
    """

    values: Tensor
    keys: Tensor
    padded: Tensor

    def of(self, texts: Tensor) -> "Memory":
        """Return what belongs to these texts, ``(texts,)``."""
        return Memory(self.values[texts], self.keys[texts], self.padded[texts])


class Attention(nn.Module):
    """Scores ``h W_a s``, their softmax over words, and ``tanh(W_c [h; context])``.

    Contexts average the encoder's vectors as they are (Yin and Neubig 2018, released code). There
    are no biases.

    Args:
        dim: of the encoder's vectors.
        hidden: of the decoder's states.
        out_dim: of the attentional states.
    """

    def __init__(self, dim: int, hidden: int, out_dim: int) -> None:
        super().__init__()
        self.key = nn.Linear(dim, hidden, bias=False)
        self.output = nn.Linear(hidden + dim, out_dim, bias=False)

    def memory(self, values: Tensor, mask: Tensor) -> Memory:
        """Vectors ``(batch, length, dim)`` of the words marked in ``(batch, length)`` booleans."""
        return Memory(values, self.key(values), ~mask)

    def forward(self, query: Tensor, memory: Memory) -> Tensor:
        """Return attentional states, ``(batch, n, out_dim)``, of ``(batch, n, hidden)`` ones."""
        scores = query @ memory.keys.transpose(1, 2)
        weights = scores.masked_fill(memory.padded[:, None], float("-inf")).softmax(-1)
        attended: Tensor = self.output(torch.cat([query, weights @ memory.values], dim=-1)).tanh()
        return attended
