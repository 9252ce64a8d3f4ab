"""A bidirectional LSTM as two unpacked ``nn.LSTM`` passes.

Packed sequences use a slow native path whose backward pass adds to every weight at every time step.
Two passes over padded batches, the second with each sentence reversed within its length, use one
fused kernel per layer. Padding follows the words in both directions, so it never affects them.
"""

import torch
from torch import Tensor, nn

from robustparse.models.encoders.dropout import shared_dropout

_ROWS, _FEW = 8, 256  # see `read`


def reversed_rows(lengths: Tensor, width: int) -> Tensor:
    """Return the row order ``(batch * width,)`` that reverses sentences but not padding."""
    positions = torch.arange(width, device=lengths.device)
    reverse = lengths[:, None] - 1 - positions
    sentences = width * torch.arange(len(lengths), device=lengths.device)[:, None]
    return (sentences + torch.where(reverse >= 0, reverse, positions)).flatten()


class BiLSTM(nn.Module):
    """Stacked bidirectional LSTM with variational dropout before every layer but the first.

    Dozat and Manning (2017) also drop recurrent connections. Here these are not dropped, since the
    fused kernel runs all time steps at once. Encoders apply a mask of the same kind to the output.

    Args:
        input_dim: size of the inputs.
        hidden: units per direction (400 in Dozat and Manning 2017).
        layers: number of layers (3 there).
        dropout: dropout of the inputs of layers 2 and up, with masks shared over time.
    """

    def __init__(self, input_dim: int, hidden: int, layers: int = 1, dropout: float = 0.0) -> None:
        super().__init__()
        self.hidden, self.dropout = hidden, dropout
        dims = [input_dim] + [2 * hidden] * (layers - 1)
        self.forwards = nn.ModuleList(nn.LSTM(dim, hidden, batch_first=True) for dim in dims)
        self.backwards = nn.ModuleList(nn.LSTM(dim, hidden, batch_first=True) for dim in dims)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set orthogonal weights and zero biases (Dozat and Manning 2017, released code)."""
        for name, parameter in self.named_parameters():
            if "weight" in name:
                nn.init.orthogonal_(parameter)
            else:
                nn.init.zeros_(parameter)

    def forward(self, inputs: Tensor, lengths: Tensor) -> Tensor:
        """``(batch, length, input_dim)`` -> ``(batch, length, 2 * hidden)``."""
        rows = reversed_rows(lengths, inputs.shape[1])
        states = inputs
        for layer, (left, right) in enumerate(zip(self.forwards, self.backwards, strict=True)):
            if layer:
                states = shared_dropout(states, self.dropout, self.training)
            forward_states = lstm_states(left, states)
            backward_states = lstm_states(right, take_rows(states, rows))
            states = torch.cat([forward_states, take_rows(backward_states, rows)], dim=-1)
        return states

    def last_states(self, inputs: Tensor, lengths: Tensor) -> Tensor:
        """Return the last forward and the last backward state, ``(batch, 2 * hidden)``."""
        states = self(inputs, lengths)
        last = (lengths - 1).clamp(min=0)
        rows = torch.arange(len(states), device=states.device)
        return torch.cat([states[rows, last, : self.hidden], states[:, 0, self.hidden :]], dim=-1)


def lstm_states(
    lstm: nn.Module, states: Tensor, start: tuple[Tensor, Tensor] | None = None
) -> Tensor:
    """Return the states of an LSTM, ``(batch, length, input_dim)`` -> ``(batch, length, hidden)``.

    ``start`` is the hidden and the cell state before the first input, ``(batch, hidden)`` each; by
    default both are zero.

    With a prime number of rows (seen from 661 rows on), oneDNN's backward pass in bfloat16 on
    several threads reads uninitialised memory and gives wrong gradients (torch 2.13, AMD EPYC).
    Additional rows of zeros, which are not used, make the number composite.

    A processor without AVX-512 has no LSTM in bfloat16; mixed precision then computes this layer in
    the precision of its weights.
    """
    autocast = torch.is_autocast_enabled(states.device.type)
    mixed = states.dtype is torch.bfloat16 or autocast
    if autocast and states.device.type == "cpu" and not has_bfloat16_lstm():
        dtype = next(lstm.parameters()).dtype
        initial = start and (start[0].to(dtype), start[1].to(dtype))
        with torch.autocast("cpu", enabled=False):
            return lstm_states(lstm, states.to(dtype), initial)
    added = -len(states) % _ROWS if len(states) > _FEW else 0
    count = len(states)
    if added and mixed and torch.is_grad_enabled() and states.device.type == "cpu":
        states = nn.functional.pad(states, (0, 0, 0, 0, 0, added))
        start = start and tuple(nn.functional.pad(state, (0, 0, 0, added)) for state in start)  # type: ignore[assignment]
    outputs: Tensor = lstm(states, start and tuple(state[None] for state in start))[0]
    return outputs[:count]


def has_bfloat16_lstm() -> bool:
    """Tell whether oneDNN has bfloat16 kernels for this processor."""
    supported: bool = torch.ops.mkldnn._is_mkldnn_bf16_supported()
    return supported


def take_rows(states: Tensor, rows: Tensor) -> Tensor:
    """Reorder the rows of ``(batch, length, dim)``; ``gather`` takes four times as long."""
    return states.flatten(0, 1).index_select(0, rows).view_as(states)
