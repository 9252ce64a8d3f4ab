"""What a language of logical forms is: a reader and a printer of forms, and a grammar of trees.

A form is a line of tokens separated by blanks. Two languages are shipped, ``lambda`` (GEO, ATIS)
and ``prolog`` (JOBS); a user's own is named by the path of its class.

Readers, printers and everything else that walks over trees call themselves for each level of them.
`Language.parse` and `Language.unparse` therefore refuse trees of more levels than `MAX_DEPTH`.
"""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, cached_property
from pathlib import Path
from typing import Any, ClassVar

from robustparse import trust
from robustparse.errors import InputError
from robustparse.grammars.asdl import Constructor, Grammar, read_grammar
from robustparse.grammars.transitions import Node

Tree = str | tuple["Tree", ...]
"""A leaf, or a head, which is a leaf, and its children."""

MAX_DEPTH = 100
"""Levels of a tree at most, its leaves included; the deepest form of GEO, JOBS and ATIS has 15."""

NEXT_FORM = "</s>"
"""Stands between the forms of two joined utterances: parsers learn such pairs, and answer one form
(Jia and Liang 2016, who write the token that ends an answer)."""

_SHIPPED = {
    "lambda": "robustparse.grammars.lambda_calculus.LambdaCalculus",
    "prolog": "robustparse.grammars.prolog.Prolog",
}


class Language(ABC):
    """A language of logical forms; subclasses read, print, and tell leaves from each other.

    The constructors of its grammar are ``Apply``, whose fields are a predicate and any number of
    arguments, those of `operators` and those of leaves, which have one token.

    Attributes:
        asdl: the file of the grammar, in the folder of the class's own file; see `read_grammar`.
        operators: heads with a constructor of their own, which is called like the head with a
            capital first and small letters after it: ``Select`` for ``SELECT`` and ``select``. Any
            other head is a predicate.
        unordered: heads whose children have no order.
        repeatable: heads of which equal children count once, a single child counts for the whole,
            and children of the same head are among the node's own.
        binders: heads whose first child is a variable that they bind; sketches leave it out.
        variable_types: binders whose second child, between the variable and what they bind it in,
            is the variable's type; for each the usual type, which sketches leave out too.
    """

    asdl: ClassVar[str]
    operators: ClassVar[Collection[str]] = ()
    unordered: ClassVar[Collection[str]] = ()
    repeatable: ClassVar[Collection[str]] = ()
    binders: ClassVar[Collection[str]] = ()
    variable_types: ClassVar[Mapping[str, str]] = {}

    @abstractmethod
    def read(self, text: str) -> Tree:
        """Read a form; `TokenReader` has what readers need.

        Raises:
            InputError: the form is empty or unbalanced, or is none of the language.
        """

    @abstractmethod
    def print(self, tree: Tree) -> str:
        """Return the tokens of a form, separated by blanks: the inverse of `read`.

        Raises:
            InputError: a node cannot be written.
        """

    @abstractmethod
    def leaf(self, token: str) -> str:
        """Return the name of the constructor of a leaf, as ``Variable``."""

    def parse(self, text: str) -> Tree:
        """Read a form, and check what `read` returns.

        Raises:
            InputError: see `read`; the form is nested too deep, or `read` does not return a tree.
        """
        with shallow():
            tree = self.read(text)
        _check(tree, f"{type(self).__name__}.read")
        return tree

    def unparse(self, tree: Tree) -> str:
        """Return the form of a tree, as `print` does.

        Raises:
            InputError: see `print`; the tree is nested too deep.
        """
        _check(tree, f"{type(self).__name__}.from_ast")
        with shallow():
            return self.print(tree)

    def canonical(self, tree: Tree) -> Tree:
        """Return what all trees of the same meaning have in common; no variables by default."""
        return self.ordered(tree)

    def by_heads(self, tree: Tree) -> Tree:
        """Return what the released code of TranX compares: by default trees in order."""
        return reordered(tree, self.unordered, bracketed)

    def ordered(self, tree: Tree) -> Tree:
        """Put children without an order into that of their text, and leave out repeated ones."""
        return reordered(tree, self.unordered, bracketed, self.repeatable)

    @property
    def name(self) -> str:
        """The name by which settings, records and checkpoints know the language."""
        path = f"{type(self).__module__}.{type(self).__qualname__}"
        return {shipped: name for name, shipped in _SHIPPED.items()}.get(path, path)

    @cached_property
    def grammar(self) -> Grammar:
        """Of the syntax trees.

        Raises:
            InputError: its file cannot be read.
        """
        path = Path(inspect.getfile(type(self))).with_name(self.asdl)
        try:
            return read_grammar(path.read_text(encoding="utf-8"), str(path))
        except OSError as error:
            expected = "the grammar, in the folder of the language's module"
            raise InputError("cannot be read", path=path, expected=expected) from error

    # Syntax trees

    def to_ast(self, tree: Tree) -> Node:
        """Return the syntax tree of a form.

        Raises:
            InputError: an operator has other arguments than the grammar says.
        """
        if isinstance(tree, str):
            return Node(self.rule(self.leaf(tree)), ((tree,),))
        head, children = str(tree[0]), tree[1:]
        if head in self._constructors:
            return self._operator(tree, self.rule(self._constructors[head]))
        apply = self.rule("Apply")
        values = tuple(self.to_ast_of(child, apply.fields[1].type) for child in children)
        return Node(apply, ((head,), values))

    def to_ast_of(self, tree: Tree, kind: str) -> Node:
        """Return the syntax tree of a form, or of a part of it, that has to be of a type.

        Raises:
            InputError: it is of another type; see `to_ast`.
        """
        node = self.to_ast(tree)
        if node.constructor.type != kind:
            found = f"{self.print(tree)!r:.60} is of the type {node.constructor.type}"
            raise InputError(found, expected=f"the type {kind}, as {self.asdl} says")
        return node

    def from_ast(self, node: Node) -> Tree:
        """Return the form of a syntax tree: the inverse of `to_ast`."""
        name = node.constructor.name
        parts = [
            value if isinstance(value, str) else self.from_ast(value)
            for values in node.values
            for value in values
        ]
        if name == "Apply":
            return tuple(parts)
        return (self._operators[name], *parts) if name in self._operators else parts[0]

    def rule(self, name: str) -> Constructor:
        """Return a constructor of the grammar.

        Raises:
            InputError: it has none of this name.
        """
        if name not in self.grammar.by_name:
            expected = f"one of {', '.join(self.grammar.by_name)}, as {self.asdl} says"
            raise InputError(f"no constructor {name}", key=self.name, expected=expected)
        return self.grammar.by_name[name]

    @cached_property
    def _constructors(self) -> dict[str, str]:
        """The name of the constructor of each operator.

        Raises:
            InputError: an operator has none in the grammar, or that of another one.
        """
        key = f"{self.name}: operators"
        if isinstance(self.operators, str):
            raise InputError(f"got {self.operators!r}", key=key, expected="a tuple of operators")
        names = {head: head.capitalize() for head in self.operators}
        heads = {name: head for head, name in names.items()}
        for head, name in names.items():
            found = f"the operator {head!r} has the constructor {name}"
            if name not in self.grammar.by_name:
                expected = f"{name}(...) in {self.asdl}"
                raise InputError(f"{found}, which is missing", key=key, expected=expected)
            if name == "Apply" or heads[name] != head:
                other = "predicates have" if name == "Apply" else f"{heads[name]!r} has"
                raise InputError(f"{found}, which {other} too", key=key, expected="another name")
        return names

    @cached_property
    def _operators(self) -> dict[str, str]:
        """The operator of each constructor that has one."""
        return {name: head for head, name in self._constructors.items()}

    def other_arguments(self, tree: Tree, rule: Constructor) -> InputError:
        """Return the error that an operator has other arguments than its constructor."""
        fields = ", ".join(field.name for field in rule.fields)
        return InputError(f"{bracketed(tree)!r:.80}", expected=f"{rule.name.lower()} with {fields}")

    def _operator(self, tree: tuple[Tree, ...], rule: Constructor) -> Node:
        """Return a node whose fields are filled in order; one of any number of values takes all."""
        fields, children = rule.fields, tree[1:]
        if fields[0].repeated:
            return Node(rule, (tuple(self.to_ast_of(one, fields[0].type) for one in children),))
        if len(children) != len(fields):
            raise self.other_arguments(tree, rule)
        values: list[tuple[Node | str, ...]] = []
        for field, child in zip(fields, children, strict=True):
            if field.type not in self.grammar.primitives:
                values.append((self.to_ast_of(child, field.type),))
            elif isinstance(child, str):
                values.append((child,))
            else:
                raise self.other_arguments(tree, rule)
        return Node(rule, tuple(values))


@contextmanager
def shallow() -> Iterator[None]:
    """Give the error of a function that calls itself too often as one about the form."""
    try:
        yield
    except RecursionError:
        raise _too_deep() from None


def _too_deep() -> InputError:
    return InputError(
        f"a logical form is nested more than {MAX_DEPTH} levels deep",
        expected=f"at most {MAX_DEPTH} brackets or operators inside each other",
        remedy="leave it out",
    )


def _check(tree: Tree, source: str) -> None:
    """Refuse what is not a tree, or is nested too deep.

    Args:
        tree: of any depth.
        source: the function that returned it.

    Raises:
        InputError: see above.
    """
    level = [tree]
    for _ in range(MAX_DEPTH):
        below: list[Tree] = []
        for node in level:
            if isinstance(node, tuple) and node and isinstance(node[0], str):
                below += node[1:]
            elif not isinstance(node, str):
                expected = "a str, or a tuple of a str, the head, and its children"
                raise InputError(f"returns {node!r:.60}", key=source, expected=expected)
        level = below
    if level:
        raise _too_deep()


def bracketed(tree: Tree) -> str:
    """Return a tree of any language in one way, ``( head child ... )``."""
    return tree if isinstance(tree, str) else f"( {' '.join(map(bracketed, tree))} )"


def reordered(
    tree: Tree,
    heads: Collection[str],
    key: Callable[[Tree], Any],
    repeatable: Collection[str] = (),
) -> Tree:
    """Return a tree with the children of some heads sorted, from the leaves up.

    Args:
        tree: as given.
        heads: whose children are sorted.
        key: to sort by.
        repeatable: heads whose children of the same head give way to their children, and whose
            equal children are left out but the first; what then has one child becomes that child.
    """
    if isinstance(tree, str):
        return tree
    head = tree[0]
    children = [reordered(child, heads, key, repeatable) for child in tree[1:]]
    if head in repeatable:
        nested = (not isinstance(child, str) and child[0] == head for child in children)
        parts = (one[1:] if same else [one] for one, same in zip(children, nested, strict=True))
        children = [one for part in parts for one in part]
    if head in heads:
        children.sort(key=key)
    if head in repeatable:
        children = list(dict.fromkeys(children))
        if len(children) == 1:
            return children[0]
    return (head, *children)


def with_sorted_children(tree: Tree, first: Sequence[str]) -> Tree:
    """Return a tree whose conjuncts and disjuncts are sorted: those of some heads come first.

    Args:
        tree: of any language.
        first: the heads, in order; the other children follow in the order of their text.
    """
    ranks = {head: rank for rank, head in enumerate(first)}

    def key(child: Tree) -> tuple[int, str]:
        head = child if isinstance(child, str) else str(child[0])
        return ranks.get(head, len(ranks)), bracketed(child)

    return reordered(tree, ("and", "or"), key)


def language_of(tokens: Iterable[str]) -> str:
    """Tell which shipped language tokens belong to: Prolog has an answer variable."""
    return "prolog" if {"ANS", ",", ";"} & set(tokens) else "lambda"


def language_named(name: str) -> Language:
    """Return a language: ``lambda``, ``prolog``, or a class of a module that is trusted.

    Raises:
        InputError: there is none of this name, its module is not trusted, or it is no `Language`.
    """
    if name not in _SHIPPED and "." not in name:
        expected = f"{', '.join(_SHIPPED)}, or the class path of a language of your own"
        raise InputError(f"got {name!r}", key="language", expected=expected)
    path = _SHIPPED.get(name, name)
    if name not in _SHIPPED:
        trust.check_class(path, key="language")
    try:
        return _made(trust.allowed_class(path))
    except (ImportError, AttributeError, TypeError) as error:
        expected = "a class that derives from Language and defines read, print and leaf"
        raise InputError(f"{path}: {error}", key="language", expected=expected) from error


@cache
def _made(made: type[Language]) -> Language:
    language = made()
    if not isinstance(language, Language):
        raise TypeError("is no Language")
    return language
