"""The candidate that leaves a word out."""

from collections.abc import Sequence

from robustparse.attacks.candidates.generator import CandidateGenerator, Slot


class Omission(CandidateGenerator):
    """Proposes to leave the word out; the last remaining word always stays."""

    changes = "deletions"
    tasks = ("semantic", "classification")
    draws = False
    verbatim = True
    spans = True

    def propose(self, slots: Sequence[Slot], seed: int) -> list[list[str]]:
        """See `CandidateGenerator.propose`."""
        return [[""] for _ in slots]

    def fingerprint(self) -> str:
        """See `CandidateGenerator.fingerprint`."""
        return "Omission"
