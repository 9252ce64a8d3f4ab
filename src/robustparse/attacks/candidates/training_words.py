"""Candidates from the victim's own training vocabulary: words whose usual tag is the slot's.

They need no model and no file, which makes them the adversary's choice while training. Frequent
words are drawn more often (Zipf's law), as a masked language model would propose them; otherwise
they are out of context, more various and less plausible.
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from robustparse.attacks.candidates.generator import CandidateGenerator, Slot
from robustparse.attacks.tagged import tag_dictionary
from robustparse.attacks.victim import Victim
from robustparse.errors import check_least
from robustparse.randomness import stream


class TrainingWords(CandidateGenerator):
    """Proposes words of the slot's tag, the r-th most frequent one with a weight of 1 / r.

    A word's tag is its most frequent Penn tag in the victim's training data (`DictionaryTag`).

    Args:
        sample: words per slot.
    """

    reads_tags = True

    def __init__(self, *, sample: int = 50) -> None:
        check_least("training words", sample=sample)
        self.sample = sample
        self._by_tag: Mapping[str, Sequence[str]] = {}  # the most frequent word of a tag first
        self._log_ranks = np.zeros(0)

    def for_victim(self, victim: Victim) -> CandidateGenerator:
        """See `CandidateGenerator.for_victim`."""
        by_tag: dict[str, list[str]] = defaultdict(list)
        for word, tag in tag_dictionary(victim, "TrainingWords").items():
            by_tag[tag].append(word)
        bound = TrainingWords(sample=self.sample)
        bound._by_tag = by_tag
        bound._log_ranks = np.log(np.arange(1, 1 + max(map(len, by_tag.values()), default=0)))
        return bound

    def propose(self, slots: Sequence[Slot], seed: int) -> list[list[str]]:
        """See `CandidateGenerator.propose`."""
        return [self._draw(self._by_tag.get(slot.tag, []), slot, seed) for slot in slots]

    def _draw(self, words: Sequence[str], slot: Slot, seed: int) -> list[str]:
        if not words:
            return []
        rng = stream(seed, slot.id, 1 + slot.position)
        # Gumbel noise on log weights, the largest first, draws without replacement, in order; these
        # are their negatives.
        keys = self._log_ranks[: len(words)] - rng.gumbel(size=len(words))
        first = np.argpartition(keys, min(self.sample, len(words)) - 1)[: self.sample]
        return [words[index] for index in first[np.argsort(keys[first])].tolist()]

    def fingerprint(self) -> str:
        """See `CandidateGenerator.fingerprint`."""
        words = hashlib.sha256(json.dumps(self._by_tag, sort_keys=True).encode()).hexdigest()
        return f"TrainingWords {words}, sample {self.sample}"
