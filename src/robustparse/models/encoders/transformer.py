"""A pretrained Transformer as an encoder: sub-word pieces in, one vector a word out.

Wang et al. (2021) take the first piece of the last layer, SuPar a learned mix of the last four
layers (Peters et al. 2018, eq. 1, without its scale, which the linear layer that reads the mix can
learn), averaged over the pieces.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from robustparse.data.vocab import Vocabulary
from robustparse.errors import InputError, check_choice
from robustparse.models.encoders.base import Encoder
from robustparse.models.encoders.dropout import shared_dropout
from robustparse.models.encoders.lstm import BiLSTM
from robustparse.models.encoders.reading_groups import reading_groups
from robustparse.models.encoders.stored import differing, network_of, table_of, to_store
from robustparse.models.encoders.subwords import Layout, lay_out
from robustparse.pretrained import ENCODER, load_encoder
from robustparse.types import Sentence

Pooling = Literal["first", "mean", "last"]
LongSentences = Literal["error", "split", "truncate"]

# Values of model_type for which tests show that a parse does not depend on its batch mates, that
# every trained parameter gets a gradient, and how many pieces are read. Padding reaches words in
# others (ConvBERT, FNet), some have parameters of no use here (Longformer, XLNet).
SUPPORTED = (
    *("albert", "bert", "camembert", "data2vec-text", "deberta", "deberta-v2", "distilbert"),
    *("electra", "ernie", "modernbert", "mpnet", "roberta", "xlm-roberta", "xlm-roberta-xl"),
)


class TransformerEncoder(Encoder):
    """A pretrained encoder of one of the types in ``SUPPORTED``.

    Args:
        model: a folder, or a name in the local cache.
        download: fetch a name that is not in the cache.
        pooling: from pieces to words: the ``first`` (Wang et al. 2021), the ``mean`` (SuPar) or the
            ``last``.
        mix: how many of the last layers are mixed with learned weights; 1 takes the last only.
        tune: train the network; otherwise it stays as it is, without dropout.
        dropout: of the words' vectors, masks shared over a sentence (0.33).
        lstm_layers: of a BiLSTM over the words' vectors (0: none; Wang et al. 2021: 3).
        hidden: its units a direction (400).
        long_sentences: with more pieces than the network has positions: ``error``; ``split`` reads
            them in windows; ``truncate`` gives the words after the limit a zero vector. Sentences
            that an attack makes longer than the limit are read in windows, never refused. Of a
            pair that is read as one, see ``PairEncoderClassifier``, only the premise is cut.
        untested: also accept a network of another type that ``AutoModel`` loads. A parse may then
            depend on the other sentences of its batch, and training in several processes may fail.
        stored: configuration and tokenizer, where a checkpoint holds them; ``model`` is then not
            read again.

    Raises:
        InputError: a setting is out of range, or ``model`` cannot be loaded.
    """

    limit: int

    def __init__(
        self,
        model: str,
        download: bool = False,
        pooling: Pooling = "mean",
        mix: int = 4,
        tune: bool = True,
        dropout: float = 0.33,
        lstm_layers: int = 0,
        hidden: int = 400,
        long_sentences: LongSentences = "error",
        untested: bool = False,
        stored: dict[str, str] | None = None,
    ) -> None:
        super().__init__()
        if mix < 1 or lstm_layers < 0 or hidden < 1 or not 0.0 <= dropout < 1.0:
            raise InputError(
                f"mix {mix}, hidden {hidden}, lstm_layers {lstm_layers} and dropout {dropout}",
                key="TransformerEncoder",
                expected="mix and hidden >= 1, lstm_layers >= 0 and dropout in [0, 1)",
            )
        check_choice("TransformerEncoder: pooling", pooling, get_args(Pooling))
        check_choice("TransformerEncoder: long_sentences", long_sentences, get_args(LongSentences))
        self.model, self.download, self.pooling, self.mix = model, download, pooling, mix
        self.tune, self.dropout, self.lstm_layers, self.hidden = tune, dropout, lstm_layers, hidden
        self.long_sentences, self.untested, self.stored = long_sentences, untested, stored

    def build(self, vocabulary: Vocabulary) -> None:
        """Load the network; make the layers on top of it."""
        network: Any
        if self.stored is None:
            network, tokenizer = load_encoder(self.model, self.download, self._check_type)
            self.stored = to_store(self.model, network, tokenizer)
        else:
            network = network_of(self.model, self.stored)
            self._check_type(network.config.to_dict())
        network.pooler = nn.Identity()  # its weights would never get a gradient
        self.limit = _positions(network) - 2
        self.network = network.requires_grad_(self.tune)
        self.table = table_of(self.model, self.stored, self.limit)
        self.special = self.table.special
        self.separator = self.table.separator
        layers, size = network.config.num_hidden_layers, network.config.hidden_size
        if self.mix > layers:
            found = f"must be at most {layers}, the layers of {self.model}, got {self.mix}"
            raise InputError(found, key="mix")
        self.dim = self.form_dim = network.get_input_embeddings().weight.shape[1]
        self.mix_weights = nn.Parameter(torch.zeros(self.mix), requires_grad=self.mix > 1)
        # It comes in evaluation mode, and Lightning trains what it finds in training mode.
        network.train(self.tune)
        if self.lstm_layers:
            self.lstm = BiLSTM(size, self.hidden, self.lstm_layers, self.dropout)
        self.out_dim = 2 * self.hidden if self.lstm_layers else size

    def _check_type(self, config: Mapping[str, Any]) -> None:
        found = config.get("model_type")
        if not self.untested and found not in SUPPORTED:
            raise InputError(
                f"its model_type is {found!r}",
                key=f"{ENCODER} {self.model}",
                expected=f"one of {', '.join(SUPPORTED)}",
                remedy="choose another model, or set untested: true to use it all the same",
            )

    def train(self, mode: bool = True) -> "TransformerEncoder":
        """Set the mode; a network that is not tuned stays in evaluation mode."""
        super().train(mode)
        if not self.tune and hasattr(self, "network"):
            self.network.eval()
        return self

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Restore configuration and tokenizer."""
        self.stored = saved.get("stored")

    def differences(self, saved: Mapping[str, Any]) -> list[str]:
        """Name another tokenizer and another configuration."""
        names = differing(self.stored or {}, saved.get("stored") or {})
        return [f"its {name} (model: {self.model})" for name in names]

    def intern(self, words: Sequence[str]) -> NDArray[np.int32]:
        """Return rows of the sub-word table."""
        return self.table.intern(words)

    def embedded(self, words: Sequence[str]) -> NDArray[np.bool_]:
        """Tell which words have known pieces only."""
        return self.table.known(words)

    def check(self, sentence: Sentence) -> None:
        """Refuse a sentence over the limit, unless a policy was chosen."""
        pieces = self.table.count(self.intern(sentence.words))
        if self.long_sentences == "error" and pieces > self.limit:
            raise InputError(
                f"{pieces} word pieces, over the encoder's limit of {self.limit}",
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
        embedded: Tensor = self.network.get_input_embeddings()(self.layout(words).units)
        return embedded

    def forward(self, embeddings: Tensor, words: Tensor, lengths: Tensor) -> Tensor:
        """Read the pieces, mix layers, pool words."""
        layout = self.layout(words)
        hidden = self._read(embeddings, layout)
        states = shared_dropout(self._pool(hidden, layout, words), self.dropout, self.training)
        if self.lstm_layers:
            read = self.lstm(states, lengths + 1)
            states = shared_dropout(read, self.dropout, self.training)
        return states

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
            return self._run_together(embeddings, sizes)
        parts = []
        for rows in groups:
            longest = int(sizes[rows].max())
            part = self._run_together(embeddings[rows, :longest], sizes[rows])
            parts.append(nn.functional.pad(part, (0, 0, 0, embeddings.shape[1] - longest)))
        return torch.cat(parts)[torch.cat(groups).argsort()]

    def _run_together(self, embeddings: Tensor, sizes: Tensor) -> Tensor:
        places = torch.arange(embeddings.shape[1], device=embeddings.device)
        mask = (places < sizes[:, None]).long()
        output = self.network(
            inputs_embeds=embeddings, attention_mask=mask, output_hidden_states=self.mix > 1
        )
        if self.mix == 1:
            return output.last_hidden_state  # type: ignore[no-any-return]
        # Some versions list the last layer's states as they were before a final norm.
        layers = torch.stack([*output.hidden_states[-self.mix : -1], output.last_hidden_state])
        return torch.einsum("k,kbud->bud", self.mix_weights.softmax(0), layers)

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

    def pretrained_parameters(self) -> list[nn.Parameter]:
        """Return those of the network, where it is tuned."""
        return [parameter for parameter in self.network.parameters() if parameter.requires_grad]


def _positions(network: Any) -> int:
    """Return how many units a network reads at most, special pieces included.

    RoBERTa and its relatives count after the padding row of their position embeddings. A network
    without a limit reads as many as BERT.
    """
    named = int(getattr(network.config, "max_position_embeddings", 0))
    embeddings = getattr(network, "embeddings", None)
    return (named if named > 0 else 512) - (getattr(embeddings, "padding_idx", -1) + 1)
