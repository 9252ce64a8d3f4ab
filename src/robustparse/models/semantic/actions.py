"""Numbers the actions of a grammar, and the frontier fields that a decoder may read."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from robustparse.grammars import (
    PUNCTUATION,
    REDUCE,
    Action,
    Derivation,
    Field,
    Grammar,
    Node,
    actions_of,
)

COLUMNS = ("actions", "parents", "fields", "types", "parent_steps")
"""Gold columns of each step: the action; and of its frontier field the parent's rule, the field,
its type and the parent's step. All numbers count from 1; 0 means none."""


class Frontier(NamedTuple):
    """The frontier fields, for the decoder to read, each ``(rows,)`` or ``(rows, steps)``."""

    parents: Tensor
    fields: Tensor
    types: Tensor
    parent_steps: Tensor


class Kind(NamedTuple):
    """A frontier field, without its parent's step.

    Args:
        parent, field, type: see `COLUMNS`.
        mask: its row of `ActionNumbers.masks`.
    """

    parent: int
    field: int
    type: int
    mask: int


_END = Kind(0, 0, 0, 0)


class ActionNumbers:
    """Numbers the actions from 1: rules in the order of the grammar, REDUCE, tokens.

    Args:
        grammar: the grammar of the trees.
        labels: the tokens of the training forms.

    Attributes:
        rules: the numbers of rules and of REDUCE.
        tokens: the numbers of the training tokens.
        unknown: the first number of other tokens. They get numbers as they appear, to tell them
            apart; decoders read all of them as this one.
        masks: ``(masks, unknown)`` the actions that fit a field; row 0, after the end, has none.
        for_tokens: ``(masks, 1)`` whether tokens fit a field.
    """

    def __init__(self, grammar: Grammar, labels: Sequence[str]) -> None:
        self.grammar = grammar
        reduce = 1 + len(grammar.constructors)
        self.unknown = reduce + 1 + len(labels)
        self.rules, self.tokens = slice(1, reduce + 1), slice(reduce + 1, self.unknown)
        self._actions: list[Action] = [REDUCE, *grammar.constructors, REDUCE, *labels]
        self._numbers = {action: number for number, action in enumerate(self._actions)}
        root = Derivation(grammar).field
        rows = {field: row for row, field in enumerate((root, *grammar.fields), start=1)}
        self.masks = torch.zeros(1 + len(rows), self.unknown, dtype=torch.bool)
        self.for_tokens = torch.zeros(1 + len(rows), 1, dtype=torch.bool)
        for field, row in rows.items():
            self.masks[row, self._fitting(field)] = True
            self.for_tokens[row] = field.type in grammar.primitives
        self._root = Kind(0, 0, 0, rows[root])
        types = {name: number for number, name in enumerate(grammar.types, start=1)}
        fields = {field: number for number, field in enumerate(grammar.fields, start=1)}
        self._kinds = {
            (rule.name, position): Kind(number, fields[field], types[field.type], rows[field])
            for number, rule in enumerate(grammar.constructors, start=1)
            for position, field in enumerate(rule.fields)
        }

    def number(self, action: Action) -> int:
        """Return the number of an action; a new token gets a new number."""
        if action not in self._numbers:
            self._numbers[action] = len(self._actions)
            self._actions.append(action)
        return self._numbers[action]

    def action(self, number: int) -> Action:
        """Return the action with a number."""
        return self._actions[number]

    def kind(self, derivation: Derivation) -> Kind:
        """Return the kind of the frontier field."""
        if not derivation.open_nodes:
            return _END if derivation.finished else self._root
        node = derivation.open_nodes[-1]
        return self._kinds[node.constructor.name, len(node.values)]

    def _fitting(self, field: Field) -> list[int]:
        """Return the numbers of the actions that fit a field."""
        if field.type in self.grammar.primitives:
            tokens = range(self.tokens.start, self.tokens.stop)
            return [number for number in tokens if self.action(number) not in PUNCTUATION]
        rules = [rule for rule in self.grammar.constructors if rule.type == field.type]
        fitting: list[Action] = [*rules, REDUCE] if field.repeated else [*rules]
        return [self.number(action) for action in fitting]

    def steps(self, tree: Node) -> list[tuple[int, ...]]:
        """Return the columns of each step of a tree."""
        derivation = Derivation(self.grammar)
        steps: list[tuple[int, ...]] = []
        for action in actions_of(tree):
            frontier = (*self.kind(derivation)[:3], 1 + derivation.parent_step)
            steps.append((self.number(action), *frontier))
            derivation = derivation.apply(action)
        return steps
