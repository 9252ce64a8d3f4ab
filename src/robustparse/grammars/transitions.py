"""Abstract syntax trees as sequences of actions (Yin and Neubig 2018, section 2).

A tree is built depth-first, from left to right. The *frontier field* is the one that the next
action fills: a field of a composite type by a constructor (ApplyRule), one of a primitive type by a
token (GenToken). A field of any number of values is closed by `REDUCE`, even an empty one. Since
only actions that fit the frontier field are allowed, every finished derivation is a tree.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from robustparse.grammars.asdl import Constructor, Field, Grammar


class Reduce(NamedTuple):
    """Closes a field of any number of values."""


REDUCE: Final = Reduce()

Action = Constructor | str | Reduce
"""ApplyRule, by its constructor; GenToken, by its token; or `REDUCE`."""


@dataclass(frozen=True)
class Node:
    """A tree: a constructor and the values of each of its fields, trees or tokens."""

    constructor: Constructor
    values: tuple[tuple["Node | str", ...], ...]


class _Open(NamedTuple):
    """A node under construction: the values of the fields before the frontier field, the current
    values of the frontier field, and the step at which the constructor was applied.
    """

    constructor: Constructor
    values: tuple[tuple[Node | str, ...], ...]
    current: tuple[Node | str, ...]
    step: int

    @property
    def field(self) -> Field:
        return self.constructor.fields[len(self.values)]


@dataclass(frozen=True)
class Derivation:
    """A partial tree; immutable, so that hypotheses can share their beginnings.

    Args:
        grammar: the grammar that says which actions fit.
        open_nodes: nodes under construction, from the root to the current one.
        steps: number of actions so far.
        tree: the finished tree.
    """

    grammar: Grammar
    open_nodes: tuple[_Open, ...] = ()
    steps: int = 0
    tree: Node | None = None

    @property
    def finished(self) -> bool:
        """Whether the tree is finished."""
        return self.tree is not None

    @property
    def parent_step(self) -> int:
        """The step, from 0, that applied the constructor of the frontier field.

        -1 at the root and when finished.
        """
        return self.open_nodes[-1].step if self.open_nodes else -1

    @property
    def field(self) -> Field:
        """The frontier field; at the root a field of the root type.

        Raises:
            ValueError: the derivation is finished.
        """
        if self.finished:
            raise ValueError("a finished derivation has no frontier field")
        if self.open_nodes:
            return self.open_nodes[-1].field
        return Field("root", self.grammar.root, repeated=False)

    def apply(self, action: Action) -> "Derivation":
        """Return the derivation after one more action.

        Raises:
            ValueError: the action does not fit the frontier field.
        """
        if not self._fits(action):
            raise ValueError(f"{action} does not fit the field {self.field}")
        nodes = list(self.open_nodes)
        if isinstance(action, Constructor):
            nodes.append(_Open(action, (), (), self.steps))
        elif isinstance(action, str):
            nodes[-1] = _with_value(nodes[-1], action)
        else:
            nodes[-1] = _closed(nodes[-1])
        tree = None
        while nodes and len(nodes[-1].values) == len(nodes[-1].constructor.fields):
            whole = nodes.pop()
            tree = Node(whole.constructor, whole.values)
            if nodes:
                nodes[-1] = _with_value(nodes[-1], tree)
        return Derivation(self.grammar, tuple(nodes), self.steps + 1, None if nodes else tree)

    def _fits(self, action: Action) -> bool:
        field = self.field
        if isinstance(action, str):
            return field.type in self.grammar.primitives
        return action.type == field.type if isinstance(action, Constructor) else field.repeated


def _with_value(node: _Open, value: Node | str) -> _Open:
    added = node._replace(current=(*node.current, value))
    return added if node.field.repeated else _closed(added)


def _closed(node: _Open) -> _Open:
    return node._replace(values=(*node.values, node.current), current=())


def actions_of(node: Node) -> Iterator[Action]:
    """Yield the actions that build a tree."""
    yield node.constructor
    for field, values in zip(node.constructor.fields, node.values, strict=True):
        for value in values:
            if isinstance(value, Node):
                yield from actions_of(value)
            else:
                yield value
        if field.repeated:
            yield REDUCE
