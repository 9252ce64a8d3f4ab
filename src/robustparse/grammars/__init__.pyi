from .canonical import canonical, exact_match, tranx_match
from .logical_form import LANGUAGES, Tree, language_of, print_form, read_form

__all__ = [
    "LANGUAGES",
    "Tree",
    "canonical",
    "exact_match",
    "language_of",
    "print_form",
    "read_form",
    "tranx_match",
]
