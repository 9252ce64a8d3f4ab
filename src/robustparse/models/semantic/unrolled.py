"""Faster gradients of layers that a decoder applies at every step.

A weight W that is applied to x_1, ..., x_T has the gradient sum_t g_t x_t^T, where g_t is the
gradient of W x_t. Autograd makes T matrices as large as W and adds them up; with small batches this
takes longer than the rest of the backward pass. Here a step computes W x_t + z_t, where W is a
constant and z_t a tap: it holds the bias and receives the gradient g_t. When all taps have their
gradients, the sum is the product of two matrices. Values and first derivatives are equal up to
rounding; second derivatives are wrong.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn


class _Taps(torch.autograd.Function):
    """Repeats the bias for each step; its backward pass returns the gradients of both."""

    @staticmethod
    def forward(
        ctx: Any, _weight: Tensor, bias: Tensor, inputs: list[Tensor], shape: tuple[int, int]
    ) -> Tensor:
        """Return the bias, ``(steps, rows, out)``; ``inputs`` are filled in step after step."""
        ctx.inputs = inputs
        return bias.expand(*shape, len(bias)).clone()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None, None]:
        """Return the gradients of all steps."""
        over_rows = grad.flatten(0, 1)
        return over_rows.T @ torch.cat(ctx.inputs), over_rows.sum(0), None, None


def _taps(
    weight: Tensor, bias: Tensor, inputs: list[Tensor], shape: tuple[int, int]
) -> Iterator[Tensor]:
    taps: Tensor = _Taps.apply(weight, bias, inputs, shape)  # type: ignore[no-untyped-call]
    return iter(taps)


@contextmanager
def unrolled(layers: Sequence[nn.LSTMCell | nn.Linear], *, rows: int, steps: int) -> Iterator[None]:
    """Compute the gradients of the layers' weights in one product while the context lasts.

    It changes nothing without gradients; in mixed precision, which would cast the constant at every
    step; and on a GPU, whose LSTM cells take no bias for each row.

    Args:
        layers: linear layers and LSTM cells.
        rows: the rows that a layer reads in each step.
        steps: how often each layer is applied.
    """
    with ExitStack() as stack:
        for layer in layers:
            on_cpu = next(layer.parameters()).device.type == "cpu"
            if not on_cpu or not torch.is_grad_enabled() or torch.is_autocast_enabled("cpu"):
                continue
            shape = (steps, rows)
            if isinstance(layer, nn.LSTMCell):
                stack.enter_context(_applied_as(layer, _cell(layer, shape)))
            else:
                stack.enter_context(_applied_as(layer, _linear(layer, shape)))
        yield


@contextmanager
def _applied_as(layer: nn.Module, forward: Callable[..., Any]) -> Iterator[None]:
    """Replace the forward pass of a layer while the context lasts."""
    vars(layer)["forward"] = forward
    try:
        yield
    finally:
        del vars(layer)["forward"]


def _cell(layer: nn.LSTMCell, shape: tuple[int, int]) -> Callable[..., tuple[Tensor, Tensor]]:
    inputs: list[Tensor] = []
    weights = torch.cat([layer.weight_ih, layer.weight_hh], dim=1)
    taps = _taps(weights, layer.bias_ih + layer.bias_hh, inputs, shape)
    read, hidden = layer.weight_ih.detach(), layer.weight_hh.detach()

    def forward(values: Tensor, state: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        inputs.append(torch.cat([values, state[0]], dim=-1).detach())
        return torch.lstm_cell(values, state, read, hidden, next(taps))

    return forward


def _linear(layer: nn.Linear, shape: tuple[int, int]) -> Callable[[Tensor], Tensor]:
    inputs: list[Tensor] = []
    bias = layer.weight.new_zeros(layer.out_features) if layer.bias is None else layer.bias
    taps = _taps(layer.weight, bias, inputs, shape)
    weight = layer.weight.detach()

    def forward(values: Tensor) -> Tensor:
        rows = values.flatten(0, -2)
        inputs.append(rows.detach())
        return torch.addmm(next(taps), rows, weight.T).view(*values.shape[:-1], len(weight))

    return forward
