"""The base class of encoders that read pieces of words and pool them to one vector per word.

Subclasses define the pieces and how a network reads a batch of them. Long sentences are read in
windows. Sentences of a batch are read in groups of similar length: although sentences of a batch
have about as many words, a sentence of four words may have sixty pieces (an address, a row of
smileys), to which all others would be padded.
"""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, Literal, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from robustparse.errors import InputError, check_choice
from robustparse.models.encoders.pretrained import PretrainedEncoder
from robustparse.models.encoders.stored import differing
from robustparse.models.encoders.subwords import Layout, PieceTable, lay_out
from robustparse.types import Sentence

Pooling = Literal["first", "mean", "last"]
LongSentences = Literal["error", "split", "truncate"]

# The fixed cost of a pass, in pieces: a few milliseconds on a CPU; much more on a GPU, which reads
# thousands of pieces in the time that it takes to launch a pass.
_PASS = {"cpu": 64}
_PASS_ELSEWHERE = 2048


class PieceEncoder(PretrainedEncoder):
    """A pretrained network over the pieces of words; a subclass's ``build`` must call ``take``.

    Args:
        model: a folder, or a name in the local cache.
        download: whether to download a model that is not in the cache.
        pooling: from pieces to words: the ``first``, the ``mean`` or the ``last``.
        long_sentences: what to do with sentences of more pieces than the network reads at once:
            ``error``; ``split`` reads them in windows; ``truncate`` gives the words after the limit
            a zero vector.
        tune, dropout, lstm_layers, hidden, stored: see ``PretrainedEncoder``.

    Raises:
        InputError: a setting is out of range.
    """

    table: PieceTable
    limit: int

    def __init__(
        self,
        model: str,
        download: bool,
        pooling: Pooling,
        long_sentences: LongSentences,
        tune: bool,
        dropout: float,
        lstm_layers: int,
        hidden: int,
        stored: dict[str, str] | None,
    ) -> None:
        super().__init__(tune, dropout, lstm_layers, hidden, stored)
        owner = type(self).__name__
        check_choice(f"{owner}: pooling", pooling, get_args(Pooling))
        check_choice(f"{owner}: long_sentences", long_sentences, get_args(LongSentences))
        self.model, self.download = model, download
        self.pooling, self.long_sentences = pooling, long_sentences

    def take(self, network: Any, table: PieceTable, limit: int, dim: int) -> None:
        """Take a network that reads ``limit`` pieces at once, with embeddings of size ``dim``."""
        network.pooler = nn.Identity()  # its weights would never get a gradient
        self.hold(network)
        self.table, self.limit, self.dim, self.form_dim = table, limit, dim, dim
        self.special, self.separator = table.special, table.separator

    @abstractmethod
    def look_up(self, units: Tensor) -> Tensor:
        """Return the input embeddings of pieces, ``(...)`` ids -> ``(..., dim)``."""

    @abstractmethod
    def read_together(self, embeddings: Tensor, sizes: Tensor) -> Tensor:
        """Read ``(batch, units, dim)`` with ``sizes`` units -> ``(batch, units, size)``."""

    def differences(self, saved: Mapping[str, Any]) -> list[str]:
        """Name the tokenizer and the configuration if they differ."""
        names = differing(self.stored or {}, saved.get("stored") or {})
        return [f"its {name} (model: {self.model})" for name in names]

    def check(self, sentence: Sentence) -> None:
        """Reject a sentence over the limit if ``long_sentences`` is ``error``."""
        pieces = self.table.count(self.intern(sentence.words))
        if self.long_sentences == "error" and pieces > self.limit:
            raise InputError(
                f"{pieces} {self.table.unit}, over the encoder's limit of {self.limit}",
                remedy="set its long_sentences to split or truncate, or remove the sentence",
            )

    def layout(self, words: Tensor) -> Layout:
        """Lay out the pieces of a batch of rows, ``(batch, length)``."""
        pieces, counts = self.table.tensors(words.device)
        split = self.long_sentences != "truncate"
        return lay_out(pieces[words], counts[words, 0], self.special, self.limit, split)

    def units(self, words: Tensor) -> Tensor:
        """Return how many pieces each word has."""
        return self.table.tensors(words.device)[1][words, 0]

    def embed(self, words: Tensor, tags: Tensor) -> Tensor:
        """Look up pieces; tags are not read."""
        return self.look_up(self.layout(words).units)

    def forward(self, embeddings: Tensor, words: Tensor, lengths: Tensor) -> Tensor:
        """Read the pieces and pool them to words."""
        layout = self.layout(words)
        hidden = self._read(embeddings, layout)
        return self.finish(self._pool(hidden, layout, words), lengths)

    def _read(self, embeddings: Tensor, layout: Layout) -> Tensor:
        """Read ``(batch, units, dim)`` -> ``(batch, units, size)``, each window separately."""
        if layout.cuts is None:
            return self._run(embeddings, layout.sizes)
        cuts = torch.from_numpy(layout.cuts).to(embeddings.device)
        places = torch.arange(int(cuts[:, 2].max()), device=embeddings.device)
        inside = places < cuts[:, 2:]
        window, place = inside.nonzero(as_tuple=True)
        sentence, unit = cuts[window, 0], cuts[window, 1] + place
        windows = embeddings.new_zeros(*inside.shape, embeddings.shape[2])
        windows = windows.index_put((window, place), embeddings[sentence, unit])
        hidden = self._run(windows, cuts[:, 2])
        joined = hidden.new_zeros(*embeddings.shape[:2], hidden.shape[2])
        return joined.index_put((sentence, unit), hidden[window, place])

    def _run(self, embeddings: Tensor, sizes: Tensor) -> Tensor:
        """Windows ``(batch, units, dim)`` of ``sizes`` units -> ``(batch, units, size)``."""
        groups = reading_groups(sizes)
        if len(groups) == 1:
            return self.read_together(embeddings, sizes)
        parts = []
        for rows in groups:
            longest = int(sizes[rows].max())
            part = self.read_together(embeddings[rows, :longest], sizes[rows])
            parts.append(nn.functional.pad(part, (0, 0, 0, embeddings.shape[1] - longest)))
        return torch.cat(parts)[torch.cat(groups).argsort()]

    def _pool(self, hidden: Tensor, layout: Layout, words: Tensor) -> Tensor:
        """Pool units ``(batch, units, size)`` to words ``(batch, 1 + length, size)``.

        A word without units gets a zero vector.
        """
        word, slots = layout.word, words.shape[1] + 2  # the last slot collects separators
        if self.pooling != "mean":
            # A first piece belongs to another word than the unit before it, a last piece to another
            # word than the unit after it.
            chosen = word != word.roll(1 if self.pooling == "first" else -1, 1)
            word = torch.where(chosen, word, slots - 1)
        pooled = hidden.new_zeros(len(hidden), slots, hidden.shape[2])
        pooled = pooled.scatter_add(1, word.unsqueeze(-1).expand_as(hidden), hidden)
        counts = hidden.new_zeros(len(hidden), slots).scatter_add(
            1, word, torch.ones_like(word, dtype=hidden.dtype)
        )
        return (pooled / counts.clamp(min=1).unsqueeze(-1))[:, :-1]

    def unit_words(self, words: Tensor, lengths: Tensor) -> Tensor:
        """Return the word of each piece, ``(batch, units)``, counted from 1; 0 for none."""
        word = self.layout(words).word
        return word * (word <= words.shape[1])


def reading_groups(sizes: Tensor) -> list[Tensor]:
    """Divide the rows of a batch into passes, ``(rows,)`` each, in order of increasing length.

    Args:
        sizes: units of each sentence, ``(batch,)``.
    """
    price = _PASS.get(sizes.device.type, _PASS_ELSEWHERE)
    if len(sizes) * int(sizes.max()) <= price:
        return [torch.arange(len(sizes), device=sizes.device)]
    order = sizes.argsort(stable=True)
    cuts = cheapest_cuts(sizes[order].cpu().numpy(), price)
    return list(order.tensor_split(cuts))


def cheapest_cuts(sizes: NDArray[np.int64], price: int) -> list[int]:
    """Return the cuts between passes with the lowest total cost.

    A pass of n sentences costs ``price`` plus n times the units of its longest sentence.

    Args:
        sizes: units of each sentence, in increasing order.
        price: fixed cost of a pass, in units.
    """
    longest, first = np.unique(sizes, return_index=True)
    ends = np.append(first[1:], len(sizes))
    # Dynamic program: for sentences up to the k-th distinct length, the lowest cost and the first
    # length of the last pass.
    least, starts = np.zeros(len(longest) + 1), []
    for k, (size, end) in enumerate(zip(longest, ends, strict=True)):
        costs = least[: k + 1] + size * (end - first[: k + 1]) + price
        starts.append(int(costs.argmin()))
        least[k + 1] = costs[starts[-1]]
    cuts, k = [], len(longest)
    while k:
        k = starts[k - 1]
        cuts.append(int(first[k]))
    return cuts[-2::-1]
