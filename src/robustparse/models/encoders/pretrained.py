"""The base class of encoders with a pretrained network: its mode, and the layers on top of it."""

from collections.abc import Mapping
from typing import Any, Self

from torch import Tensor, nn

from robustparse.errors import check_least, check_rates
from robustparse.models.encoders.base import TableEncoder
from robustparse.models.encoders.dropout import shared_dropout
from robustparse.models.encoders.lstm import BiLSTM


class PretrainedEncoder(TableEncoder):
    """A ``network`` that is tuned or frozen, with an optional BiLSTM over its vectors.

    Args:
        tune: train the network; otherwise it is frozen and has no dropout.
        dropout: dropout of the words' vectors, with masks shared over a sentence.
        lstm_layers: layers of a BiLSTM over the words' vectors; 0: none.
        hidden: its units per direction.
        stored: the network's files as texts from a checkpoint; the files are then not read again.

    Raises:
        InputError: a setting is out of range.
    """

    network: Any

    def __init__(
        self,
        tune: bool,
        dropout: float,
        lstm_layers: int,
        hidden: int,
        stored: dict[str, str] | None,
    ) -> None:
        super().__init__()
        owner = type(self).__name__
        check_least(owner, hidden=hidden)
        check_least(owner, 0, lstm_layers=lstm_layers)
        check_rates(owner, dropout=dropout)
        self.tune, self.dropout, self.lstm_layers, self.hidden = tune, dropout, lstm_layers, hidden
        self.stored = stored

    def hold(self, network: Any) -> None:
        """Take a network and set its mode as ``tune`` says.

        Loaded networks are in evaluation mode, and Lightning trains only modules in training mode.
        """
        self.network = network.requires_grad_(self.tune).train(self.tune)

    def add_lstm(self, size: int) -> None:
        """Make the layers over the words' vectors of this ``size``."""
        if self.lstm_layers:
            self.lstm = BiLSTM(size, self.hidden, self.lstm_layers, self.dropout)
        self.out_dim = 2 * self.hidden if self.lstm_layers else size

    def finish(self, states: Tensor, lengths: Tensor) -> Tensor:
        """Apply dropout and the BiLSTM, ``(batch, 1 + length, size)`` -> ``(..., out_dim)``."""
        states = shared_dropout(states, self.dropout, self.training)
        if self.lstm_layers:
            read = self.lstm(states, lengths + 1)
            states = shared_dropout(read, self.dropout, self.training)
        return states

    def train(self, mode: bool = True) -> Self:
        """Set the mode; a network that is not tuned stays in evaluation mode."""
        super().train(mode)
        if not self.tune and hasattr(self, "network"):
            self.network.eval()
        return self

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Restore ``stored``."""
        self.stored = saved.get("stored")

    def pretrained_parameters(self) -> list[nn.Parameter]:
        """Return the parameters of the network if it is tuned."""
        return [parameter for parameter in self.network.parameters() if parameter.requires_grad]
