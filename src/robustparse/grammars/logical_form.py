r"""Logical forms as trees, read and printed: lambda calculus (GEO, ATIS) and Prolog (JOBS).

A form is a line of tokens separated by blanks. Of lambda calculus, ``( head child ... )`` is a tree
of its head and children, and a token outside such brackets is a leaf. Of Prolog, conjunctions are
``A , B``, disjunctions ``A ; B`` and negations ``\+ A``; in a bracketed group, all that stands
before ``;`` is its left side. Their trees have the heads ``and``, ``or`` and ``not``.
"""

from collections.abc import Iterable

from robustparse.errors import InputError

Tree = str | tuple["Tree", ...]
"""A leaf, or a head, which is a leaf, and its children."""

LANGUAGES = ("lambda", "prolog")

_PUNCTUATION = frozenset("(),;")


def language_of(tokens: Iterable[str]) -> str:
    """Tell which language tokens of logical forms belong to: Prolog has an answer variable."""
    return "prolog" if {"ANS", ",", ";"} & set(tokens) else "lambda"


def read_form(text: str, language: str) -> Tree:
    """Read a logical form.

    Args:
        text: its tokens, separated by blanks.
        language: one of `LANGUAGES`.

    Raises:
        InputError: the form is empty or unbalanced, or is none of the language.
    """
    tokens = text.split()
    if not tokens:
        raise InputError("an empty logical form", expected="a form")
    reader = _Reader(tokens)
    tree = reader.term() if language == "lambda" else reader.alternatives()
    if reader.rest:
        raise reader.unexpected("the end of the form")
    return tree


class _Reader:
    """Reads a form from its first token to its last."""

    def __init__(self, tokens: list[str]) -> None:
        self.tokens = tokens
        self.rest = tokens[::-1]

    @property
    def next(self) -> str:
        """The next token, empty at the end."""
        return self.rest[-1] if self.rest else ""

    def unexpected(self, expected: str) -> InputError:
        """Return the error that another token is expected."""
        place = len(self.tokens) - len(self.rest)
        found = f"{self.next!r} is token {place + 1}" if self.rest else "the form ends too early"
        return InputError(f"{found} of {' '.join(self.tokens)!r:.120}", expected=expected)

    def take(self, token: str) -> None:
        """Read this token."""
        if self.next != token:
            raise self.unexpected(repr(token))
        self.rest.pop()

    def leaf(self) -> str:
        """Read a token that is no punctuation."""
        if not self.rest or self.next in _PUNCTUATION:
            raise self.unexpected("a name")
        return self.rest.pop()

    def term(self) -> Tree:
        """Read lambda calculus."""
        if self.next != "(":
            return self.leaf()
        self.take("(")
        parts: list[Tree] = [self.leaf()]
        while self.rest and self.next != ")":
            parts.append(self.term())
        self.take(")")
        return tuple(parts)

    def alternatives(self) -> Tree:
        """Read Prolog up to the end of a group."""
        goals = [self.goal()]
        while self.next == ",":
            self.take(",")
            goals.append(self.goal())
        left = goals[0] if len(goals) == 1 else ("and", *goals)
        if self.next != ";":
            return left
        self.take(";")
        return ("or", left, self.alternatives())

    def goal(self) -> Tree:
        """Read a negation, a group or a predicate."""
        if self.next == "\\+":
            self.take("\\+")
            return ("not", self.goal())
        if self.next == "(":
            self.take("(")
            group = self.alternatives()
            self.take(")")
            return group
        name = self.leaf()
        return self.arguments(name) if self.next == "(" else name

    def arguments(self, name: str) -> Tree:
        """Read the arguments of a predicate."""
        self.take("(")
        parts: list[Tree] = [name, self.goal()]
        while self.next == ",":
            self.take(",")
            parts.append(self.goal())
        self.take(")")
        return tuple(parts)


_CHILDREN = {"or": 2, "not": 1}  # of Prolog; all other nodes have one or more


def print_form(tree: Tree, language: str) -> str:
    """Return the tokens of a form, separated by blanks: the inverse of `read_form`.

    Raises:
        InputError: a node of Prolog has another number of children than can be written.
    """
    if isinstance(tree, str):
        return tree
    if language == "lambda":
        return f"( {' '.join(print_form(part, language) for part in tree)} )"
    head, children = tree[0], tree[1:]
    if len(children) != _CHILDREN.get(str(head), max(1, len(children))):
        raise InputError(f"{head} has {len(children)} children")
    if head == "and":
        return " , ".join(_group(one, ("and", "or")) for one in children)
    if head == "or":
        left, right = children
        # The released forms have brackets around all but a conjunction on the left.
        before = print_form(left, language) if _head(left) == "and" else f"( {_plain(left)} )"
        after = print_form(right, language) if _head(right) == "or" else f"( {_plain(right)} )"
        return f"{before} ; {after}"
    if head == "not":
        return f"\\+ {_group(children[0], ('and', 'or'))}"
    return f"{head} ( {' , '.join(map(_plain, children))} )"


def _plain(tree: Tree) -> str:
    return print_form(tree, "prolog")


def _group(tree: Tree, heads: tuple[str, ...]) -> str:
    """Print Prolog, in brackets if the tree has one of these heads."""
    return f"( {_plain(tree)} )" if _head(tree) in heads else _plain(tree)


def _head(tree: Tree) -> Tree:
    return "" if isinstance(tree, str) else tree[0]
