"""Candidates that take their time, for attacks that are killed on the way."""

import time
from collections.abc import Sequence

from robustparse.attacks.candidates.generator import CandidateGenerator, Slot
from robustparse.attacks.candidates.training_words import TrainingWords
from robustparse.attacks.victim import Victim


class SlowWords(TrainingWords):
    """Training words, a tenth of a second for every call."""

    def for_victim(self, victim: Victim) -> CandidateGenerator:
        bound = SlowWords(sample=self.sample)
        bound._by_tag = super().for_victim(victim)._by_tag
        return bound

    def propose(self, slots: Sequence[Slot], seed: int) -> list[list[str]]:
        time.sleep(0.1)
        return super().propose(slots, seed)
