from .asdl import Constructor, Field, Grammar, grammar_of, read_grammar
from .canonical import canonical, exact_match, tranx_match
from .logical_form import LANGUAGES, Tree, language_of, print_form, read_form
from .syntax import from_ast, to_ast
from .transitions import REDUCE, Action, Derivation, Node, Reduce, actions_of

__all__ = [
    "LANGUAGES",
    "REDUCE",
    "Action",
    "Constructor",
    "Derivation",
    "Field",
    "Grammar",
    "Node",
    "Reduce",
    "Tree",
    "actions_of",
    "canonical",
    "exact_match",
    "from_ast",
    "grammar_of",
    "language_of",
    "print_form",
    "read_form",
    "read_grammar",
    "to_ast",
    "tranx_match",
]
