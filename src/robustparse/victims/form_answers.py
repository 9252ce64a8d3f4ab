"""Logical forms in the answers of third-party parsers, language models and services."""

import re

from robustparse.errors import InputError
from robustparse.grammars import canonical

_FENCED = re.compile(r"```\w*\n(.*?)```", re.DOTALL)
_PUNCTUATION = re.compile(r"([(),;]|\\\+)")


def separated(form: str) -> str:
    """Put blanks around brackets, commas and the operators of Prolog."""
    return _PUNCTUATION.sub(r" \1 ", form)


def form_in(answer: str, language: str) -> str | None:
    """Return the logical form in an answer, its tokens separated by blanks; None if it has none.

    The form is the whole answer, or its first block of code. Blanks may be missing where
    `separated` puts them.

    Args:
        answer: the text.
        language: the language of the form.
    """
    block = _FENCED.search(answer)
    text = answer.strip().strip("`") if block is None else block[1]
    for form in (text, separated(text)):
        tokens = " ".join(form.split())
        try:
            canonical(tokens, language)
        except InputError:
            continue
        return tokens
    return None
