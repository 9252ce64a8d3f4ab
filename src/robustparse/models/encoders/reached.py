"""Which parameters of a pretrained network have a part in the vectors that are read from it.

Some networks have more: Longformer's projections for global attention, LUKE's table of entities,
XLNet's vector of a masked piece. These never get a gradient, for which training in several
processes would wait.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

_PIECES = 3


@torch.enable_grad()
def freeze_unreached(network: Any, read: Callable[[Tensor, Tensor], Tensor]) -> None:
    """Take the parameters that vectors do not depend on out of training.

    Args:
        network: whose parameters; in evaluation mode, in which no layer is left out.
        read: embedded pieces ``(batch, units, dim)`` and how many there are, ``(batch,)`` ->
            vectors that follow from both through the network.
    """
    pieces = network.get_input_embeddings()(torch.zeros(1, _PIECES, dtype=torch.int64))
    open_nodes: list[Any] = [read(pieces, torch.tensor([_PIECES])).grad_fn]
    reached, seen = set[int](), set[object]()
    while open_nodes:
        node = open_nodes.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        # A leaf of the graph collects the gradient of one parameter.
        reached.add(id(getattr(node, "variable", None)))
        open_nodes += [following for following, _ in node.next_functions]
    for parameter in network.parameters():
        if id(parameter) not in reached:
            parameter.requires_grad_(False)
