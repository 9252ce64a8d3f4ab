"""Decoder states of all previous steps, shared by the hypotheses of a beam."""

import torch
from torch import Tensor


class History:
    """Looks up the state of a hypothesis at one of its steps.

    Choosing hypotheses copies the positions of states, not the states: that would cost as much as
    the decoder itself.

    Args:
        first: ``(rows, dim)`` the states of step 0.
    """

    def __init__(self, first: Tensor) -> None:
        self._states = first.new_empty(8 * len(first), first.shape[1])
        self._count = 0
        self._positions = torch.empty(len(first), 0, dtype=torch.long, device=first.device)
        self.append(first)

    def append(self, states: Tensor) -> None:
        """Add the states of the next step, ``(rows, dim)``."""
        end = self._count + len(states)
        if end > len(self._states):
            self._states = torch.cat([self._states, torch.empty_like(self._states)])
        self._states[self._count : end] = states
        new = torch.arange(self._count, end, device=states.device)
        self._positions = torch.cat([self._positions, new[:, None]], dim=1)
        self._count = end

    def at(self, steps: Tensor) -> Tensor:
        """Return the state of each hypothesis at its step, ``(rows,)``: ``(rows, dim)``."""
        return self._states[self._positions.gather(1, steps[:, None]).flatten()]

    def select(self, rows: Tensor) -> None:
        """Continue with the hypotheses of these rows."""
        self._positions = self._positions[rows]
