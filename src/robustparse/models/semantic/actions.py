"""Actions of a grammar as numbers, and what a decoder may read of frontier fields."""

from collections.abc import Sequence
from typing import NamedTuple

from torch import Tensor

from robustparse.grammars import (
    REDUCE,
    Action,
    Derivation,
    Node,
    actions_of,
    grammar_of,
)

COLUMNS = ("actions", "parents", "fields", "types", "parent_steps")
"""Of each step: the action, and of its frontier field the parent's rule, the field, its type and
the parent's step, all numbered from 1; 0 stands for none."""


class Frontier(NamedTuple):
    """What the decoder may read of frontier fields, each ``(rows,)`` or ``(rows, steps)``."""

    parents: Tensor
    fields: Tensor
    types: Tensor
    parent_steps: Tensor


class ActionNumbers:
    """Numbers of actions, from 1: rules in the order of the grammar, REDUCE, tokens.

    Args:
        language: of the forms.
        labels: the tokens of forms seen in training.

    Attributes:
        rules: the numbers of rules, REDUCE included.
        tokens: those of tokens.
        unknown: the number of a token never seen in training; it is read, and never predicted.
    """

    def __init__(self, language: str, labels: Sequence[str]) -> None:
        self.grammar = grammar_of(language)
        reduce = 1 + len(self.grammar.constructors)
        self.unknown = reduce + 1 + len(labels)
        self.rules, self.tokens = slice(1, reduce + 1), slice(reduce + 1, self.unknown)
        self._actions: list[Action] = [REDUCE, *self.grammar.constructors, REDUCE, *labels]
        self._numbers = {action: number for number, action in enumerate(self._actions)}
        fields, types = self.grammar.fields, self.grammar.types
        self._fields = {field: number for number, field in enumerate(fields, start=1)}
        self._allowed: dict[tuple[str, bool], list[int]] = {}
        self._none: list[int] = []
        self._types = {name: number for number, name in enumerate(types, start=1)}

    def number(self, action: Action) -> int:
        """Return the number of an action."""
        return self._numbers.get(action, self.unknown)

    def action(self, number: int) -> Action:
        """Return the action of a number."""
        return self._actions[number]

    def allowed(self, derivation: Derivation) -> list[int]:
        """Return the numbers of all actions that fit the frontier field; none after the end."""
        if derivation.finished:
            return self._none
        field = derivation.field
        kind = field.type, field.repeated
        if kind not in self._allowed:
            tokens = list(range(self.tokens.start, self.tokens.stop))
            rules = [self.number(action) for action in derivation.allowed()]
            self._allowed[kind] = tokens if derivation.takes_token else rules
        return self._allowed[kind]

    def frontier(self, derivation: Derivation) -> tuple[int, int, int, int]:
        """Return what may be read of the frontier field, as in `COLUMNS`."""
        parent = derivation.parent
        if parent is None:
            return 0, 0, 0, 0
        field = derivation.field
        numbers = self.number(parent), self._fields[field], self._types[field.type]
        return *numbers, 1 + derivation.parent_step

    def steps(self, tree: Node) -> list[tuple[int, ...]]:
        """Return the columns of each step of a tree."""
        derivation = Derivation(self.grammar)
        steps: list[tuple[int, ...]] = []
        for action in actions_of(tree):
            steps.append((self.number(action), *self.frontier(derivation)))
            derivation = derivation.apply(action)
        return steps
