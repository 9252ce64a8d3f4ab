"""The base class of languages of logical forms: a reader, a printer, and a grammar of trees.

A form is a line of tokens separated by blanks. Two languages are included, ``lambda`` (GEO, ATIS)
and ``prolog`` (JOBS); a custom language is named by the path of its class.

Functions over trees are recursive. `Language.parse` and `Language.unparse` therefore reject trees
of more than `MAX_DEPTH` levels.
"""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, cached_property
from pathlib import Path
from typing import Any, ClassVar

from robustparse import trust
from robustparse.errors import InputError, reason
from robustparse.grammars.asdl import Constructor, Grammar, read_grammar
from robustparse.grammars.transitions import Node

Tree = str | tuple["Tree", ...]
"""A leaf, or a tuple of a head (a leaf) and its children."""

MAX_DEPTH = 100
"""Maximum levels of a tree, leaves included; the deepest form of GEO, JOBS and ATIS has 15."""

NEXT_FORM = "</s>"
"""The token between the forms of two concatenated utterances in training; predictions have one form
(Jia and Liang 2016 use the token that ends an answer)."""

_SHIPPED = {
    "lambda": "robustparse.grammars.lambda_calculus.LambdaCalculus",
    "prolog": "robustparse.grammars.prolog.Prolog",
}


class Language(ABC):
    """A language of logical forms; subclasses read and print forms and classify leaves.

    The constructors of its grammar are ``Apply``, whose fields are a predicate and any number of
    arguments, one for each of the `operators`, and one for each kind of leaf, with one token.

    Attributes:
        asdl: the file of the grammar, in the folder of the class's file; see `read_grammar`.
        operators: heads with their own constructor, whose name is the capitalised head: ``Select``
            for ``SELECT`` and ``select``. All other heads are predicates.
        unordered: heads whose children have no order.
        repeatable: heads for which equal children count once, a node with one child equals the
            child, and children with the same head are merged into the node.
        binders: heads whose first child is a variable that they bind; sketches omit it.
        variable_types: binders whose second child is the type of the variable -> the usual type,
            which sketches omit, too.
    """

    asdl: ClassVar[str]
    operators: ClassVar[Collection[str]] = ()
    unordered: ClassVar[Collection[str]] = ()
    repeatable: ClassVar[Collection[str]] = ()
    binders: ClassVar[Collection[str]] = ()
    variable_types: ClassVar[Mapping[str, str]] = {}

    @abstractmethod
    def read(self, text: str) -> Tree:
        """Read a form; see `TokenReader`.

        Raises:
            InputError: the form is empty, unbalanced, or not a form of the language.
        """

    @abstractmethod
    def print(self, tree: Tree) -> str:
        """Return the tokens of a form, separated by blanks: the inverse of `read`.

        Raises:
            InputError: a node cannot be written.
        """

    @abstractmethod
    def leaf(self, token: str) -> str:
        """Return the name of the constructor of a leaf, such as ``Variable``."""

    def parse(self, text: str) -> Tree:
        """Read a form and check the result of `read`.

        Raises:
            InputError: see `read`; the form is nested too deep, or `read` does not return a tree.
        """
        with language_calls(self, "read"):
            tree = self.read(text)
        check_tree(tree, f"{type(self).__name__}.read")
        return tree

    def unparse(self, tree: Tree) -> str:
        """Print a tree after checking it.

        Raises:
            InputError: see `print`; the tree is nested too deep.
        """
        check_tree(tree, f"{type(self).__name__}.from_ast")
        with language_calls(self, "print"):
            text = self.print(tree)
        if not isinstance(text, str):
            problem = f"returns {text!r:.60}"
            raise InputError(problem, key=f"{type(self).__name__}.print", expected="a str")
        return text

    def canonical(self, tree: Tree) -> Tree:
        """Return the canonical form of a tree, equal for all trees with the same meaning.

        By default, variables keep their names.
        """
        return self.ordered(tree)

    def by_heads(self, tree: Tree) -> Tree:
        """Return the tree that the released code of TranX compares; by default, with sorted
        children.
        """
        return reordered(tree, self.unordered, bracketed)

    def ordered(self, tree: Tree) -> Tree:
        """Sort unordered children by their text and remove repeated ones."""
        return reordered(tree, self.unordered, bracketed, self.repeatable)

    @property
    def name(self) -> str:
        """The name of the language in settings, records and checkpoints."""
        path = f"{type(self).__module__}.{type(self).__qualname__}"
        return {shipped: name for name, shipped in _SHIPPED.items()}.get(path, path)

    @cached_property
    def grammar(self) -> Grammar:
        """The grammar of the syntax trees.

        Raises:
            InputError: its file cannot be read.
        """
        expected = "the grammar, in the folder of the language's module"
        if not isinstance(self.asdl, str) or self.asdl != Path(self.asdl).name:
            raise InputError(f"got {self.asdl!r}", key=f"{self.name}: asdl", expected=expected)
        path = Path(inspect.getfile(type(self))).with_name(self.asdl)
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            problem = f"cannot be read ({reason(error)})"
            raise InputError(problem, path=path, expected=expected) from error
        return read_grammar(text, str(path))

    # Syntax trees

    def to_ast(self, tree: Tree) -> Node:
        """Return the syntax tree of a form.

        Raises:
            InputError: an operator has arguments that do not fit the grammar.
        """
        if isinstance(tree, str):
            return Node(self.rule(self.leaf(tree)), ((tree,),))
        head, children = str(tree[0]), tree[1:]
        if head in self._constructors:
            return self._operator(tree, self.rule(self._constructors[head]))
        apply = self.rule("Apply")
        if [field.repeated for field in apply.fields] != [False, True]:
            expected = "Apply(TYPE function, TYPE* arguments)"
            raise InputError("Apply has other fields", key=self.asdl, expected=expected)
        values = tuple(self.to_ast_of(child, apply.fields[1].type) for child in children)
        return Node(apply, ((head,), values))

    def to_ast_of(self, tree: Tree, kind: str) -> Node:
        """Return the syntax tree of a subtree that must have a given type.

        Raises:
            InputError: it has another type; see `to_ast`.
        """
        node = self.to_ast(tree)
        if node.constructor.type != kind:
            problem = f"{self.print(tree)!r:.60} is of the type {node.constructor.type}"
            raise InputError(problem, expected=f"the type {kind}, as {self.asdl} says")
        return node

    def from_ast(self, node: Node) -> Tree:
        """Return the form of a syntax tree: the inverse of `to_ast`."""
        name = node.constructor.name
        children = [
            value if isinstance(value, str) else self.from_ast(value)
            for values in node.values
            for value in values
        ]
        if name == "Apply":
            return tuple(children)
        return (self._operators[name], *children) if name in self._operators else children[0]

    def rule(self, name: str) -> Constructor:
        """Return a constructor of the grammar.

        Raises:
            InputError: the grammar has no constructor of this name.
        """
        if name not in self.grammar.by_name:
            expected = f"one of {', '.join(self.grammar.by_name)}, as {self.asdl} says"
            raise InputError(f"no constructor {name}", key=self.name, expected=expected)
        return self.grammar.by_name[name]

    @cached_property
    def _constructors(self) -> dict[str, str]:
        """Map each operator to the name of its constructor.

        Raises:
            InputError: the grammar lacks the constructor, or two operators share it.
        """
        key = f"{self.name}: operators"
        names = {head: head.capitalize() for head in self.operators}
        heads = {name: head for head, name in names.items()}
        for head, name in names.items():
            problem = f"the operator {head!r} has the constructor {name}"
            if name not in self.grammar.by_name:
                expected = f"{name}(...) in {self.asdl}"
                raise InputError(f"{problem}, which is missing", key=key, expected=expected)
            if name == "Apply" or heads[name] != head:
                other = "predicates have" if name == "Apply" else f"{heads[name]!r} has"
                raise InputError(f"{problem}, which {other}, too", key=key, expected="another name")
        return names

    @cached_property
    def _operators(self) -> dict[str, str]:
        """Map constructors back to their operators."""
        return {name: head for head, name in self._constructors.items()}

    def other_arguments(self, tree: Tree, rule: Constructor) -> InputError:
        """Return the error for an operator whose arguments do not fit its constructor."""
        fields = ", ".join(field.name for field in rule.fields)
        return InputError(f"{bracketed(tree)!r:.80}", expected=f"{rule.name.lower()} with {fields}")

    def _operator(self, tree: tuple[Tree, ...], rule: Constructor) -> Node:
        """Return the node of an operator; an only field that is repeated takes all children."""
        fields, children = rule.fields, tree[1:]
        if len(fields) == 1 and fields[0].repeated:
            arguments = tuple(self.to_ast_of(child, fields[0].type) for child in children)
            return Node(rule, (arguments,))
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
def language_calls(language: Language, methods: str) -> Iterator[None]:
    """Report a form that is nested too deep, and every error of a custom language.

    The methods of a custom language raise errors of any type on forms that it does not have, such
    as wrong answers of a parser.

    Args:
        language: the language whose methods are called.
        methods: their names, for errors.

    Raises:
        InputError: a method raised anything; an `InputError` is left as it is.
    """
    try:
        yield
    except InputError:
        raise
    except RecursionError:
        raise _too_deep() from None
    except Exception as error:
        if language.name in _SHIPPED:  # a fault of ours
            raise
        problem = f"raises {type(error).__name__}: {reason(error)}"
        key = f"{type(language).__name__}.{methods}"
        raise InputError(
            problem, key=key, remedy=f"correct the language {language.name}"
        ) from error


def _too_deep() -> InputError:
    return InputError(
        f"a logical form is nested more than {MAX_DEPTH} levels deep",
        expected=f"at most {MAX_DEPTH} brackets or operators inside each other",
        remedy="leave it out",
    )


def check_tree(tree: Tree, source: str) -> None:
    """Check that a value is a tree and not nested too deep.

    Args:
        tree: the value.
        source: the function that returned it, for errors.

    Raises:
        InputError: it is not a tree, or is nested too deep.
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
    """Print a tree of any language as ``( head child ... )``."""
    return tree if isinstance(tree, str) else f"( {' '.join(map(bracketed, tree))} )"


def reordered(
    tree: Tree,
    heads: Collection[str],
    key: Callable[[Tree], Any],
    repeatable: Collection[str] = (),
) -> Tree:
    """Sort the children of some heads, from the leaves up.

    Args:
        tree: the tree.
        heads: the heads whose children are sorted.
        key: the key to sort by.
        repeatable: see `Language.repeatable`.
    """
    if isinstance(tree, str):
        return tree
    head = tree[0]
    children = [reordered(child, heads, key, repeatable) for child in tree[1:]]
    if head in repeatable:
        nested = (not isinstance(child, str) and child[0] == head for child in children)
        pairs = zip(children, nested, strict=True)
        groups = (child[1:] if same else [child] for child, same in pairs)
        children = [child for group in groups for child in group]
    if head in heads:
        children.sort(key=key)
    if head in repeatable:
        children = list(dict.fromkeys(children))
        if len(children) == 1:
            return children[0]
    return (head, *children)


def with_sorted_children(tree: Tree, first: Sequence[str]) -> Tree:
    """Sort conjuncts and disjuncts, with some heads first.

    Args:
        tree: a tree of any language.
        first: the first heads, in order; the other children are sorted by their text.
    """
    ranks = {head: rank for rank, head in enumerate(first)}

    def key(child: Tree) -> tuple[int, str]:
        head = child if isinstance(child, str) else str(child[0])
        return ranks.get(head, len(ranks)), bracketed(child)

    return reordered(tree, ("and", "or"), key)


def language_of(tokens: Iterable[str]) -> str:
    """Guess the language of tokens: Prolog has an answer variable, commas or semicolons."""
    return "prolog" if {"ANS", ",", ";"} & set(tokens) else "lambda"


def language_named(name: str) -> Language:
    """Return a language: ``lambda``, ``prolog``, or a class in a trusted module.

    Raises:
        InputError: there is no such language, its module is not trusted, or it is not a `Language`.
    """
    if name not in _SHIPPED and "." not in name:
        expected = f"{', '.join(_SHIPPED)}, or the class path of a custom language"
        raise InputError(f"got {name!r}", key="language", expected=expected)
    path = _SHIPPED.get(name, name)
    if name not in _SHIPPED:
        trust.check_class(path, key="language")
    try:
        return _made(trust.allowed_class(path))
    except InputError:
        raise
    except Exception as error:  # code of a custom language raises errors of any type
        expected = "a class that derives from Language and defines read, print and leaf"
        problem = f"{path}: {type(error).__name__}: {reason(error)}"
        raise InputError(problem, key="language", expected=expected) from error


@cache
def _made(made: type[Language]) -> Language:
    """Make a language and check its attributes.

    Raises:
        TypeError: it is not a `Language`, or cannot be made without arguments.
        InputError: an attribute is not of its type.
    """
    language = made()
    if not isinstance(language, Language):
        raise TypeError("is not a Language")
    for attribute in ("operators", "unordered", "repeatable", "binders"):
        heads = getattr(language, attribute)
        # ``"and"`` would contain the heads ``an`` and ``a``.
        if isinstance(heads, str) or not (isinstance(heads, Collection) and _are_texts(heads)):
            key = f"{language.name}: {attribute}"
            raise InputError(f"got {heads!r:.60}", key=key, expected="a tuple of heads")
    types = language.variable_types
    if not isinstance(types, Mapping) or not _are_texts([*types, *types.values()]):
        key = f"{language.name}: variable_types"
        raise InputError(f"got {types!r:.60}", key=key, expected="a dict from binders to types")
    return language


def _are_texts(values: Iterable[object]) -> bool:
    return all(isinstance(value, str) for value in values)
