"""Candidates from a list of words, regardless of the slot: a vocabulary file or training words.

The black-box phrase-level attack of Zheng et al. 2020 draws substitutes uniformly from the
vocabulary.
"""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from robustparse.attacks.candidates.generator import CandidateGenerator, Slot
from robustparse.attacks.component import training_words
from robustparse.attacks.victim import Victim
from robustparse.errors import InputError, check_least
from robustparse.files.reading import read_lines
from robustparse.randomness import stream


class VocabularyWords(CandidateGenerator):
    """Proposes words of a list, drawn uniformly without replacement, or all of them.

    Args:
        path: a text file with one word per line; None takes the victim's training words
            (lower-cased, those seen at least twice).
        sample: words per slot, drawn from (seed, sentence id, position); None proposes the whole
            list, in order.

    Raises:
        InputError: sample is below 1; the file cannot be read, or a line has several words.
    """

    def __init__(self, path: str | None = None, *, sample: int | None = 50) -> None:
        check_least("vocabulary", sample=sample)
        self.path = path
        self.sample = sample
        self.draws = sample is not None
        self._words = None if path is None else read_words(Path(path).expanduser())

    def for_victim(self, victim: Victim) -> CandidateGenerator:
        """See `CandidateGenerator.for_victim`."""
        if self.path is not None:
            return self
        bound = VocabularyWords(sample=self.sample)
        bound._words = list(training_words(victim, self))
        return bound

    def propose(self, slots: Sequence[Slot], seed: int) -> list[list[str]]:
        """See `CandidateGenerator.propose`."""
        if self._words is None:
            raise self.without_victim("give it a path")
        return [self._draw(self._words, slot, seed) for slot in slots]

    def _draw(self, words: list[str], slot: Slot, seed: int) -> list[str]:
        if self.sample is None:
            return list(words)
        rng = stream(seed, slot.id, 1 + slot.position)
        drawn = rng.choice(len(words), min(self.sample, len(words)), replace=False)
        return [words[index] for index in drawn.tolist()]

    def fingerprint(self) -> str:
        """See `CandidateGenerator.fingerprint`."""
        words = hashlib.sha256(json.dumps(self._words or []).encode()).hexdigest()
        return f"VocabularyWords {words}, sample {self.sample}"


def read_words(path: Path) -> list[str]:
    """Read the distinct words of a text file with one word per line, in order."""
    words: dict[str, None] = {}
    for number, line in read_lines(path):
        fields = line.split()
        if len(fields) > 1:
            raise InputError(
                f"found {len(fields)} words", path=path, line=number, expected="one word per line"
            )
        words.update(dict.fromkeys(fields))
    return list(words)
