"""When two logical forms are the same: canonical forms, and the comparison of the code of TranX."""

from functools import lru_cache

from robustparse.errors import InputError
from robustparse.grammars.language import bracketed, language_named, shallow


def exact_match(found: str, gold: str, language: str) -> bool:
    """Tell whether two forms have the same `canonical` form; one that cannot be read is wrong."""
    language_named(language)  # an unknown one makes no form wrong
    try:
        return canonical(found, language) == canonical(gold, language)
    except InputError:
        return False


def tranx_match(found: str, gold: str, language: str) -> bool:
    """Compare as the released code of TranX does (Yin and Neubig 2018).

    In lambda calculus the children of ``and`` and ``or`` are sorted by their heads only; in Prolog,
    those of conjunctions have no order. Variables keep their names, and repeated conjuncts count.
    """
    known = language_named(language)
    try:
        return known.by_heads(known.parse(found)) == known.by_heads(known.parse(gold))
    except InputError:
        return False


@lru_cache(maxsize=1 << 16)
def canonical(text: str, language: str) -> str:
    """Return what all forms equivalent to this one have in common.

    Children of conjunctions, disjunctions, ``=`` and ``next_to:t`` have no order, and repeated
    conjuncts or disjuncts count once. Variables of lambda calculus are named by the number of
    binders around their own, whose types are left out; those of Prolog, but for the answer, have no
    names.

    Raises:
        InputError: see `Language.parse` and `language_named`.
    """
    known = language_named(language)
    with shallow():
        return bracketed(known.canonical(known.parse(text)))
