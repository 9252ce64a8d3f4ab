r"""Prolog, the language of JOBS: ``job ( ANS ) , \+ ( loc ( ANS , J ) )``.

Conjunctions are ``A , B``, disjunctions ``A ; B`` and negations ``\+ A``. In a bracketed group,
everything before ``;`` is its left side. Trees have the heads ``and``, ``or`` and ``not``. A leaf
that begins with a capital or ``_`` is a variable, any other leaf a literal. Each ``_`` is a
different variable. A string in quotation marks is one token.
"""

from collections.abc import Iterator
from itertools import count

from robustparse.errors import InputError
from robustparse.grammars.language import Language, Tree, bracketed, reordered
from robustparse.grammars.renaming import without_names
from robustparse.grammars.tokens import TokenReader

_ANSWER = "ANS"
_ANONYMOUS = "_"
_CHILDREN = {"or": 2, "not": 1}  # any other node has one or more


class Prolog(Language):
    """Goals, joined by commas, semicolons and negations."""

    asdl = "prolog.asdl"
    operators = frozenset(("not", "or", "and"))
    unordered = repeatable = frozenset(("and", "or"))

    def read(self, text: str) -> Tree:
        """See `Language`."""
        reader = TokenReader(text)
        tree = _alternatives(reader)
        reader.end()
        return tree

    def print(self, tree: Tree) -> str:
        """See `Language`."""
        if isinstance(tree, str):
            return tree
        head, children = tree[0], tree[1:]
        wanted = _CHILDREN.get(str(head), len(children))
        if not children or len(children) != wanted:
            raise InputError(f"{head} has {len(children)} children")
        if head == "and":
            return " , ".join(self._group(child, ("and", "or")) for child in children)
        if head == "or":
            left, right = children
            # The released forms have brackets around all left sides that are not conjunctions.
            before = self.print(left) if _head(left) == "and" else f"( {self.print(left)} )"
            after = self.print(right) if _head(right) == "or" else f"( {self.print(right)} )"
            return f"{before} ; {after}"
        if head == "not":
            return f"\\+ {self._group(children[0], ('and', 'or'))}"
        arguments = (self._group(child, ("and", "or")) for child in children)
        return f"{head} ( {' , '.join(arguments)} )"

    def leaf(self, token: str) -> str:
        """See `Language`."""
        return "Variable" if _is_variable(token) else "Literal"

    def canonical(self, tree: Tree) -> Tree:
        """Rename all variables except the answer canonically."""
        named = self.ordered(_with_names(tree, map("_\0{}".format, count())))
        return without_names(
            named, lambda leaf: _is_variable(leaf) and leaf != _ANSWER, self.unordered
        )

    def by_heads(self, tree: Tree) -> Tree:
        """Sort conjunctions."""
        return reordered(tree, ("and",), bracketed)

    def _group(self, tree: Tree, heads: tuple[str, ...]) -> str:
        """Print a tree, in brackets if it has one of these heads."""
        return f"( {self.print(tree)} )" if _head(tree) in heads else self.print(tree)


def _alternatives(reader: TokenReader) -> Tree:
    """Read a conjunction or disjunction up to the end of its group."""
    goals = [_goal(reader)]
    while reader.next == ",":
        reader.take(",")
        goals.append(_goal(reader))
    left = goals[0] if len(goals) == 1 else ("and", *goals)
    if reader.next != ";":
        return left
    reader.take(";")
    return ("or", left, _alternatives(reader))


def _goal(reader: TokenReader) -> Tree:
    """Read a negation, a group or a predicate."""
    if reader.next == "\\+":
        reader.take("\\+")
        return ("not", _goal(reader))
    if reader.next == "(":
        reader.take("(")
        group = _alternatives(reader)
        reader.take(")")
        return group
    quote = reader.next[:1]
    if quote in ("'", '"') and (len(reader.next) == 1 or not reader.next.endswith(quote)):
        raise reader.unexpected("a string without blanks")  # a comma in it would end an argument
    name = reader.leaf()
    return _arguments(reader, name) if reader.next == "(" else name


def _arguments(reader: TokenReader, name: str) -> Tree:
    """Read the arguments of a predicate."""
    reader.take("(")
    node: list[Tree] = [name, _goal(reader)]
    while reader.next == ",":
        reader.take(",")
        node.append(_goal(reader))
    reader.take(")")
    return tuple(node)


def _head(tree: Tree) -> Tree:
    return "" if isinstance(tree, str) else tree[0]


def _is_variable(leaf: str) -> bool:
    return leaf[0].isupper() or leaf[0] == "_"


def _with_names(tree: Tree, names: Iterator[str]) -> Tree:
    """Give each anonymous variable one of the names."""
    if isinstance(tree, str):
        return next(names) if tree == _ANONYMOUS else tree
    return (tree[0], *(_with_names(child, names) for child in tree[1:]))
