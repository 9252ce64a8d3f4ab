"""What encoders share that read words by a pretrained network: its mode, and what stands on it."""

from collections.abc import Mapping
from typing import Any, Self

from torch import Tensor, nn

from robustparse.errors import check_least, check_rates
from robustparse.models.encoders.base import TableEncoder
from robustparse.models.encoders.dropout import shared_dropout
from robustparse.models.encoders.lstm import BiLSTM


class PretrainedEncoder(TableEncoder):
    """A ``network`` that is tuned or stays as it is, and a BiLSTM over its vectors if asked for.

    Args:
        tune: train the network; otherwise it stays as it is, without dropout.
        dropout: of the words' vectors, masks shared over a sentence.
        lstm_layers: of a BiLSTM over the words' vectors; 0: none.
        hidden: its units a direction.
        stored: what a checkpoint holds of the network's files, which are then not read again.

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
        """Take a network, in the mode that ``tune`` asks for.

        It comes in evaluation mode, and Lightning trains what it finds in training mode.
        """
        self.network = network.requires_grad_(self.tune).train(self.tune)

    def add_lstm(self, size: int) -> None:
        """Make the layers over the words' vectors, which are of that ``size``."""
        if self.lstm_layers:
            self.lstm = BiLSTM(size, self.hidden, self.lstm_layers, self.dropout)
        self.out_dim = 2 * self.hidden if self.lstm_layers else size

    def finish(self, states: Tensor, lengths: Tensor) -> Tensor:
        """Drop, and read by the BiLSTM, ``(batch, 1 + length, size)`` -> ``(..., out_dim)``."""
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
        """Restore what ``stored`` held."""
        self.stored = saved.get("stored")

    def pretrained_parameters(self) -> list[nn.Parameter]:
        """Return those of the network, where it is tuned."""
        return [parameter for parameter in self.network.parameters() if parameter.requires_grad]
