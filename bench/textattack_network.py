"""The network of a victim's file, for the environment of TextAttack: only torch is imported.

A file is what ``torch.save`` makes of ``{"arch": "bow" or "lstm", "vocab": {word: id},
"state_dict": …}``: embeddings, ``emb``, their mean or the maximum over the states of one
bidirectional LSTM, ``rnn``, and a linear layer, ``out``.
"""

from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor, nn

PADDING, UNKNOWN = 0, 1


class Network(nn.Module):
    """Embeddings, mean or BiLSTM with maximum over time, linear layer.

    Args:
        weights: named as in the file; they say the sizes, and which of both it is.
    """

    def __init__(self, weights: Mapping[str, Tensor]) -> None:
        super().__init__()
        words, dim = weights["emb.weight"].shape
        classes, inputs = weights["out.weight"].shape
        self.emb = nn.Embedding(words, dim, padding_idx=PADDING)
        self.rnn = None
        if "rnn.weight_ih_l0" in weights:
            self.rnn = nn.LSTM(dim, inputs // 2, batch_first=True, bidirectional=True)
        self.out = nn.Linear(inputs, classes)
        self.load_state_dict(dict(weights))

    def forward(self, embeddings: Tensor, lengths: Tensor) -> Tensor:
        """``(batch, length, dim)`` -> logits ``(batch, classes)``."""
        if self.rnn is None:
            real = torch.arange(embeddings.shape[1]) < lengths[:, None]
            return self.out((embeddings * real.unsqueeze(-1)).sum(1) / lengths[:, None])
        if bool((lengths == embeddings.shape[1]).all()):  # packing would only cost time
            return self.out(self.rnn(embeddings)[0].amax(1))
        nested = nn.utils.rnn
        packed = nested.pack_padded_sequence(embeddings, lengths, True, enforce_sorted=False)
        states, _ = nested.pad_packed_sequence(self.rnn(packed)[0], True, -torch.inf)
        return self.out(states.amax(1))


def read_network(path: Path, dtype: torch.dtype) -> tuple[Network, dict[str, int]]:
    """Return the network of a file in evaluation mode, and its words' ids."""
    saved = torch.load(path, weights_only=True, map_location="cpu")
    return Network(saved["state_dict"]).to(dtype).eval(), saved["vocab"]
