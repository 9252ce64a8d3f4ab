"""The network of a victim's file, for the environment of TextAttack: only torch is imported.

A file is what ``torch.save`` makes of ``{"arch": ARCH, "vocab": {word: id}, "state_dict": …}``. All
have embeddings, ``emb``, and a linear layer, ``out``. ``bow`` takes the mean of the embeddings in
between, ``lstm`` the maximum over the states of one bidirectional LSTM, ``rnn``; ``infersent`` and
``esim`` read pairs.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

import torch
from torch import Tensor, nn

PADDING, UNKNOWN = 0, 1
Weights = Mapping[str, Tensor]


def embeddings(weights: Weights) -> nn.Embedding:
    """Return a table of the size of the weights'."""
    return nn.Embedding(*weights["emb.weight"].shape, padding_idx=PADDING)


def bilstm(weights: Weights, name: str) -> nn.LSTM:
    """Return one bidirectional layer of the size of the weights of this name."""
    units, dim = weights[f"{name}.weight_ih_l0"].shape
    return nn.LSTM(dim, units // 4, batch_first=True, bidirectional=True)


def linear(weights: Weights, name: str) -> nn.Linear:
    """Return a layer of the size of the weights of this name."""
    outputs, inputs = weights[f"{name}.weight"].shape
    return nn.Linear(inputs, outputs)


def states_of(lstm: nn.LSTM, inputs: Tensor, lengths: Tensor, beyond: float) -> Tensor:
    """``(batch, length, dim)`` -> ``(batch, length, 2 * hidden)``; ``beyond`` after the words."""
    if bool((lengths == inputs.shape[1]).all()):  # packing would only cost time
        found: Tensor = lstm(inputs)[0]
        return found
    nested = nn.utils.rnn
    packed = nested.pack_padded_sequence(inputs, lengths, True, enforce_sorted=False)
    return nested.pad_packed_sequence(lstm(packed)[0], True, beyond)[0]


class TextNetwork(nn.Module):
    """Embeddings, mean or BiLSTM with maximum over time, linear layer.

    Args:
        weights: named as in the file; they say the sizes, and which of both it is.
    """

    def __init__(self, weights: Weights) -> None:
        super().__init__()
        self.emb, self.out = embeddings(weights), linear(weights, "out")
        self.rnn = bilstm(weights, "rnn") if "rnn.weight_ih_l0" in weights else None

    def forward(self, embedded: Tensor, lengths: Tensor) -> Tensor:
        """``(batch, length, dim)`` -> logits ``(batch, classes)``."""
        if self.rnn is None:
            real = torch.arange(embedded.shape[1]) < lengths[:, None]
            return self.out((embedded * real.unsqueeze(-1)).sum(1) / lengths[:, None])
        return self.out(states_of(self.rnn, embedded, lengths, -torch.inf).amax(1))


class InferSentNetwork(nn.Module):
    """One BiLSTM with maximum over time reads both texts, u and v; two layers compare them.

    Args:
        weights: named as in the file.
    """

    def __init__(self, weights: Weights) -> None:
        super().__init__()
        self.emb, self.out = embeddings(weights), linear(weights, "out")
        self.rnn = bilstm(weights, "rnn")
        self.first, self.second = linear(weights, "first"), linear(weights, "second")

    def forward(self, premises: Tensor, of_u: Tensor, texts: Tensor, of_v: Tensor) -> Tensor:
        """``(batch, length, dim)`` and lengths of both texts -> logits ``(batch, classes)``."""
        u = states_of(self.rnn, premises, of_u, -torch.inf).amax(1)
        v = states_of(self.rnn, texts, of_v, -torch.inf).amax(1)
        compared = self.first(torch.cat([u, v, (u - v).abs(), u * v], 1)).tanh()
        return self.out(self.second(compared).tanh())


class ESIMNetwork(nn.Module):
    """Encoding, attention both ways, projection, composition, mean and maximum, tanh layer.

    Args:
        weights: named as in the file.
    """

    def __init__(self, weights: Weights) -> None:
        super().__init__()
        self.emb, self.out = embeddings(weights), linear(weights, "out")
        self.encoding, self.composition = (
            bilstm(weights, "encoding"),
            bilstm(weights, "composition"),
        )
        self.projection, self.final = linear(weights, "projection"), linear(weights, "final")

    def forward(self, premises: Tensor, of_a: Tensor, texts: Tensor, of_b: Tensor) -> Tensor:
        """``(batch, length, dim)`` and lengths of both texts -> logits ``(batch, classes)``."""
        a, b = (
            states_of(self.encoding, premises, of_a, 0.0),
            states_of(self.encoding, texts, of_b, 0.0),
        )
        in_a = torch.arange(a.shape[1]) < of_a[:, None]
        in_b = torch.arange(b.shape[1]) < of_b[:, None]
        scores = torch.einsum("nih,njh->nij", a, b)
        to_b = scores.masked_fill(~in_b[:, None, :], -torch.inf).softmax(2)
        to_a = scores.masked_fill(~in_a[:, :, None], -torch.inf).softmax(1)
        pooled = self._pooled(a, torch.einsum("nij,njh->nih", to_b, b), of_a)
        pooled += self._pooled(b, torch.einsum("nij,nih->njh", to_a, a), of_b)
        return self.out(self.final(torch.cat(pooled, 1)).tanh())

    def _pooled(self, one: Tensor, aligned: Tensor, lengths: Tensor) -> list[Tensor]:
        """Mean and maximum over the words of a text, each ``(batch, 2 * hidden)``."""
        enhanced = torch.cat([one, aligned, one - aligned, one * aligned], 2)
        read = states_of(self.composition, self.projection(enhanced).relu(), lengths, -torch.inf)
        total = read.masked_fill(read.isneginf(), 0.0).sum(1)
        return [total / lengths[:, None], read.amax(1)]


NETWORKS: dict[str, Callable[[Weights], nn.Module]] = {
    "bow": TextNetwork,
    "lstm": TextNetwork,
    "infersent": InferSentNetwork,
    "esim": ESIMNetwork,
}


def read_network(path: Path, dtype: torch.dtype) -> tuple[nn.Module, dict[str, int]]:
    """Return the network of a file in evaluation mode, and its words' ids."""
    saved = torch.load(path, weights_only=True, map_location="cpu")
    network = NETWORKS[saved["arch"]](saved["state_dict"])
    network.load_state_dict(saved["state_dict"])
    return network.to(dtype).eval(), saved["vocab"]
