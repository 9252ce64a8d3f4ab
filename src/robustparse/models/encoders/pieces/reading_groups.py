"""Which sentences of a batch a network reads together: those of about the same length.

Batches hold about as many words in every sentence, yet a sentence of four words may have sixty
pieces (an address, a row of smileys), to whose length all others would be padded.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

# The cost of a pass in addition to its pieces, in pieces: a few milliseconds on a CPU; on a GPU,
# which reads thousands of pieces in the time in which one pass is launched, much more.
_PASS = {"cpu": 64}
_PASS_ELSEWHERE = 2048


def reading_groups(sizes: Tensor) -> list[Tensor]:
    """Choose the rows of each pass over a batch, ``(rows,)`` each, in order of increasing length.

    Args:
        sizes: units of each sentence, ``(batch,)``.
    """
    price = _PASS.get(sizes.device.type, _PASS_ELSEWHERE)
    if len(sizes) * int(sizes.max()) <= price:
        return [torch.arange(len(sizes), device=sizes.device)]
    order = sizes.argsort(stable=True)
    cuts = cheapest_cuts(sizes[order].cpu().numpy(), price)
    return list(order.tensor_split(cuts))


def cheapest_cuts(sizes: NDArray[np.int64], price: int) -> list[int]:
    """Find where to cut so that all passes together cost least: ``price`` and their units each.

    A pass of n sentences has n times the units of its longest one.

    Args:
        sizes: in increasing order.
        price: of a pass, in units.
    """
    longest, first = np.unique(sizes, return_index=True)
    ends = np.append(first[1:], len(sizes))
    # Of all sentences no longer than the k-th length: the least cost, the last pass's first length.
    least, starts = np.zeros(len(longest) + 1), []
    for k, (size, end) in enumerate(zip(longest, ends, strict=True)):
        costs = least[: k + 1] + size * (end - first[: k + 1]) + price
        starts.append(int(costs.argmin()))
        least[k + 1] = costs[starts[-1]]
    cuts, k = [], len(longest)
    while k:
        k = starts[k - 1]
        cuts.append(int(first[k]))
    return cuts[-2::-1]
