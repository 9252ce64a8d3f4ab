"""Sketches of logical forms (Dong and Lapata 2018, section 3 and appendix).

A sketch is a form without its leaves, as a list of tokens. A node without bracketed children is one
token, its head with the number of its leaves, ``from@2``. Any other is ``(head``, its children and
``)``, where a leaf among the children is ``<?>``. What a head binds is left out: the variable, and
its type where that is the usual one. A head that could bind a variable and binds none, or one of
another type, is ``(head@``, and nothing is left out. The `Language` says which heads bind
variables, and of which type.

The whole form follows from the sketch but for the leaves: ``(lambda (and flight@1 from@2 ) )`` says
all of ``(lambda $0 (and (flight $0 ) (from $0 ci0 ) ) )`` but ``$0`` and ``ci0``.

Trees are those of `Language.read`, so that Prolog has sketches too: the published conversion of
JOBS has a head of its own, ``answer``, for a form's conjunction, here ``and``. The released code
writes the number of children to heads with bracketed children too.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from robustparse.errors import InputError
from robustparse.grammars.language import Language, Tree

LEAF, CLOSE = "<?>", ")"
_WHOLE = "@"  # after a binder of whose children none is left out


class Place(NamedTuple):
    """A token of a whole form as far as its sketch says it.

    Args:
        token: a bracket with or without a head; None for a leaf.
        source: which token of the sketch it comes from.
    """

    token: str | None
    source: int


def sketch_of(tree: Tree, language: Language) -> list[str]:
    """Return the sketch of a form."""
    if isinstance(tree, str):
        return [LEAF]
    head, children, whole = str(tree[0]), *_kept(tree, language)
    bracketed = any(not isinstance(child, str) for child in children)
    if not bracketed and not (whole and head in language.variable_types):
        return [f"{head}@{len(children)}"]
    if head in language.binders and not whole:
        children = children[1:]
    mark = _WHOLE if whole else ""
    inner = [token for child in children for token in sketch_of(child, language)]
    return [f"({head}{mark}", *inner, CLOSE]


def tokens_of(tree: Tree, language: Language) -> list[str]:
    """Return a whole form as tokens, brackets joined to heads, without usual types of variables."""
    if isinstance(tree, str):
        return [tree]
    children, _ = _kept(tree, language)
    inner = [token for child in children for token in tokens_of(child, language)]
    return [f"({tree[0]}", *inner, CLOSE]


def places_of(sketch: Sequence[str], language: Language) -> list[Place]:
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
            head, binds = _opening(token, language)
            places.append(Place(f"({head}", source))
            depth += 1
            if binds:
                places.append(Place(None, source))
        else:
            head, _, leaves = token.rpartition("@")
            inner = [Place(None, source)] * int(leaves)
            places += [Place(f"({head}", source), *inner, Place(CLOSE, source)]
    if depth or not places or places[0].token == CLOSE:
        raise InputError(f"{' '.join(sketch)!r:.80}", expected="a balanced sketch")
    return places


def tree_of(sketch: Sequence[str], leaves: Iterable[str], language: Language) -> Tree:
    """Return the form that has a sketch and leaves.

    Args:
        sketch: of the form.
        leaves: as many as `places_of` has places without a token, in their order.
        language: of the form.

    Raises:
        InputError: see `places_of`.
    """
    places_of(sketch, language)
    rest = iter(leaves)
    stack: list[list[Tree]] = [[]]
    for token in sketch:
        if token == LEAF:
            stack[-1].append(next(rest))
        elif token == CLOSE:
            node = stack.pop()
            stack[-1].append(tuple(node))
        elif token.startswith("("):
            head, binds = _opening(token, language)
            stack.append([head])
            if binds:
                stack[-1] += [next(rest), *_usual_type(head, language)]
        else:
            head, _, count = token.rpartition("@")
            node = [head, *(next(rest) for _ in range(int(count)))]
            stack[-1].append((*node[:2], *_usual_type(head, language), *node[2:]))
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


def _kept(tree: tuple[Tree, ...], language: Language) -> tuple[tuple[Tree, ...], bool]:
    """Return the children of a node without a variable's usual type.

    And whether its head is a binder of whose children none may be left out.
    """
    head, children = str(tree[0]), tree[1:]
    if head not in language.binders:
        return children, False
    variable = bool(children) and isinstance(children[0], str)
    if head not in language.variable_types:
        return children, not variable
    if variable and len(children) == 3 and children[1] == language.variable_types[head]:
        return (children[0], children[2]), False
    return children, True


def _opening(token: str, language: Language) -> tuple[str, bool]:
    """Return the head of an opening bracket, and whether a variable that it binds is left out."""
    head = token.removeprefix("(")
    if head.endswith(_WHOLE) and head.removesuffix(_WHOLE) in language.binders:
        return head.removesuffix(_WHOLE), False
    return head, head in language.binders


def _usual_type(head: str, language: Language) -> list[str]:
    usual = language.variable_types.get(head)
    return [] if usual is None else [usual]
