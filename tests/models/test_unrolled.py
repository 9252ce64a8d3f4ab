"""Weights' gradients of layers that are applied step after step."""

import pytest
import torch
from torch import Tensor, nn

from robustparse.models.semantic.unrolled import unrolled

ROWS, STEPS = 2, 3


@pytest.fixture
def layers() -> tuple[nn.LSTMCell, nn.Linear]:
    torch.manual_seed(0)
    return nn.LSTMCell(5, 4).double(), nn.Linear(4, 3).double()


def states(cell: nn.LSTMCell, output: nn.Linear, inputs: Tensor) -> Tensor:
    """Feed what the linear layer gives back into the cell, as decoders do."""
    hidden, memory = inputs.new_zeros(2, ROWS, 4)
    fed, found = inputs.new_zeros(ROWS, 3), []
    for one in inputs:
        hidden, memory = cell(torch.cat([one, fed], dim=-1), (hidden, memory))
        fed = output(hidden[:, None])[:, 0].tanh()
        found.append(fed)
    return torch.stack(found)


def gradients(layers: tuple[nn.LSTMCell, nn.Linear], score: Tensor, inputs: Tensor) -> list[Tensor]:
    parameters = [weight for layer in layers for weight in layer.parameters()]
    return list(torch.autograd.grad(score, [inputs, *parameters], retain_graph=True))


def test_values_and_gradients_are_those_of_every_step(
    layers: tuple[nn.LSTMCell, nn.Linear],
) -> None:
    inputs = torch.randn(STEPS, ROWS, 2, dtype=torch.float64, requires_grad=True)
    usual = states(*layers, inputs)
    with unrolled(layers, rows=ROWS, steps=STEPS):
        found = states(*layers, inputs)
    torch.testing.assert_close(found, usual, rtol=1e-12, atol=1e-14)
    # Of one graph, also of the first steps only, again and in any order.
    for part in (slice(None), slice(1), slice(2, 3), slice(None)):
        for one, other in zip(
            gradients(layers, found[part].square().sum(), inputs),
            gradients(layers, usual[part].square().sum(), inputs),
            strict=True,
        ):
            torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize(("layer", "name"), [(0, "weight_ih"), (0, "weight_hh"), (1, "weight")])
def test_weights_get_one_gradient(
    layers: tuple[nn.LSTMCell, nn.Linear], layer: int, name: str
) -> None:
    """In the graph of the score a weight has one use, not one a step."""
    inputs, seen = torch.randn(STEPS, ROWS, 2, dtype=torch.float64), []
    with unrolled(layers, rows=ROWS, steps=STEPS):
        score = states(*layers, inputs).sum()
    pending, nodes = [score.grad_fn], set()
    while pending:
        node = pending.pop()
        if node is None or node in nodes:
            continue
        nodes.add(node)
        for following, _ in node.next_functions:
            if getattr(following, "variable", None) is getattr(layers[layer], name):
                seen.append(node)
            pending.append(following)
    assert len(seen) == 1


def test_layers_are_as_before(layers: tuple[nn.LSTMCell, nn.Linear]) -> None:
    names = [{*vars(layer)} for layer in layers]
    with (
        pytest.raises(RuntimeError, match="stopped"),
        unrolled(layers, rows=ROWS, steps=STEPS),
    ):
        raise RuntimeError("stopped")
    assert [{*vars(layer)} for layer in layers] == names
    with torch.no_grad(), unrolled(layers, rows=ROWS, steps=STEPS):
        assert [{*vars(layer)} for layer in layers] == names
    with torch.autocast("cpu"), unrolled(layers, rows=ROWS, steps=STEPS):
        assert [{*vars(layer)} for layer in layers] == names
    elsewhere = [layer.to("meta") for layer in layers]
    with unrolled(elsewhere, rows=ROWS, steps=STEPS):
        assert [{*vars(layer)} for layer in elsewhere] == names
