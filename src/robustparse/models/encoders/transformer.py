"""A pretrained Transformer over sub-word pieces as an encoder, with one vector per word.

Wang et al. (2021) take the first piece of the last layer. SuPar takes a learned mix of the last
four layers, averaged over the pieces (Peters et al. 2018, eq. 1, without its scale, which the
following linear layer can learn).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from robustparse.data.vocab import Vocabulary
from robustparse.errors import InputError, check_least, reason
from robustparse.models.encoders.piece_encoder import LongSentences, PieceEncoder, Pooling
from robustparse.models.encoders.stored import network_of, table_of, to_store
from robustparse.models.encoders.subwords import SubwordTable
from robustparse.pretrained.loaded_model import positions_of
from robustparse.pretrained.loading import ENCODER, load_encoder

# Values of model_type for which tests show that a parse does not depend on the other sentences of
# its batch, that every trained parameter gets a gradient, and how many pieces are read. In other
# models padding affects words (ConvBERT, FNet) or some parameters are unused (Longformer, XLNet).
SUPPORTED = (
    *("albert", "bert", "camembert", "data2vec-text", "deberta", "deberta-v2", "distilbert"),
    *("electra", "ernie", "modernbert", "mpnet", "roberta", "xlm-roberta", "xlm-roberta-xl"),
)


class TransformerEncoder(PieceEncoder):
    """A pretrained encoder of one of the types in ``SUPPORTED``.

    Args:
        model: a folder, or a name in the local cache.
        download: whether to download a model that is not in the cache.
        pooling: from pieces to words: the ``first`` (Wang et al. 2021), the ``mean`` (SuPar) or the
            ``last``.
        mix: the number of last layers that are mixed with learned weights; 1 takes only the last.
        tune: train the network; otherwise it is frozen and has no dropout.
        dropout: dropout of the words' vectors, with masks shared over a sentence (0.33).
        lstm_layers: layers of a BiLSTM over the words' vectors (0: none; Wang et al. 2021: 3).
        hidden: its units per direction (400).
        long_sentences: what to do with sentences of more pieces than the network has positions:
            ``error``; ``split`` reads them in windows; ``truncate`` gives the words after the limit
            a zero vector. Sentences that an attack makes longer than the limit are always read in
            windows. In a pair that is read as one text, see ``PairEncoderClassifier``, only the
            premise is cut.
        untested: also accept other types of networks that ``AutoModel`` loads. A parse may then
            depend on the other sentences of its batch, and training in several processes may fail.
        stored: configuration and tokenizer as texts from a checkpoint; ``model`` is then not read.

    Raises:
        InputError: a setting is out of range, or ``model`` cannot be loaded.
    """

    table: SubwordTable

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
        super().__init__(
            model, download, pooling, long_sentences, tune, dropout, lstm_layers, hidden, stored
        )
        check_least("TransformerEncoder", mix=mix)
        self.mix, self.untested = mix, untested

    def build(self, vocabulary: Vocabulary) -> None:
        """Load the network; make the layers on top of it."""
        network: Any
        if self.stored is None:
            network, tokenizer = load_encoder(self.model, self.download, self._check_type)
            self.stored = to_store(self.model, network, tokenizer)
        else:
            network = network_of(self.model, self.stored)
            self._check_type(network.config.to_dict())
        try:
            self._take(network)
        except Exception as error:  # untested networks may fail in any way
            if not self.untested or isinstance(error, InputError):
                raise
            raise InputError(
                f"a network of the type {network.config.model_type} cannot read vectors of word "
                f"pieces ({reason(error)})",
                key=f"{ENCODER} {self.model}",
                expected="an encoder without a decoder, such as BERT",
                remedy="choose another model",
            ) from error

    def _take(self, network: Any) -> None:
        """Make the layers on top of a network; test an untested network on three pieces."""
        assert self.stored is not None
        layers, size = network.config.num_hidden_layers, network.config.hidden_size
        if self.mix > layers:
            problem = f"must be at most {layers}, the layers of {self.model}, got {self.mix}"
            raise InputError(problem, key="mix")
        limit = positions_of(network, 512) - 2  # as BERT
        table = table_of(self.model, self.stored, limit)
        self.take(network, table, limit, network.get_input_embeddings().weight.shape[1])
        self.mix_weights = nn.Parameter(torch.zeros(self.mix), requires_grad=self.mix > 1)
        self.add_lstm(size)
        if self.untested:
            width = network.get_input_embeddings().weight.shape[1]
            with torch.no_grad(), torch.random.fork_rng(devices=[]):
                read = self.read_together(torch.zeros(1, 3, width), torch.tensor([3]))
            if read.shape != (1, 3, size):
                raise ValueError(f"it gives {tuple(read.shape)} for 3 vectors")

    def _check_type(self, config: Mapping[str, Any]) -> None:
        found = config.get("model_type")
        if self.untested or found in SUPPORTED:
            return
        remedy = "choose another model, or set untested: true to use it all the same"
        raise InputError(
            f"its model_type is {found!r}",
            key=f"{ENCODER} {self.model}",
            expected=f"one of {', '.join(SUPPORTED)}",
            remedy="use CanineEncoder, which reads it" if found == "canine" else remedy,
        )

    def embedded(self, words: Sequence[str]) -> NDArray[np.bool_]:
        """Tell which words have known pieces only."""
        return self.table.known(words)

    def look_up(self, units: Tensor) -> Tensor:
        """See ``PieceEncoder.look_up``."""
        embedded: Tensor = self.network.get_input_embeddings()(units)
        return embedded

    def read_together(self, embeddings: Tensor, sizes: Tensor) -> Tensor:
        """Read pieces and mix layers; see ``PieceEncoder.read_together``."""
        places = torch.arange(embeddings.shape[1], device=embeddings.device)
        mask = (places < sizes[:, None]).long()
        output = self.network(
            inputs_embeds=embeddings, attention_mask=mask, output_hidden_states=self.mix > 1
        )
        if self.mix == 1:
            return output.last_hidden_state  # type: ignore[no-any-return]
        # In some versions, the last hidden states in the list are those before a final norm.
        layers = torch.stack([*output.hidden_states[-self.mix : -1], output.last_hidden_state])
        return torch.einsum("k,kbud->bud", self.mix_weights.softmax(0), layers)
