"""Sketches of logical forms (Dong and Lapata 2018, section 3 and appendix).

A sketch is a form without its leaves, as a list of tokens. A node whose children are all leaves is
one token, its head with the number of leaves: ``from@2``. Any other node is ``(head``, its children
and ``)``, with ``<?>`` for a leaf. The variable that a head binds is omitted, and its type if it is
the usual one. If a binder binds no variable, or one of another type, it is ``(head@`` and nothing
is omitted. The `Language` defines binders and types.

The sketch determines the form up to its leaves: ``(lambda (and flight@1 from@2 ) )`` is the sketch
of ``(lambda $0 (and (flight $0 ) (from $0 ci0 ) ) )``, which adds only ``$0`` and ``ci0``.

Sketches are made from the trees of `Language.read`, so Prolog has sketches, too. The published
conversion of JOBS has a special head, ``answer``, for a form's conjunction, here ``and``. The
released code also adds the number of children to heads with bracketed children.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from robustparse.errors import InputError
from robustparse.grammars.language import Language, Tree

LEAF, CLOSE = "<?>", ")"
_WHOLE = "@"  # the mark of a binder whose children are all in the sketch


class Place(NamedTuple):
    """A token of a form, as far as its sketch determines it.

    Args:
        token: a bracket with or without a head; None for a leaf.
        source: the index of the sketch's token from which it comes.
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
    """Return the tokens of a form, with brackets joined to heads and without usual types."""
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
        sketch: the sketch.
        leaves: the leaves in order, one for each place of `places_of` without a token.
        language: the language of the form.

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
    """Return the innermost open bracket before each token, and after the last token.

    Brackets are given by position, from 1; 0 means none. Unbalanced closing brackets are ignored.
    """
    stack, innermost = [0], []
    for position, token in enumerate(tokens, start=1):
        innermost.append(stack[-1])
        if token == CLOSE:
            stack = stack[:-1] or [0]
        elif token.startswith("("):
            stack.append(position)
    return [*innermost, stack[-1]]


def _kept(tree: tuple[Tree, ...], language: Language) -> tuple[tuple[Tree, ...], bool]:
    """Return the children of a node without a variable's usual type, and whether its head is a
    binder whose children must all be in the sketch.
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
    """Return the head of an opening bracket, and whether its variable is omitted."""
    head = token.removeprefix("(")
    if head.endswith(_WHOLE) and head.removesuffix(_WHOLE) in language.binders:
        return head.removesuffix(_WHOLE), False
    return head, head in language.binders


def _usual_type(head: str, language: Language) -> list[str]:
    usual = language.variable_types.get(head)
    return [] if usual is None else [usual]
