"""Sentences as pieces of words: embedded, read in passes and windows, pooled to one vector a word.

What a piece is, and how a network reads a batch of them, is a subclass's to say.
"""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn

from robustparse.errors import InputError, check_choice
from robustparse.models.encoders.pieces.reading_groups import reading_groups
from robustparse.models.encoders.pieces.stored import differing
from robustparse.models.encoders.pieces.subwords import Layout, PieceTable, lay_out
from robustparse.models.encoders.pretrained import PretrainedEncoder
from robustparse.types import Sentence

Pooling = Literal["first", "mean", "last"]
LongSentences = Literal["error", "split", "truncate"]


class PieceEncoder(PretrainedEncoder):
    """A pretrained network over the pieces of words; ``build`` calls ``take``.

    Args:
        model: a folder, or a name in the local cache.
        download: fetch a name that is not in the cache.
        pooling: from pieces to words: the ``first``, the ``mean`` or the ``last``.
        long_sentences: with more pieces than the network reads at once: ``error``; ``split`` reads
            them in windows; ``truncate`` gives the words after the limit a zero vector.
        tune: see ``PretrainedEncoder``, also for what follows.
        dropout: see there.
        lstm_layers: see there.
        hidden: see there.
        stored: see there.

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
        """Take a network that reads ``limit`` pieces at once, embedded in ``dim`` numbers each."""
        network.pooler = nn.Identity()  # its weights would never get a gradient
        self.hold(network)
        self.table, self.limit, self.dim, self.form_dim = table, limit, dim, dim
        self.special, self.separator = table.special, table.separator

    @abstractmethod
    def look_up(self, units: Tensor) -> Tensor:
        """Return the input embeddings of pieces, ``(...)`` ids -> ``(..., dim)``."""

    @abstractmethod
    def read_together(self, embeddings: Tensor, sizes: Tensor) -> Tensor:
        """``(batch, units, dim)``, of which ``sizes`` are in use -> ``(batch, units, size)``."""

    def differences(self, saved: Mapping[str, Any]) -> list[str]:
        """Name another tokenizer and another configuration."""
        names = differing(self.stored or {}, saved.get("stored") or {})
        return [f"its {name} (model: {self.model})" for name in names]

    def check(self, sentence: Sentence) -> None:
        """Refuse a sentence over the limit, unless a policy was chosen."""
        pieces = self.table.count(self.intern(sentence.words))
        if self.long_sentences == "error" and pieces > self.limit:
            raise InputError(
                f"{pieces} {self.table.unit}, over the encoder's limit of {self.limit}",
                remedy="set its long_sentences to split or truncate, or take the sentence out",
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
        """Look pieces up; tags are not read."""
        return self.look_up(self.layout(words).units)

    def forward(self, embeddings: Tensor, words: Tensor, lengths: Tensor) -> Tensor:
        """Read the pieces, pool words."""
        layout = self.layout(words)
        hidden = self._read(embeddings, layout)
        return self.finish(self._pool(hidden, layout, words), lengths)

    def _read(self, embeddings: Tensor, layout: Layout) -> Tensor:
        """``(batch, units, dim)`` -> ``(batch, units, size)``, each window on its own."""
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
        """``(batch, units, size)`` -> ``(batch, 1 + length, size)``; a word without one is zero."""
        word, slots = layout.word, words.shape[1] + 2  # the last slot takes what is no word's
        if self.pooling != "mean":
            # The first piece differs from the unit before it, the last from the one after it.
            chosen = word != word.roll(1 if self.pooling == "first" else -1, 1)
            word = torch.where(chosen, word, slots - 1)
        pooled = hidden.new_zeros(len(hidden), slots, hidden.shape[2])
        pooled = pooled.scatter_add(1, word.unsqueeze(-1).expand_as(hidden), hidden)
        counts = hidden.new_zeros(len(hidden), slots).scatter_add(
            1, word, torch.ones_like(word, dtype=hidden.dtype)
        )
        return (pooled / counts.clamp(min=1).unsqueeze(-1))[:, :-1]

    def unit_words(self, words: Tensor, lengths: Tensor) -> Tensor:
        """``(batch, units)``: the word that a piece is of, 0 for none."""
        word = self.layout(words).word
        return word * (word <= words.shape[1])
