"""Counts of changed words that a victim does not know (Wang et al. 2021, Table 7)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from robustparse.attacks.victim import LexicalVictim, Victim

BeforeAfter = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Unseen:
    """Unknown words at changed positions: how many of the original and of the new ones.

    Args:
        oov: without an embedding of their own; None where no word has one.
        oot: not in the training set, as far as the victim knows it.
    """

    oov: BeforeAfter | None
    oot: BeforeAfter

    def record(self) -> dict[str, Any]:
        """Convert to the form of a line of ``examples.jsonl``."""
        return {"oov": None if self.oov is None else list(self.oov), "oot": list(self.oot)}


def unseen_words(victim: Victim, before: Sequence[str], after: Sequence[str]) -> Unseen | None:
    """Count the changed words, before and after, that the victim does not know.

    None if it is no `LexicalVictim`.
    """
    if not isinstance(victim, LexicalVictim):
        return None
    old, new = victim.embedded(before), victim.embedded(after)
    seen = [victim.seen_in_training(words) for words in (before, after)]
    oov = None if old is None or new is None else (int((~old).sum()), int((~new).sum()))
    return Unseen(oov, (int((~seen[0]).sum()), int((~seen[1]).sum())))
