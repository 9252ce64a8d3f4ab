"""Candidates that write a word as two (TextBugger; Li et al. 2018, the bug "insert")."""

from collections.abc import Sequence

from robustparse.attacks.candidates.generator import CandidateGenerator, Slot
from robustparse.errors import check_least
from robustparse.graphemes import graphemes


class WordSplits(CandidateGenerator):
    """Proposes the word with a blank between two of its characters, that is, two words.

    In a union it proposes nothing for trees and tags, whose answers have a part for each word.

    Args:
        sample: candidates per slot, drawn uniformly (Li et al. 2018: 1); None takes all, from left
            to right.
        longest: maximum characters of a word that is split (Li et al. 2018: 5, since the parts of a
            longer word may be words); None sets no limit.
    """

    changes = "splits"
    verbatim = True
    spans = True
    optional = True

    def __init__(self, *, sample: int | None = 1, longest: int | None = None) -> None:
        check_least("word splits", sample=sample, longest=longest)
        self.sample, self.longest = sample, longest
        self.draws = sample is not None

    def propose(self, slots: Sequence[Slot], seed: int) -> list[list[str]]:
        """See `CandidateGenerator.propose`."""
        return [self._draw(slot, seed) for slot in slots]

    def _draw(self, slot: Slot, seed: int) -> list[str]:
        characters = graphemes(slot.word)
        if self.longest is not None and len(characters) > self.longest:
            return []
        words = [
            f"{''.join(characters[:at])} {''.join(characters[at:])}"
            for at in range(1, len(characters))
        ]
        return slot.drawn(words, self.sample, seed)

    def fingerprint(self) -> str:
        """See `CandidateGenerator.fingerprint`."""
        return f"WordSplits {self.sample} {self.longest}"
