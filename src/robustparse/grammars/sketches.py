"""Sketches of logical forms (Dong and Lapata 2018, section 3 and appendix).

A sketch is a form without its leaves, as a list of tokens. A node without bracketed children is one
token, its head with the number of its leaves, ``from@2``. Any other is ``(head``, its children and
``)``; a variable that the head binds is left out, any other leaf among the children is ``<?>``. A
head that binds one elsewhere, but has none here, is ``(head@``. The whole form, its brackets joined
to heads and types of variables left out, follows from the sketch but for the leaves: ``(lambda (and
flight@1 from@2 ) )`` says all of ``(lambda $0 (and (flight $0 ) (from $0 ci0 ) ) )`` but ``$0`` and
``ci0``.

Trees are those of `Language.read`, so that Prolog has sketches too: the published conversion of
JOBS has a head of its own, ``answer``, for a form's conjunction, here ``and``. The released code
writes the number of children to heads with bracketed children too.
"""

from collections.abc import Sequence
from typing import NamedTuple

from robustparse.errors import InputError
from robustparse.grammars.lambda_calculus import BINDERS
from robustparse.grammars.language import Tree

LEAF, CLOSE = "<?>", ")"
_FREE = "@"  # after a head that could bind a variable and binds none
_TYPE = "e"  # of variables, where the grammar wants one; sketches leave it out


class Place(NamedTuple):
    """A token of a whole form as far as its sketch says it.

    Args:
        token: a bracket with or without a head; None for a leaf.
        source: which token of the sketch it comes from.
    """

    token: str | None
    source: int


def sketch_of(tree: Tree) -> list[str]:
    """Return the sketch of a form."""
    if isinstance(tree, str):
        return [LEAF]
    head, children = str(tree[0]), _children(tree)
    if all(isinstance(child, str) for child in children):
        return [f"{head}@{len(children)}"]
    binds = head in BINDERS and isinstance(children[0], str)
    kept, mark = (children[1:], "") if binds else (children, _FREE if head in BINDERS else "")
    return [f"({head}{mark}", *(token for child in kept for token in sketch_of(child)), CLOSE]


def tokens_of(tree: Tree) -> list[str]:
    """Return a whole form as tokens, brackets joined to heads, without types of variables."""
    if isinstance(tree, str):
        return [tree]
    inner = [token for child in _children(tree) for token in tokens_of(child)]
    return [f"({tree[0]}", *inner, CLOSE]


def places_of(sketch: Sequence[str]) -> list[Place]:
    """Return the tokens of the forms that have this sketch.

    Raises:
        InputError: the sketch is empty or unbalanced.
    """
    places: list[Place] = []
    depth = 0
    for source, token in enumerate(sketch):
        if places and not depth:
            raise InputError(f"{' '.join(sketch)!r:.80}", expected="one form")
        if token == LEAF:
            places.append(Place(None, source))
        elif token == CLOSE:
            places.append(Place(CLOSE, source))
            depth -= 1
        elif token.startswith("("):
            free = token.endswith(_FREE) and token[1:-1] in BINDERS
            places.append(Place(token[:-1] if free else token, source))
            depth += 1
            if token[1:] in BINDERS:
                places.append(Place(None, source))
        else:
            head, _, leaves = token.rpartition("@")
            inner = [Place(None, source)] * int(leaves)
            places += [Place(f"({head}", source), *inner, Place(CLOSE, source)]
    if depth or not places or places[0].token == CLOSE:
        raise InputError(f"{' '.join(sketch)!r:.80}", expected="a balanced sketch")
    return places


def tree_of(tokens: Sequence[str]) -> Tree:
    """Return the form of tokens as `tokens_of` gives them; types of variables are ``e``.

    Args:
        tokens: balanced, as those of `places_of` with leaves filled in.
    """
    stack: list[list[Tree]] = [[]]
    for token in tokens:
        if token == CLOSE:
            node = stack.pop()
            if node[0] == "lambda":
                node.insert(2, _TYPE)
            stack[-1].append(tuple(node))
        elif token.startswith("("):
            stack.append([token[1:]])
        else:
            stack[-1].append(token)
    return stack[0][0]


def opened(tokens: Sequence[str]) -> list[int]:
    """Return for each token, and for one more, the place of the innermost open bracket before it.

    Places count from 1; 0 stands for none. Brackets beyond the first ones close nothing.
    """
    stack, found = [0], []
    for place, token in enumerate(tokens, start=1):
        found.append(stack[-1])
        if token == CLOSE:
            stack = stack[:-1] or [0]
        elif token.startswith("("):
            stack.append(place)
    return [*found, stack[-1]]


def _children(tree: tuple[Tree, ...]) -> tuple[Tree, ...]:
    """Return the children of a node, without the type of a variable."""
    if tree[0] == "lambda" and len(tree) == 4:
        return (tree[1], tree[3])
    return tree[1:]
