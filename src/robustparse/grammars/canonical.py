"""When two logical forms are the same: canonical forms, and the comparison of the code of TranX."""

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from itertools import permutations

from robustparse.errors import InputError
from robustparse.grammars.logical_form import Tree, read_form

BINDERS = frozenset(
    ("lambda", "exists", "argmax", "argmin", "count", "sum", "max", "min", "the", "forall")
)
"""Heads whose first child is a variable, which they bind."""

_UNORDERED = frozenset(("and", "or", "=", "next_to:t"))
_REPEATABLE = frozenset(("and", "or"))
_ANSWER = "ANS"
_MOST = 5  # variables of a Prolog form of which every order is tried


def exact_match(found: str, gold: str, language: str) -> bool:
    """Tell whether two forms have the same `canonical` form; one that cannot be read is wrong."""
    return _matches(found, gold, language, canonical)


def tranx_match(found: str, gold: str, language: str) -> bool:
    """Compare as the released code of TranX does (Yin and Neubig 2018).

    In lambda calculus the children of ``and`` and ``or`` are sorted by their heads only; in Prolog,
    those of conjunctions have no order. Variables keep their names, and repeated conjuncts count.
    """
    return _matches(found, gold, language, _by_heads)


@lru_cache(maxsize=1 << 16)
def canonical(text: str, language: str) -> str:
    """Return what all forms equivalent to this one have in common.

    Children of conjunctions, disjunctions, ``=`` and ``next_to:t`` have no order, and repeated
    conjuncts or disjuncts count once. Variables of lambda calculus are named by the number of
    binders around their own, whose types are left out; those of Prolog, but for the answer, have no
    names.

    Raises:
        InputError: see `read_form`.
    """
    tree = read_form(text, language)
    if language == "lambda":
        return _printed(_sorted(_bound(tree, {})))
    names = sorted({leaf for leaf in _leaves(tree) if leaf[0].isupper() and leaf != _ANSWER})
    new = [f"V{number}" for number in range(len(names))]
    orders = permutations(new) if len(names) <= _MOST else iter([tuple(new)])
    renamed = (_renamed(tree, dict(zip(names, order, strict=True))) for order in orders)
    return min(_printed(_sorted(one)) for one in renamed)


def _matches(found: str, gold: str, language: str, reduced: Callable[[str, str], str]) -> bool:
    try:
        return reduced(found, language) == reduced(gold, language)
    except InputError:
        return False


def _bound(tree: Tree, names: Mapping[str, str], depth: int = 0) -> Tree:
    """Rename variables by the number of binders around their own, and leave out their types."""
    if isinstance(tree, str):
        return names.get(tree, tree)
    head, children = tree[0], tree[1:]
    if head in BINDERS and children and isinstance(children[0], str) and children[0][0] == "$":
        names, depth = {**names, children[0]: f"${depth}"}, depth + 1
        typed = head == "lambda" and len(children) == 3
        children = (children[0], *children[2 if typed else 1 :])
    return (head, *(_bound(child, names, depth) for child in children))


def _renamed(tree: Tree, names: Mapping[str, str]) -> Tree:
    if isinstance(tree, str):
        return names.get(tree, tree)
    return tuple(_renamed(part, names) for part in tree)


def _sorted(tree: Tree) -> Tree:
    """Put children without an order into that of their text, each once where repeats are void."""
    if isinstance(tree, str):
        return tree
    head, children = tree[0], [_sorted(child) for child in tree[1:]]
    if head in _UNORDERED:
        children.sort(key=_printed)
    if head in _REPEATABLE:
        children = list(dict.fromkeys(children))
        if len(children) == 1:
            return children[0]
    return (head, *children)


def _by_heads(text: str, language: str) -> str:
    return _printed(_sorted_by_heads(read_form(text, language), language))


def _sorted_by_heads(tree: Tree, language: str) -> Tree:
    if isinstance(tree, str):
        return tree
    head, children = tree[0], [_sorted_by_heads(child, language) for child in tree[1:]]
    if language == "lambda" and head in _REPEATABLE:
        children.sort(key=lambda child: child if isinstance(child, str) else str(child[0]))
    elif head == "and":
        children.sort(key=_printed)
    return (head, *children)


def _printed(tree: Tree) -> str:
    return tree if isinstance(tree, str) else f"( {' '.join(map(_printed, tree))} )"


def _leaves(tree: Tree) -> Iterator[str]:
    if isinstance(tree, str):
        yield tree
    else:
        for part in tree:
            yield from _leaves(part)
