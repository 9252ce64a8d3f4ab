"""Characters as readers see them: a letter with its marks counts as one (Unicode Annex 29).

An accent that is a character of its own, a vowel sign of Devanagari or Thai, a vowel point of
Arabic and the parts of a joined emoji belong to the character before them.
"""

import regex

_GRAPHEME = regex.compile(r"\X")
# Joiners stand within words of Persian and of Indic languages.
_LETTERS = regex.compile(r"(?:\p{L}[\p{M}\u200c\u200d]*)+")


def graphemes(text: str) -> list[str]:
    """Divide a text into its characters, none of which can be divided."""
    characters: list[str] = _GRAPHEME.findall(text)
    return characters


def is_letters(word: str) -> bool:
    """Tell whether a word holds letters with their marks only, one at least."""
    return _LETTERS.fullmatch(word) is not None
