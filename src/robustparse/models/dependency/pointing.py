"""The transitions of the stack-pointer parser (Ma et al. 2018, section 3.1), top down.

The stack holds ROOT at first. At each step the word on top points to one of its children, which is
pushed, or to itself, and is popped. A tree of n words, projective or not, takes 2n + 1 steps.
Position 0 is ROOT.
"""

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from robustparse.errors import check_choice

Order = Literal["inside_out", "left2right", "shallow_first", "deep_first"]
"""In which order a word points to its children.

``inside_out``: those on the left, the nearest first, then those on the right, the nearest first;
``left2right``: as in the sentence; ``shallow_first`` and ``deep_first``: by the depth of their
subtrees, of equal ones inside out.
"""

STEP_COLUMNS = ("tops", "children", "siblings", "grandparents")


def check_order(order: str) -> None:
    """Refuse an unknown order.

    Raises:
        InputError: names the orders there are.
    """
    check_choice("order", order, get_args(Order))


def gold_steps(heads: Sequence[int], order: Order) -> NDArray[np.int64]:
    """Return the steps that build a tree, ``(4, 2 * words + 1)``, a row each of `STEP_COLUMNS`.

    They are the word on top, the one it points to, its previous child and its head; 0 stands for
    no such word too.
    """
    remaining = _children(heads, order)
    head_of, previous = [0, *heads], [0] * (len(heads) + 1)
    stack, steps = [0], []
    while stack:
        top = stack[-1]
        child = remaining[top].pop(0) if remaining[top] else top
        steps.append((top, child, previous[top], head_of[top]))
        if child == top:
            stack.pop()
        else:
            previous[top] = child
            stack.append(child)
    return np.array(steps, dtype=np.int64).T


def _children(heads: Sequence[int], order: Order) -> list[list[int]]:
    """Return the children of each position in the order in which it points to them."""
    children: list[list[int]] = [[] for _ in range(len(heads) + 1)]
    for word, head in enumerate(heads, start=1):
        children[head].append(word)
    if order == "left2right":
        return children
    for head, own in enumerate(children):
        own.sort(key=lambda word, head=head: (word > head, abs(word - head)))  # type: ignore[misc]
    if order == "inside_out":
        return children
    depths = _depths(heads)
    for own in children:
        own.sort(key=lambda word: depths[word] if order == "shallow_first" else -depths[word])
    return children


def _depths(heads: Sequence[int]) -> list[int]:
    """Return how many arcs lead down from each position at most."""
    depths = [0] * (len(heads) + 1)
    for word in range(1, len(heads) + 1):
        depth = 0
        while word:
            word, depth = heads[word - 1], depth + 1
            depths[word] = max(depths[word], depth)
    return depths


class PartialTrees:
    """Trees under construction, one a row, all of them extended by one action at a time.

    Args:
        lengths: ``(rows,)`` words a sentence.
        size: 1 + the longest length.
        order: of children. The two orders by depth cannot be told before a tree is complete, and
            then any order is legal.
        single_root: ROOT gets one child only.

    Attributes:
        top: ``(rows,)`` the position on top of the stack.
        heads, labels: ``(rows, size)``.
        previous: ``(rows, size)`` the last child of each position, 0 for none.
        free: ``(rows, size)`` words without a head.
        on_stack: ``(rows, size)``.
    """

    def __init__(self, lengths: Tensor, size: int, order: Order, single_root: bool) -> None:
        self.order, self.single_root = order, single_root
        self.places = torch.arange(size, device=lengths.device)
        self.top = torch.zeros_like(lengths)
        self.heads = lengths.new_zeros(len(lengths), size)
        self.labels, self.previous = self.heads.clone(), self.heads.clone()
        self.free = (self.places > 0) & (self.places <= lengths[:, None])
        self.on_stack = self.places.expand_as(self.heads) == 0

    @property
    def finished(self) -> Tensor:
        """Tell where ROOT is popped, ``(rows,)``."""
        return ~self.on_stack[:, 0]

    def of_top(self, column: Tensor) -> Tensor:
        """Return the entry of the word on top, ``(rows,)``, of ``(rows, size)``."""
        return column.gather(1, self.top[:, None]).squeeze(1)

    def legal(self) -> Tensor:
        """Tell which positions the word on top may point to, ``(rows, size)``.

        A word is popped only if the rest of the stack can take every word that is left, in order.
        A child that is pushed always can, so that no hypothesis has a dead end.
        """
        top, last = self.top[:, None], self.of_top(self.previous)[:, None]
        pushed = self.free & self._follows(top, last)
        below = self.on_stack & (self.places != top) & self._can_continue()
        if self.single_root:
            pushed &= (top > 0) | (last == 0)
            below[:, 0] = False  # below the top, ROOT has its one child
        popped = below.any(1) | ~self.free.any(1)
        return pushed.scatter(1, top, popped[:, None])

    def take(self, positions: Tensor, labels: Tensor) -> None:
        """Let the word on top point, ``(rows,)``, to a child with that label or to itself."""
        top, position = self.top[:, None], positions[:, None]
        pushed = position != top

        def put(column: Tensor, where: Tensor, new: Tensor) -> None:
            column.scatter_(1, where, torch.where(pushed, new, column.gather(1, where)))

        put(self.heads, position, top)
        put(self.labels, position, labels[:, None])
        put(self.previous, top, position)
        self.free.scatter_(1, position, False)
        self.on_stack.scatter_(1, position, pushed)
        self.top = torch.where(pushed.squeeze(1), positions, self.of_top(self.heads))

    def select(self, rows: Tensor) -> None:
        """Continue with these rows."""
        for name in ("top", "heads", "labels", "previous", "free", "on_stack"):
            setattr(self, name, getattr(self, name)[rows])

    def _follows(self, top: Tensor, last: Tensor) -> Tensor:
        """Tell which positions come after the last child of the top in order, ``(rows, size)``."""
        if self.order == "left2right":
            return self.places > last
        if self.order != "inside_out":
            return torch.ones_like(self.free)
        left = (last == 0) | ((last < top) & (self.places < last))
        right = (last < top) | (self.places > last)
        return torch.where(self.places < top, left, right)

    def _can_continue(self) -> Tensor:
        """Tell which positions with a child can take one more free word, ``(rows, size)``."""
        final = torch.where(self.free, self.places, -1).amax(1, keepdim=True)
        if self.order == "left2right":
            return final > self.previous
        if self.order != "inside_out":
            return (final > 0).expand_as(self.free)
        first = torch.where(self.free, self.places, len(self.places)).amin(1, keepdim=True)
        left = (first < self.previous) | (final > self.places)
        return torch.where(self.previous < self.places, left, final > self.previous)
