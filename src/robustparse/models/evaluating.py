"""A parser in evaluation mode for a while, and afterwards as it was."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def evaluating(parser: torch.nn.Module) -> Iterator[None]:
    """Give evaluation mode without gradients; afterwards every module's mode is what it was."""
    modes = {module: module.training for module in parser.modules()}
    parser.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for module, training in modes.items():
            module.training = training
