"""Attention of a decoder to the words of an utterance (Luong et al. 2015, "general")."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn


@dataclass
class Memory:
    """What a decoder attends to; ROOT is left out.

    Args:
        values: ``(batch, length, dim)`` the encoder's vectors of words.
        keys: ``(batch, length, hidden)`` their maps, which queries are multiplied with.
        padded: ``(batch, length)`` true after the last word.
    """

    values: Tensor
    keys: Tensor
    padded: Tensor

    def of(self, texts: Tensor) -> "Memory":
        """Select texts, ``(texts,)``."""
        return Memory(self.values[texts], self.keys[texts], self.padded[texts])


class Attention(nn.Module):
    """Attentional states ``tanh(W_c [h; c])``, c the average of s with weights softmax(h W_a s).

    The context c averages the encoder's vectors s themselves, and there are no biases (Yin and
    Neubig 2018, released code).

    Args:
        dim: width of the encoder's vectors s.
        hidden: width of the decoder's states h.
        out_dim: width of the attentional states.
    """

    def __init__(self, dim: int, hidden: int, out_dim: int) -> None:
        super().__init__()
        self.key = nn.Linear(dim, hidden, bias=False)
        self.output = nn.Linear(hidden + dim, out_dim, bias=False)

    def memory(self, values: Tensor, mask: Tensor) -> Memory:
        """Prepare vectors, ``(batch, length, dim)``; the mask marks words, ``(batch, length)``."""
        return Memory(values, self.key(values), ~mask)

    def forward(self, query: Tensor, memory: Memory) -> Tensor:
        """Map decoder states, ``(batch, n, hidden)``, to attentional ones."""
        scores = query @ memory.keys.transpose(1, 2)
        weights = scores.masked_fill(memory.padded[:, None], float("-inf")).softmax(-1)
        attended: Tensor = self.output(torch.cat([query, weights @ memory.values], dim=-1)).tanh()
        return attended
