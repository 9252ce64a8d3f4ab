"""Copies words of an utterance into its form (Yin and Neubig 2018, section 3.2).

    p(token | a) = p(gen | a) p(token | gen, a) + p(copy | a) sum_{i: x_i = token} p(i | copy, a)
    p(gen | a), p(copy | a) = softmax(W_g a + b_g)
    p(i | copy, a) = softmax_i(h_i^T W_p a)

Here ``a`` is the attentional state of a step, and ``h_i`` the encoder's vector of the word ``x_i``.
A word that is not a known token can only be copied; the decoder then reads the embedding of unknown
tokens, which is trained if training forms have unknown tokens. The scores have a column for each
known action, and after them a column for each position of the utterance. A word that occurs twice
has the column of its first position.
"""

import torch
from torch import Tensor, nn

from robustparse.models.mean_scores import single_precision
from robustparse.models.semantic.attention import Memory


class Pointer(nn.Module):
    """Mixes the probabilities of generating tokens and of copying words.

    Args:
        dim: width of the encoder's vectors.
        hidden: width of attentional states.
        tokens: the numbers of known tokens; higher numbers are unknown tokens.
    """

    def __init__(self, dim: int, hidden: int, tokens: slice) -> None:
        super().__init__()
        self.tokens = tokens
        self.query = nn.Linear(hidden, dim, bias=False)
        self.gate = nn.Linear(hidden, 2)

    def forward(self, scores: Tensor, attended: Tensor, memory: Memory, words: Tensor) -> Tensor:
        """Replace the scores of tokens by the logarithms of mixed probabilities.

        Args:
            scores: ``(batch, n, unknown)`` scores of known actions.
            attended: ``(batch, n, hidden)`` attentional states.
            memory: what the decoder attends to.
            words: ``(batch, length)`` the words as numbers of tokens.

        Returns:
            ``(batch, n, unknown + length)``; -inf for a position whose word has another column.
        """
        unknown = self.tokens.stop
        gates = single_precision(self.gate(attended)).log_softmax(-1)
        generated = scores[..., self.tokens].log_softmax(-1) + gates[..., :1]
        pointed = single_precision(self.query(attended) @ memory.values.transpose(1, 2))
        pointed = pointed.masked_fill(memory.padded[:, None], float("-inf")).softmax(-1)
        columns = columns_of(words, words, unknown)
        copied = pointed.new_zeros(*pointed.shape[:2], unknown + words.shape[1])
        copied = copied.scatter_add(2, columns[:, None].expand_as(pointed), pointed)
        # A probability that underflows has no gradient, rather than an infinite one.
        copied = copied.clamp(min=torch.finfo(copied.dtype).tiny).log() + gates[..., 1:]
        used = torch.zeros_like(copied[:, 0], dtype=torch.bool).scatter(1, columns, True)
        copied = copied.masked_fill(~used[:, None], float("-inf"))
        mixed = torch.logaddexp(generated, copied[..., self.tokens])
        return torch.cat([scores[..., : self.tokens.start], mixed, copied[..., unknown:]], dim=-1)


def columns_of(actions: Tensor, words: Tensor, unknown: int) -> Tensor:
    """Return the columns of actions in the scores.

    Args:
        actions: ``(batch, n)`` numbers of actions.
        words: ``(batch, length)`` the words of the utterance as numbers of tokens.
        unknown: the first number of unknown tokens.

    Returns:
        ``(batch, n)``: the numbers of known actions; for other tokens the column of the first such
        word; ``unknown + length``, beyond the last column, if the utterance has no such word.
    """
    same = actions[:, :, None] == words[:, None]
    first = nn.functional.pad(same, (0, 1), value=True).int().argmax(-1)
    return torch.where(actions < unknown, actions, unknown + first)
