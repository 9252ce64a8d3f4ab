"""The casing of words, and words put into the casing of other words."""

from collections.abc import Sequence
from typing import Literal

Casing = Literal["lower", "capitalised", "upper", "mixed"]


def casing_of(word: str) -> Casing:
    """Return the casing of a word; words without letters, such as numbers, are mixed."""
    if word.isupper() and len(word) > 1:
        return "upper"
    if word[:1].isupper():
        return "capitalised"
    return "lower" if word.islower() else "mixed"


def cased(word: str, casing: Casing) -> str:
    """Return a word in a casing; ``capitalised`` changes only the first letter, ``mixed`` none."""
    if casing == "upper":
        return word.upper()
    if casing == "capitalised":
        return word[:1].title() + word[1:]  # Georgian and the ligature fi differ from upper case
    return word.lower() if casing == "lower" else word


def in_casing_of(original: str, candidates: Sequence[str]) -> list[str]:
    """Put candidates in the casing of the original word (lower, UPPER or Capitalised).

    Duplicates are left out, and so is the original word, ignoring case.
    """
    casing, lower = casing_of(original), original.lower()
    words = dict.fromkeys([cased(word, casing) for word in candidates])
    return [word for word in words if word.lower() != lower]
