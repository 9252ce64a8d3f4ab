"""The bench of what products allow: every kernel does the work that is counted for it."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from bound import ROWS, flop_a_word, kernels, rates


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_kernels_are_of_one_shape_and_have_a_rate(dtype: torch.dtype) -> None:
    hidden = 4
    with torch.no_grad():
        for name, (run, operations) in kernels(dtype, hidden).items():
            output = run()
            states = output[0] if name == "lstm" else output
            width = hidden if name == "lstm" else 4 * hidden
            assert states.numel() == ROWS * width
            assert operations >= 2 * ROWS * 2 * hidden * 4 * hidden
    found = rates(dtype, hidden, rounds=1)
    assert set(found) >= {"product", "linear", "lstm"}
    assert all(rate > 0 for rate in found.values())


def test_the_products_operations_are_those_that_torch_counts() -> None:
    run, operations = kernels(torch.float32, 4)["product"]
    with FlopCounterMode(display=False) as counter:
        run()
    assert counter.get_total_flops() == operations


def test_a_words_operations_grow_with_the_layers() -> None:
    one, two, three = (flop_a_word(hidden=8, layers=layers) for layers in (1, 2, 3))
    # A layer above the first reads 2 x 8 states in each of two directions, with 4 x 8 gates.
    assert three - two == two - one == 2 * 2 * (16 + 8) * 32
