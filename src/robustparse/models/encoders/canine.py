"""CANINE as an encoder: characters in, without a tokenizer, one vector a word out.

Clark et al. (2022), "CANINE: Pre-training an Efficient Tokenization-Free Encoder for Language
Representation": code points are embedded by hashing (section 3.1), read by a local Transformer,
every ``downsampling_rate`` of them by a deep one (3.2), and characters get a vector each (3.3).
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
from robustparse.models.encoders.pieces.encoder import LongSentences, PieceEncoder, Pooling
from robustparse.models.encoders.pieces.stored import config_to_store, network_of
from robustparse.models.encoders.pieces.subwords import Layout, PieceTable, SpecialPieces, readable
from robustparse.pretrained import ENCODER, load_network

BLANK, REPLACEMENT = ord(" "), ord("\ufffd")
# Padding, the unknown word, [CLS] and [SEP]; the last two are private code points of CANINE's.
SPECIAL = SpecialPieces(0, REPLACEMENT, 0xE000, 0xE001)

# Of one word, with the blank before it; ELMo, too, reads 50.
MAX_CHARACTERS = 50

# What the published networks were trained on, of the 16,384 positions that they have.
_TRAINED_ON = 2048

# Multipliers of the hash functions, of which a network has up to 16 (Clark et al. 2022, released
# code).
_PRIMES = (31, 43, 59, 61, 73, 97, 103, 113, 137, 149, 157, 173, 181, 193, 211, 223)


class CanineEncoder(PieceEncoder):
    """A pretrained CANINE.

    A sentence is read as a text: [CLS], each word after a blank, [SEP]. ROOT takes [CLS]. Deltas
    stand on the embeddings of words' characters, blanks have none. The unknown word is the one
    character that Unicode has for unknown ones (U+FFFD).

    Args:
        model: a folder, or a name in the local cache.
        download: fetch a name that is not in the cache.
        pooling: from characters to words: the ``mean``, the ``first`` or the ``last``.
        tune: train the network; otherwise it stays as it is, without dropout.
        dropout: of the words' vectors, masks shared over a sentence (0.33).
        lstm_layers: of a BiLSTM over the words' vectors (0: none).
        hidden: its units a direction (400).
        long_sentences: with more characters than the network was trained on (2,048): ``error``;
            ``split`` reads them in windows; ``truncate`` gives the words after the limit a zero
            vector. Sentences that an attack makes longer are read in windows, never refused.
        stored: the configuration, where a checkpoint holds it; ``model`` is then not read again.

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
            found = f"it has {positions} positions"
            expected = f"at least {_padded(4, rate)}"
            raise InputError(found, key=f"{ENCODER} {self.model}", expected=expected)
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
        """Lay out the characters of a batch of rows; blanks are of no word."""
        layout = super().layout(words)
        word = layout.word.masked_fill(layout.units == BLANK, 1 + words.shape[1])
        return replace(layout, word=word)

    def look_up(self, units: Tensor) -> Tensor:
        """Join what the hash functions find, as the released code hashes."""
        config, tables = self.network.config, self.network.char_embeddings
        parts = []
        for k, prime in enumerate(_PRIMES[: config.num_hash_functions]):
            table: nn.Module = getattr(tables, f"HashBucketCodepointEmbedder_{k}")
            parts.append(table((units + 1) * prime % config.num_hash_buckets))
        return torch.cat(parts, dim=-1)

    def read_together(self, embeddings: Tensor, sizes: Tensor) -> Tensor:
        """Read sentences padded so far that more padding changes nothing; see ``PieceEncoder``."""
        units, width = embeddings.shape[1], self._width(sizes)
        inside = torch.arange(width, device=sizes.device) < sizes[:, None]
        padding = self.look_up(torch.full((1,), SPECIAL.padding, device=sizes.device))
        embeddings = nn.functional.pad(embeddings, (0, 0, 0, width - units))
        embeddings = torch.where(inside.unsqueeze(-1), embeddings, padding)
        output = self.network(inputs_embeds=embeddings, attention_mask=inside.long())
        states: Tensor = output.last_hidden_state[:, :units]
        return states

    def _width(self, sizes: Tensor) -> int:
        """Return how many characters are read of a batch, padding included.

        Characters are read ``downsampling_rate`` at a time. The network drops the last group to
        make room for [CLS], and its convolution over characters looks into the group after a
        sentence's last: two groups of padding. Where the first of them is in a block of local
        attention without any character, which then takes a mean over the block, all of it is read.
        """
        config = self.network.config
        rate, block = config.downsampling_rate, config.local_transformer_stride
        ends = _padded(sizes, rate)
        begin = (ends - rate - 1) // block * block
        ends = torch.where(begin >= sizes, ends.maximum(begin + block), ends)
        return min(int(ends.max()), _positions(config))


def _positions(config: Any) -> int:
    """Return how many characters a network reads at once, padding included."""
    positions: int = min(_TRAINED_ON, config.max_position_embeddings, config.num_hash_buckets)
    return positions


def _padded(units: Any, rate: int) -> Any:
    """Return the end of two groups of padding after ``units`` characters, a number or a tensor."""
    return (-(-units // rate) + 2) * rate


def _with_mask_added(_attention: nn.Module, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """Turn the mask of local attention into numbers to add to scores, in their precision.

    transformers makes them in float32, where 0 times the lowest number of float64 is NaN.
    """
    queries, keys, mask, *rest = arguments
    kind = queries.device.type
    mixed = torch.is_autocast_enabled(kind)
    precision = torch.get_autocast_dtype(kind) if mixed else queries.dtype
    added = torch.zeros_like(mask, dtype=precision)
    added = added.masked_fill(mask == 0, torch.finfo(precision).min)
    return queries, keys, added.unsqueeze(1), *rest


class CharacterTable(PieceTable):
    """Row -> code points of a blank and of a word, and how many there are."""

    unit = "characters"
    separator = chr(SPECIAL.last)

    def __init__(self, max_characters: int) -> None:
        super().__init__(SPECIAL, [BLANK, SPECIAL.unknown], max_characters)

    def describe(self, words: Sequence[str]) -> list[NDArray[np.int64]]:
        """Code points ``(words, max_characters)`` and counts ``(words, 1)``.

        ``-LRB-`` is a bracket; a word of nothing but blanks is the unknown word.
        """
        texts = (readable(word) if word.strip(" ") else chr(SPECIAL.unknown) for word in words)
        return self.rows([[BLANK, *map(ord, text)] for text in texts])
