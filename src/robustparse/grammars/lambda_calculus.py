"""Lambda calculus, the language of GEO and ATIS: ``( lambda $0 e ( loc:t c0 $0 ) )``.

The kind of a token follows from its shape (the released code of TranX has lists of names): ``$...``
is a variable, ``...:i`` and ``...:hr`` are numbers, any other leaf is an entity, and a bracketed
head that is not an operator is a predicate.

Variables and operators may have types (Artzi and Zettlemoyer 2013), which `exact_match` leaves out:
``( lambda $0:e ( and:<t*,t> ( river:<e,t> $0 ) ( loc:<e,<e,t>> $0 s0 ) ) )``. Types of predicates
are parts of their names.
"""

from collections.abc import Mapping
from typing import ClassVar

from robustparse.grammars.language import Language, Tree, bracketed, reordered
from robustparse.grammars.tokens import TokenReader
from robustparse.grammars.transitions import Node

_COMPARED = {">": "GreaterThan", "=": "Equal", "<": "LessThan"}
_SIGNS = {name: sign for sign, name in _COMPARED.items()}


class LambdaCalculus(Language):
    """``( head child ... )`` is a tree, a token outside such brackets is a leaf."""

    asdl = "lambda.asdl"
    binders = frozenset(
        ("lambda", "exists", "argmax", "argmin", "count", "sum", "max", "min", "the", "forall")
    )
    variable_types: ClassVar[Mapping[str, str]] = {"lambda": "e"}
    operators = frozenset((*(binders - {"forall"}), "not", "and", "or"))
    unordered = frozenset(("and", "or", "=", "next_to:t"))
    repeatable = frozenset(("and", "or"))

    def read(self, text: str) -> Tree:
        """See `Language`."""
        reader = TokenReader(text)
        tree = _term(reader)
        reader.end()
        return tree

    def print(self, tree: Tree) -> str:
        """See `Language`."""
        return bracketed(tree)

    def leaf(self, token: str) -> str:
        """See `Language`."""
        if token[0] == "$":
            return "Variable"
        return "Number" if token.endswith((":i", ":hr")) else "Entity"

    def canonical(self, tree: Tree) -> Tree:
        """Name variables by the number of binders around their binder.

        The types of variables and operators are left out.
        """
        return self.ordered(self._bound(tree, {}))

    def by_heads(self, tree: Tree) -> Tree:
        """Sort the children of ``and`` and ``or`` by their heads only; variables keep names."""
        return reordered(
            tree, self.repeatable, lambda child: child if isinstance(child, str) else str(child[0])
        )

    def to_ast(self, tree: Tree) -> Node:
        """See `Language`; comparisons share a constructor."""
        if isinstance(tree, str) or tree[0] not in _COMPARED:
            return super().to_ast(tree)
        rule, operator = self.rule("Compare"), self.rule(_COMPARED[str(tree[0])])
        if len(tree) != 3:
            raise self.other_arguments(tree, rule)
        sides = ((self.to_ast(side),) for side in tree[1:])
        return Node(rule, ((Node(operator, ()),), *sides))

    def from_ast(self, node: Node) -> Tree:
        """See `Language`."""
        if node.constructor.name in _SIGNS:
            return _SIGNS[node.constructor.name]
        if node.constructor.name != "Compare":
            return super().from_ast(node)
        return tuple(self.from_ast(child) for (child,) in node.values if isinstance(child, Node))

    def _bound(self, tree: Tree, names: Mapping[str, str], depth: int = 0) -> Tree:
        """Rename variables as in `canonical`, inside `depth` binders."""
        if isinstance(tree, str):
            return names.get(tree, tree)
        name, children = str(tree[0]).partition(":<")[0], tree[1:]
        head = name if name in self.operators | self.unordered else tree[0]
        if (
            head in self.binders
            and children
            and isinstance(children[0], str)
            and children[0][0] == "$"
        ):
            # No token of a form contains this character, so names cannot clash with free variables.
            variable = children[0].partition(":")[0]
            names, depth = {**names, variable: f"\0{depth}"}, depth + 1
            typed = head in self.variable_types and len(children) == 3
            children = (variable, *children[2 if typed else 1 :])
        return (head, *(self._bound(child, names, depth) for child in children))


def _term(reader: TokenReader) -> Tree:
    if reader.next != "(":
        return reader.leaf()
    reader.take("(")
    parts: list[Tree] = [reader.leaf()]
    while reader.rest and reader.next != ")":
        parts.append(_term(reader))
    reader.take(")")
    return tuple(parts)
