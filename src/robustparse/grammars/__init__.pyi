from .asdl import Constructor, Field, Grammar, read_grammar
from .comparison import by_heads, canonical, exact_match, tranx_match
from .lambda_calculus import LambdaCalculus
from .language import (
    NEXT_FORM,
    Language,
    Tree,
    language_calls,
    language_named,
    language_of,
    reordered,
    with_sorted_children,
)
from .prolog import Prolog
from .tokens import PUNCTUATION, TokenReader
from .transitions import REDUCE, Action, Derivation, Node, Reduce, actions_of

__all__ = [
    "NEXT_FORM",
    "PUNCTUATION",
    "REDUCE",
    "Action",
    "Constructor",
    "Derivation",
    "Field",
    "Grammar",
    "LambdaCalculus",
    "Language",
    "Node",
    "Prolog",
    "Reduce",
    "TokenReader",
    "Tree",
    "actions_of",
    "by_heads",
    "canonical",
    "exact_match",
    "language_calls",
    "language_named",
    "language_of",
    "read_grammar",
    "reordered",
    "tranx_match",
    "with_sorted_children",
]
