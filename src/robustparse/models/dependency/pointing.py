"""The transitions of the stack-pointer parser (Ma et al. 2018, section 3.1), top down.

The stack initially holds ROOT. At each step, the word on top points to one of its children, which
is pushed, or to itself, and is popped. A tree of n words, projective or not, takes 2n + 1 steps.
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
"""The order in which a word points to its children.

``inside_out``: first the children on the left, then those on the right, the nearest first;
``left2right``: as in the sentence; ``shallow_first`` and ``deep_first``: by the depth of their
subtrees, equal ones inside out.
"""

STEP_COLUMNS = ("tops", "children", "siblings", "grandparents")


def check_order(order: str) -> None:
    """Reject an unknown order.

    Raises:
        InputError: names all orders.
    """
    check_choice("order", order, get_args(Order))


def gold_steps(heads: Sequence[int], order: Order) -> NDArray[np.int64]:
    """Return the steps that build a tree, ``(4, 2 * words + 1)``; the rows are `STEP_COLUMNS`.

    The rows are the word on top, the word that it points to, its previous child and its head; 0 is
    ROOT or means none.
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
    """Return the children of each position in this order."""
    children: list[list[int]] = [[] for _ in range(len(heads) + 1)]
    for word, head in enumerate(heads, start=1):
        children[head].append(word)
    if order == "left2right":
        return children
    for head, words in enumerate(children):
        words.sort(key=lambda word, head=head: (word > head, abs(word - head)))  # type: ignore[misc]
    if order == "inside_out":
        return children
    depths = _depths(heads)
    for words in children:
        words.sort(key=lambda word: depths[word] if order == "shallow_first" else -depths[word])
    return children


def _depths(heads: Sequence[int]) -> list[int]:
    """Return the depth of each position's subtree in arcs."""
    depths = [0] * (len(heads) + 1)
    for word in range(1, len(heads) + 1):
        depth = 0
        while word:
            word, depth = heads[word - 1], depth + 1
            depths[word] = max(depths[word], depth)
    return depths


class PartialTrees:
    """Trees under construction, one in each row; `take` extends all of them by a step.

    Args:
        lengths: ``(rows,)`` words of each sentence.
        size: 1 + the longest length.
        order: order of children. Depths are unknown until a tree is complete, so that the two
            orders by depth allow every child.
        single_root: ROOT has only one child.

    Attributes:
        top: ``(rows,)`` the position on top of the stack.
        heads, labels: ``(rows, size)``.
        previous: ``(rows, size)`` the last child of each position, 0 for none.
        free: ``(rows, size)`` words without a head.
        on_stack: ``(rows, size)``.
    """

    def __init__(self, lengths: Tensor, size: int, order: Order, single_root: bool) -> None:
        self.order, self.single_root = order, single_root
        self.positions = torch.arange(size, device=lengths.device)
        self.top = torch.zeros_like(lengths)
        self.heads = lengths.new_zeros(len(lengths), size)
        self.labels, self.previous = self.heads.clone(), self.heads.clone()
        self.free = (self.positions > 0) & (self.positions <= lengths[:, None])
        self.on_stack = self.positions.expand_as(self.heads) == 0

    @property
    def finished(self) -> Tensor:
        """Return which trees are complete, ``(rows,)``: those whose ROOT is popped."""
        return ~self.on_stack[:, 0]

    def of_top(self, column: Tensor) -> Tensor:
        """Return a column's entry, ``(rows, size)``, for the word on top, ``(rows,)``."""
        return column.gather(1, self.top[:, None]).squeeze(1)

    def legal(self) -> Tensor:
        """Return which positions the word on top may point to, ``(rows, size)``.

        A word may be popped only if the rest of the stack can take every free word, in order. A
        child that was pushed always can, so that there are no dead ends.
        """
        top, last = self.top[:, None], self.of_top(self.previous)[:, None]
        pushed = self.free & self._follows(top, last)
        below = self.on_stack & (self.positions != top) & self._can_continue()
        if self.single_root:
            pushed &= (top > 0) | (last == 0)
            below[:, 0] = False  # below the top, ROOT already has its child
        popped = below.any(1) | ~self.free.any(1)
        return pushed.scatter(1, top, popped[:, None])

    def take(self, positions: Tensor, labels: Tensor) -> None:
        """Point from the word on top to a child with this label, or to itself, ``(rows,)``."""
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
        """Return which positions may follow the last child of the top, ``(rows, size)``."""
        if self.order == "left2right":
            return self.positions > last
        if self.order != "inside_out":
            return torch.ones_like(self.free)
        left = (last == 0) | ((last < top) & (self.positions < last))
        right = (last < top) | (self.positions > last)
        return torch.where(self.positions < top, left, right)

    def _can_continue(self) -> Tensor:
        """Return which positions can take another free word as a child, ``(rows, size)``."""
        final = torch.where(self.free, self.positions, -1).amax(1, keepdim=True)
        if self.order == "left2right":
            return final > self.previous
        if self.order != "inside_out":
            return (final > 0).expand_as(self.free)
        first = torch.where(self.free, self.positions, len(self.positions)).amin(1, keepdim=True)
        left = (first < self.previous) | (final > self.positions)
        return torch.where(self.previous < self.positions, left, final > self.previous)
