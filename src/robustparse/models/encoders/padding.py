"""Whether padding reaches the words in a network, found out by reading a sentence with and without.

Attention is told which pieces are padding. Convolutions over the pieces (ConvBERT, MobileBERT),
Fourier transforms (FNet) and attention to landmarks (Nyströmformer) are not: their sentences must
be read with others of the same length alone, lest a parse depends on its batch mates.
"""

from typing import Any

import torch

from robustparse.errors import InputError, reason
from robustparse.pretrained import ENCODER

_PIECES, _PADDED = 3, 8
# Of the largest number. Rounding moves it by less than 1e-6, padding that gets through by 1e-4 or
# more, even with weights that were never trained.
_TOLERANCE = 1e-5


@torch.no_grad()
def padding_reaches_words(model: str, network: Any, positions: int) -> bool:
    """Whether the vectors of a sentence's pieces change with padding behind them.

    Args:
        model: its name, for errors.
        network: in single precision; left in evaluation mode.
        positions: how many pieces it reads at most.

    Raises:
        InputError: it cannot read pieces that are embedded already.
    """
    network.eval()
    try:
        table = network.get_input_embeddings()
        ids = torch.arange(min(_PADDED, positions)) % network.config.vocab_size
        pieces = table(ids.unsqueeze(0))
        mask = (torch.arange(pieces.shape[1]) < _PIECES).long().unsqueeze(0)
        alone, padded = (
            network(inputs_embeds=pieces[:, :size], attention_mask=mask[:, :size])
            for size in (_PIECES, pieces.shape[1])
        )
        states = alone.last_hidden_state
        if states.shape[2] != (size := network.config.hidden_size):
            raise ValueError(
                f"its vectors have {states.shape[2]} numbers, its hidden_size is {size}"
            )
        difference = (padded.last_hidden_state[:, :_PIECES] - states).abs().max()
    except Exception as error:  # what a network lacks then may raise anything
        raise InputError(
            f"{ENCODER} {model}: it cannot read pieces that are embedded already "
            f"({reason(error)}); expected an encoder such as BERT, RoBERTa or ELECTRA"
        ) from error
    return bool(difference > _TOLERANCE * states.abs().max())
