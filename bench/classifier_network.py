"""The network of the benches' classifiers; imports torch alone, so that peers can load it too.

A masked BiLSTM over words is read as two passes, one over the words and one over the words in
reverse order, each padded on the right: no state of a real word has seen padding, and unpacked
passes are several times faster than packed ones on a CPU.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

PADDING, UNKNOWN = 0, 1


class Classifier(nn.Module):
    """Embeddings, mean or BiLSTM with maximum over time, linear layer.

    Args:
        weights: named as in the file; they say the sizes.
        arch: ``bow`` or ``lstm``.
    """

    def __init__(self, weights: Mapping[str, Tensor], arch: str) -> None:
        super().__init__()
        words, dim = weights["emb.weight"].shape
        classes, inputs = weights["out.weight"].shape
        self.arch = arch
        self.emb = nn.Embedding(words, dim, padding_idx=PADDING)
        if arch == "lstm":
            self.forwards = nn.LSTM(dim, inputs // 2, batch_first=True)
            self.backwards = nn.LSTM(dim, inputs // 2, batch_first=True)
        self.out = nn.Linear(inputs, classes)
        self.load_state_dict({_own_name(name): value for name, value in weights.items()})

    def weights(self) -> dict[str, Tensor]:
        """Return the weights, named as in the file: those of one bidirectional ``nn.LSTM``,
        ``rnn``.
        """
        return {_file_name(name): value for name, value in self.state_dict().items()}

    def forward(self, embeddings: Tensor, lengths: Tensor) -> Tensor:
        """``(batch, length, dim)`` -> logits ``(batch, classes)``."""
        texts, longest, dim = embeddings.shape
        places = torch.arange(longest)
        real = places < lengths[:, None]
        if self.arch != "lstm":
            return self.out((embeddings * real.unsqueeze(-1)).sum(1) / lengths[:, None])
        # Which word stands at each place of the reversed text; padding stays where it is. Taking
        # rows, and adding to them, costs a fraction of `gather` and `masked_fill`. It is what
        # `robustparse.models.encoders.lstm` does, which the peer's environment does not have.
        turned = torch.where(real, lengths[:, None] - 1 - places, places)
        rows = (turned + longest * torch.arange(texts)[:, None]).flatten()
        there = self.forwards(embeddings)[0]
        behind = embeddings.reshape(-1, dim).index_select(0, rows).view_as(embeddings)
        back = self.backwards(behind)[0]
        # The maximum over time does not ask for the order of the words.
        if not real.all():
            beyond = torch.zeros_like(embeddings[..., :1]).masked_fill(~real[..., None], -torch.inf)
            there, back = there + beyond, back + beyond
        return self.out(torch.cat([there.amax(1), back.amax(1)], dim=-1))


def read_classifier(path: Path, dtype: torch.dtype) -> tuple[Classifier, dict[str, int]]:
    """Return the network of a file in evaluation mode, and its words' ids.

    The file is what ``torch.save`` makes of ``{"arch": "bow" or "lstm", "vocab": {word: id},
    "state_dict": …}``.
    """
    saved: dict[str, Any] = torch.load(path, weights_only=True, map_location="cpu")
    network = Classifier(saved["state_dict"], saved["arch"]).to(dtype)
    return network.eval(), saved["vocab"]


def _own_name(name: str) -> str:
    if not name.startswith("rnn."):
        return name
    direction = "backwards" if name.endswith("_reverse") else "forwards"
    return name.replace("rnn.", f"{direction}.").removesuffix("_reverse")


def _file_name(name: str) -> str:
    if name.startswith("backwards."):
        return name.replace("backwards.", "rnn.") + "_reverse"
    return name.replace("forwards.", "rnn.")
