"""The casing of candidates: tables and models propose lower case, sentences need their own."""

from collections.abc import Sequence


def in_casing_of(original: str, candidates: Sequence[str]) -> list[str]:
    """Candidates in the casing of the original word (lower, UPPER, Capitalised; else as they are).

    Repeats after the first are dropped, and so is the original word in any casing.
    """
    if original.isupper() and len(original) > 1:
        cased = dict.fromkeys(map(str.upper, candidates))
    elif original[:1].isupper():
        cased = dict.fromkeys([word[:1].upper() + word[1:] for word in candidates])
    elif original.islower():
        cased = dict.fromkeys(map(str.lower, candidates))
        cased.pop(original, None)
        return list(cased)
    else:
        cased = dict.fromkeys(candidates)
    lower = original.lower()
    return [word for word in cased if word.lower() != lower]


def as_they_are(original: str, candidates: Sequence[str]) -> list[str]:
    """Candidates whose casing was chosen on purpose: only repeats and the original word itself go.

    See `CandidateGenerator.verbatim`.
    """
    kept = dict.fromkeys(candidates)
    kept.pop(original, None)
    return list(kept)
