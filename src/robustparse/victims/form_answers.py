"""Logical forms in the answers of language models and services."""

import re

from robustparse.errors import InputError
from robustparse.grammars import canonical

_FENCED = re.compile(r"```\w*\n(.*?)```", re.DOTALL)
_BRACKETS = re.compile(r"([(),])")


def form_in(answer: str, language: str) -> str | None:
    """Return the logical form in an answer, its tokens separated by blanks; None if it has none.

    The form is the whole answer, or its first block of code. Blanks may be missing around brackets
    and commas.

    Args:
        answer: the text.
        language: the language of the form.
    """
    block = _FENCED.search(answer)
    text = answer.strip().strip("`") if block is None else block[1]
    for form in (text, _BRACKETS.sub(r" \1 ", text)):
        tokens = " ".join(form.split())
        try:
            canonical(tokens, language)
        except InputError:
            continue
        return tokens
    return None
