"""Counts of changed words that a victim does not know (Wang et al. 2021, Table 7)."""

from collections.abc import Sequence

from robustparse.attacks.victim import LexicalVictim, Victim

Unseen = dict[str, list[int] | None]
"""Words at changed positions, the original ones and the new ones: ``oov``, those without an
embedding of their own, None where no word has one; ``oot``, those not in the training set, as far
as the victim knows it."""


def unseen_words(victim: Victim, before: Sequence[str], after: Sequence[str]) -> Unseen | None:
    """Count the changed words, before and after, that the victim does not know.

    None if it is no `LexicalVictim`.
    """
    if not isinstance(victim, LexicalVictim):
        return None
    known = [victim.embedded(words) for words in (before, after)]
    oov = [int((~own).sum()) for own in known if own is not None]
    oot = [int((~victim.seen_in_training(words)).sum()) for words in (before, after)]
    return {"oov": oov or None, "oot": oot}
