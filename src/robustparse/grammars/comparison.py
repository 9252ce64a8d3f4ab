"""Compares logical forms: by canonical forms, and as the released code of TranX does."""

from functools import lru_cache

from robustparse.errors import InputError
from robustparse.grammars.language import (
    Language,
    Tree,
    bracketed,
    check_tree,
    language_calls,
    language_named,
)


def exact_match(predicted: str, gold: str, language: str) -> bool:
    """Tell whether two forms have the same `canonical` form; an unreadable form never matches."""
    language_named(language)  # raise an error if there is no such language
    try:
        return canonical(predicted, language) == canonical(gold, language)
    except InputError:
        return False


def tranx_match(predicted: str, gold: str, language: str) -> bool:
    """Compare as the released code of TranX does (Yin and Neubig 2018).

    In lambda calculus, children of ``and`` and ``or`` are sorted only by their heads; in Prolog,
    conjuncts are sorted. Variables keep their names, and repeated conjuncts count.
    """
    known = language_named(language)
    try:
        first, second = (by_heads(known.parse(text), known) for text in (predicted, gold))
    except InputError:
        return False
    return first == second


@lru_cache(maxsize=1 << 16)
def canonical(text: str, language: str) -> str:
    """Return the canonical form, which is the same for all equivalent forms.

    Children of conjunctions, disjunctions, ``=`` and ``next_to:t`` are sorted, and repeated
    conjuncts or disjuncts count once. Variables of lambda calculus are named by the number of
    binders around their binder, and their types are omitted. Variables of Prolog, except the
    answer, are renamed canonically.

    Raises:
        InputError: see `Language.parse` and `language_named`.
    """
    known = language_named(language)
    tree = known.parse(text)
    with language_calls(known, "canonical"):
        named = known.canonical(tree)
        check_tree(named, f"{type(known).__name__}.canonical")
        return bracketed(named)


def by_heads(tree: Tree, language: Language) -> Tree:
    """Return the tree that `tranx_match` compares.

    Raises:
        InputError: `Language.by_heads` fails or returns no tree.
    """
    with language_calls(language, "by_heads"):
        ordered = language.by_heads(tree)
    check_tree(ordered, f"{type(language).__name__}.by_heads")
    return ordered
