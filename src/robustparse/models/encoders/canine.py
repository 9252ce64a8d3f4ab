"""CANINE as an encoder: it reads characters without a tokenizer and gives one vector per word.

Clark et al. (2022), "CANINE: Pre-training an Efficient Tokenization-Free Encoder for Language
Representation": code points are embedded by hashing (section 3.1) and read by a local Transformer;
a deep Transformer reads groups of ``downsampling_rate`` of them (3.2); then each character gets a
vector (3.3).
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from robustparse.data.vocab import Vocabulary
from robustparse.errors import InputError
from robustparse.models.encoders.piece_encoder import LongSentences, PieceEncoder, Pooling
from robustparse.models.encoders.stored import config_to_store, network_of
from robustparse.models.encoders.subwords import Layout, PieceTable, SpecialPieces, readable
from robustparse.pretrained.loading import ENCODER, load_network

BLANK, REPLACEMENT = ord(" "), ord("\ufffd")
# Padding, the unknown word, [CLS] and [SEP]; the last two are private code points of CANINE's.
SPECIAL = SpecialPieces(0, REPLACEMENT, 0xE000, 0xE001)

# Maximum characters of a word, including the blank before it; the same as in ELMo.
MAX_CHARACTERS = 50

# Published networks have 16,384 positions, of which pre-training used this many.
_TRAINED_ON = 2048

# Multipliers of the up to 16 hash functions (Clark et al. 2022, released code).
_PRIMES = (31, 43, 59, 61, 73, 97, 103, 113, 137, 149, 157, 173, 181, 193, 211, 223)


class CanineEncoder(PieceEncoder):
    """A pretrained CANINE.

    A sentence is read as [CLS], each word after a blank, [SEP]; ROOT is [CLS]. Deltas are added to
    the embeddings of words' characters, not of blanks. The unknown word is the replacement
    character of Unicode (U+FFFD).

    Args:
        model: a folder, or a name in the local cache.
        download: whether to download a model that is not in the cache.
        pooling: from characters to words: the ``mean``, the ``first`` or the ``last``.
        tune: train the network; otherwise it is frozen and has no dropout.
        dropout: dropout of the words' vectors, with masks shared over a sentence (0.33).
        lstm_layers: layers of a BiLSTM over the words' vectors (0: none).
        hidden: its units per direction (400).
        long_sentences: what to do with sentences of more characters than in pre-training (2,048):
            ``error``; ``split`` reads them in windows; ``truncate`` gives the words after the limit
            a zero vector. Sentences that an attack makes longer are always read in windows.
        stored: the configuration from a checkpoint; ``model`` is then not read.

    Raises:
        InputError: a setting is out of range, or ``model`` cannot be loaded.
    """

    def __init__(
        self,
        model: str,
        download: bool = False,
        pooling: Pooling = "mean",
        tune: bool = True,
        dropout: float = 0.33,
        lstm_layers: int = 0,
        hidden: int = 400,
        long_sentences: LongSentences = "error",
        stored: dict[str, str] | None = None,
    ) -> None:
        super().__init__(
            model, download, pooling, long_sentences, tune, dropout, lstm_layers, hidden, stored
        )

    def build(self, vocabulary: Vocabulary) -> None:
        """Load the network; make the layers on top of it."""
        network: Any
        if self.stored is None:
            network = load_network(self.model, self.download, self._check_type)
            self.stored = config_to_store(network)
        else:
            network = network_of(self.model, self.stored)
            self._check_type(network.config.to_dict())
        config, rate = network.config, network.config.downsampling_rate
        for layer in network.initial_char_encoder.layer:
            layer.attention.self.register_forward_pre_hook(_with_mask_added)
        positions = _positions(config)
        limit = positions // rate * rate - _padded(0, rate) - 2
        if limit < 2:  # a blank and a character
            problem = f"it has {positions} positions"
            expected = f"at least {_padded(4, rate)}"
            raise InputError(problem, key=f"{ENCODER} {self.model}", expected=expected)
        self.take(network, CharacterTable(min(limit, MAX_CHARACTERS)), limit, config.hidden_size)
        self.add_lstm(config.hidden_size)

    def _check_type(self, config: Mapping[str, Any]) -> None:
        if (found := config.get("model_type")) != "canine":
            raise InputError(
                f"its model_type is {found!r}",
                key=f"{ENCODER} {self.model}",
                expected="canine",
                remedy="use TransformerEncoder for a network that reads word pieces",
            )

    def layout(self, words: Tensor) -> Layout:
        """Lay out the characters of a batch of rows; blanks belong to no word."""
        layout = super().layout(words)
        word = layout.word.masked_fill(layout.units == BLANK, 1 + words.shape[1])
        return replace(layout, word=word)

    def look_up(self, units: Tensor) -> Tensor:
        """Concatenate the embeddings of all hash functions, as in the released code."""
        config, tables = self.network.config, self.network.char_embeddings
        parts = []
        for k, prime in enumerate(_PRIMES[: config.num_hash_functions]):
            table: nn.Module = getattr(tables, f"HashBucketCodepointEmbedder_{k}")
            parts.append(table((units + 1) * prime % config.num_hash_buckets))
        return torch.cat(parts, dim=-1)

    def read_together(self, embeddings: Tensor, sizes: Tensor) -> Tensor:
        """Read sentences, padded as `_width` says; see ``PieceEncoder``."""
        units, width = embeddings.shape[1], self._width(sizes)
        inside = torch.arange(width, device=sizes.device) < sizes[:, None]
        padding = self.look_up(torch.full((1,), SPECIAL.padding, device=sizes.device))
        embeddings = nn.functional.pad(embeddings, (0, 0, 0, width - units))
        embeddings = torch.where(inside.unsqueeze(-1), embeddings, padding)
        output = self.network(inputs_embeds=embeddings, attention_mask=inside.long())
        states: Tensor = output.last_hidden_state[:, :units]
        return states

    def _width(self, sizes: Tensor) -> int:
        """Return the width of a batch in characters, padding included.

        Characters are read in groups of ``downsampling_rate``. The network drops the last group to
        make room for [CLS], and its convolution reads one group beyond a sentence, so two groups of
        padding are needed. If the first of these lies in a block of local attention without
        characters, whose attention is then a mean over the block, the whole block is included.
        """
        config = self.network.config
        rate, block = config.downsampling_rate, config.local_transformer_stride
        ends = _padded(sizes, rate)
        begin = (ends - rate - 1) // block * block
        ends = torch.where(begin >= sizes, ends.maximum(begin + block), ends)
        return min(int(ends.max()), _positions(config))


def _positions(config: Any) -> int:
    """Return the maximum number of characters that are read at once, padding included."""
    positions: int = min(_TRAINED_ON, config.max_position_embeddings, config.num_hash_buckets)
    return positions


def _padded(units: Any, rate: int) -> Any:
    """Return the end of two groups of padding after ``units`` characters, a number or a tensor."""
    return (-(-units // rate) + 2) * rate


def _with_mask_added(_attention: nn.Module, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """Convert the mask of local attention to addends of the scores, in their precision.

    transformers computes them in float32, which gives NaN with float64 (0 times -infinity).
    """
    queries, keys, mask, *rest = arguments
    kind = queries.device.type
    mixed = torch.is_autocast_enabled(kind)
    precision = torch.get_autocast_dtype(kind) if mixed else queries.dtype
    added = torch.zeros_like(mask, dtype=precision)
    added = added.masked_fill(mask == 0, torch.finfo(precision).min)
    return queries, keys, added.unsqueeze(1), *rest


class CharacterTable(PieceTable):
    """Maps rows to the code points of a blank and a word, and their number."""

    unit = "characters"
    separator = chr(SPECIAL.last)

    def __init__(self, max_characters: int) -> None:
        super().__init__(SPECIAL, [BLANK, SPECIAL.unknown], max_characters)

    def describe(self, words: Sequence[str]) -> list[NDArray[np.int64]]:
        """Return code points ``(words, max_characters)`` and counts ``(words, 1)``.

        ``-LRB-`` is read as a bracket; a word that consists of blanks is the unknown word.
        """
        texts = (readable(word) if word.strip(" ") else chr(SPECIAL.unknown) for word in words)
        return self.rows([[BLANK, *map(ord, text)] for text in texts])
