"""ELMo as an encoder: a learned mix of the layers of a bidirectional language model.

Peters et al. (2018), "Deep contextualized word representations", equation 1:

    ELMo_k = gamma * sum_j s_j h_kj

h_kj is the vector of word k in layer j, with both directions concatenated; s is the softmax of
learned weights. Layer 0 is the character-based word vector, twice.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from robustparse.data.vocab import Vocabulary
from robustparse.models.encoders.bilm import (
    BEGIN_SENTENCE,
    BEGIN_WORD,
    END_SENTENCE,
    END_WORD,
    PADDING,
    BiLM,
    fill,
    read_options,
    sizes_of,
)
from robustparse.models.encoders.pretrained import PretrainedEncoder
from robustparse.models.encoders.subwords import readable
from robustparse.models.encoders.word_table import ROOT, FormTable, in_order_met


class ELMoEncoder(PretrainedEncoder):
    """A published bidirectional language model over characters, and a mix of its layers.

    ROOT is the mark at the beginning of a sentence. Deltas are added to the character-based word
    vectors, which both directions read. The unknown word has no characters. Every sentence starts
    from a zero state, so that a parse does not depend on earlier sentences.

    Args:
        options: the JSON file of the model.
        weights: its HDF5 file; needs h5py, the extra ``elmo``.
        tune: train the language model; otherwise, as in Wang et al. (2021), only the mix.
        dropout: dropout of the words' vectors, with masks shared over a sentence (0.33). The
            language model and its mix have no dropout (Wang et al. 2021).
        lstm_layers: layers of a BiLSTM over the words' vectors (0: none; Wang et al. 2021: 3).
        hidden: its units per direction (400).
        stored: the options from a checkpoint; no file is then read.

    Raises:
        InputError: a setting is out of range; or, in ``build``, the files cannot be used.
    """

    network: BiLM
    table: "ByteTable"

    def __init__(
        self,
        options: str,
        weights: str,
        tune: bool = False,
        dropout: float = 0.33,
        lstm_layers: int = 0,
        hidden: int = 400,
        stored: dict[str, str] | None = None,
    ) -> None:
        super().__init__(tune, dropout, lstm_layers, hidden, stored)
        self.options, self.weights = options, weights

    def build(self, vocabulary: Vocabulary) -> None:
        """Load the language model; make the layers on top of it."""
        if self.stored is None:
            text = read_options(self.options)
            network = BiLM(sizes_of(text, self.options))
            fill(network, self.weights, self.options)
            self.stored = {"options": text}
        else:
            network = BiLM(sizes_of(self.stored.get("options", ""), None))
        self.hold(network)
        sizes = network.sizes
        self.table = ByteTable(sizes.max_characters)
        self.dim = self.form_dim = sizes.projection
        self.mix_weights = nn.Parameter(torch.zeros(1 + sizes.layers))
        self.gamma = nn.Parameter(torch.ones(1))
        self.add_lstm(2 * sizes.projection)

    def differences(self, saved: Mapping[str, Any]) -> list[str]:
        """Name the options if they differ."""
        same = saved.get("stored") == self.stored
        return [] if same else [f"the options of its language model (options: {self.options})"]

    def embed(self, words: Tensor, tags: Tensor) -> Tensor:
        """Compute the character-based vector of each distinct word once; tags are not read."""
        rows = nn.functional.pad(words, (1, 0), value=ROOT)
        (characters,) = self.table.tensors(words.device)
        different, where = in_order_met(rows)
        spelled: Tensor = self.network.spelling(characters[different])
        return spelled[where]

    def forward(self, embeddings: Tensor, words: Tensor, lengths: Tensor) -> Tensor:
        """Read in both directions and mix the layers."""
        end = torch.from_numpy(self.table.end).to(words.device)
        inputs = nn.functional.pad(embeddings, (0, 0, 0, 1))
        places = torch.arange(inputs.shape[1], device=words.device)
        is_end = (places == lengths[:, None] + 1).unsqueeze(-1)
        inputs = torch.where(is_end, self.network.spelling(end), inputs)
        layers = torch.stack(self.network.read(inputs, lengths + 2))
        mixed = torch.einsum("k,kbld->bld", self.mix_weights.softmax(0), layers)
        return self.finish(self.gamma * mixed[:, :-1], lengths)


class ByteTable(FormTable):
    """Maps rows to the ids of a word's UTF-8 bytes, with marks at both ends.

    Longer words are cut. ROOT has the character that begins a sentence, the unknown word none.

    Args:
        max_characters: maximum length of a word, marks included (50 in published models).
    """

    def __init__(self, max_characters: int) -> None:
        self._width = max_characters
        none = np.zeros((1, max_characters), dtype=np.int64)
        unknown, root = self._marked([]), self._marked([BEGIN_SENTENCE])
        super().__init__([np.concatenate([none, unknown, root])])
        self.end = self._marked([END_SENTENCE])

    def _marked(self, ids: Sequence[int]) -> NDArray[np.int64]:
        """Add the marks to character ids and pad them, ``(1, max_characters)``."""
        marked = [BEGIN_WORD, *ids[: self._width - 2], END_WORD]
        row = np.full((1, self._width), PADDING, dtype=np.int64)
        row[0, : len(marked)] = marked
        return row

    def describe(self, words: Sequence[str]) -> list[NDArray[np.int64]]:
        """Return ids ``(words, max_characters)``; ``-LRB-`` is read as a bracket."""
        spelled = (readable(word).encode("utf-8") for word in words)
        return [np.concatenate([self._marked([1 + byte for byte in one]) for one in spelled])]
