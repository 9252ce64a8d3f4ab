"""Decoder states of all steps so far, kept once for all hypotheses that share them."""

import torch
from torch import Tensor


class History:
    """Finds the state that a hypothesis had at one of its steps.

    States are never copied when hypotheses are chosen, only their places are: copying them would
    cost as much as the decoder itself.

    Args:
        first: ``(rows, dim)`` the states of step 0.
    """

    def __init__(self, first: Tensor) -> None:
        self._states = first.new_empty(8 * len(first), first.shape[1])
        self._count = 0
        self._places = torch.empty(len(first), 0, dtype=torch.long, device=first.device)
        self.append(first)

    def append(self, states: Tensor) -> None:
        """Add the states of one more step, ``(rows, dim)``."""
        end = self._count + len(states)
        if end > len(self._states):
            self._states = torch.cat([self._states, torch.empty_like(self._states)])
        self._states[self._count : end] = states
        new = torch.arange(self._count, end, device=states.device)
        self._places = torch.cat([self._places, new[:, None]], dim=1)
        self._count = end

    def at(self, steps: Tensor) -> Tensor:
        """Return the state of each hypothesis at a step of its own, ``(rows,)`` -> (rows, dim)."""
        return self._states[self._places.gather(1, steps[:, None]).flatten()]

    def select(self, rows: Tensor) -> None:
        """Continue with the hypotheses of these rows."""
        self._places = self._places[rows]
