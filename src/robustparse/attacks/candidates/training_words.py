"""Candidates from the victim's training vocabulary: words whose most frequent tag is the slot's.

They need no model and no file, which suits adversarial training. Frequent words are drawn more
often (Zipf's law), similar to a masked language model. Since the context is ignored, candidates are
more varied and less plausible.
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from robustparse.attacks.candidates.generator import CandidateGenerator, Slot
from robustparse.attacks.component import TrainingTags, tags_of, training_tags
from robustparse.attacks.features import TrainingFeatures, training_features
from robustparse.attacks.victim import Victim
from robustparse.data.vocab import Analysis
from robustparse.errors import check_least
from robustparse.randomness import stream
from robustparse.tagsets import Tagset, check_tagset


class TrainingWords(CandidateGenerator):
    """Proposes words with the slot's tag; the r-th most frequent word has weight 1 / r.

    A word's tag is its most frequent tag in the victim's training data (`DictionaryTag`).

    Args:
        sample: words per slot.
        tagset: which tags; None: a sentence's Penn tags, or its universal tags if it has none.
        features: see `DictionaryTag`; ranks are then those among words with the same analysis.
    """

    reads_tags = True

    def __init__(
        self, *, sample: int = 50, tagset: Tagset | None = None, features: bool | str | None = None
    ) -> None:
        check_least("training words", sample=sample)
        check_tagset("training words", tagset)
        self.sample, self.tagset, self.features = sample, tagset, features
        self._training: TrainingTags | None = None
        self._features: TrainingFeatures = {}
        # The most frequent word comes first.
        self._by_tag: dict[Tagset, Mapping[str, Sequence[str]]] = {}
        self._by_analysis: dict[tuple[Tagset, str, Analysis], Sequence[str]] = {}
        self._log_ranks = np.zeros(0)

    def for_victim(self, victim: Victim) -> CandidateGenerator:
        """See `CandidateGenerator.for_victim`."""
        bound = TrainingWords(sample=self.sample, tagset=self.tagset, features=self.features)
        bound._training = training = training_tags(victim, self)
        bound._features = training_features(victim, self)
        most = max(map(len, training.values()))
        bound._log_ranks = np.log(np.arange(1, 1 + most))
        return bound

    def propose(self, slots: Sequence[Slot], seed: int) -> list[list[str]]:
        """See `CandidateGenerator.propose`."""
        if self._training is None:
            raise self.without_victim("take candidates that need no victim")
        return [self._draw(self._matching(self._training, slot), slot, seed) for slot in slots]

    def _matching(self, training: TrainingTags, slot: Slot) -> Sequence[str]:
        """Return training words with the slot's tag, and its analysis if features are compared."""
        tagset, tag = slot.tagged(self.tagset)
        words, analysis = self._of_tag(training, tagset, tag), slot.analysis
        if not self._features or analysis is None:
            return words
        key = (tagset, tag, analysis)
        if key not in self._by_analysis:
            known = self._features
            self._by_analysis[key] = [word for word in words if analysis in known.get(word, ())]
        return self._by_analysis[key]

    def _of_tag(self, training: TrainingTags, tagset: Tagset, tag: str) -> Sequence[str]:
        if not tag:
            return ()
        if tagset not in self._by_tag:
            by_tag: dict[str, list[str]] = defaultdict(list)
            for word, its_tag in tags_of(training, tagset, self).items():
                by_tag[its_tag].append(word)
            self._by_tag[tagset] = by_tag
        return self._by_tag[tagset].get(tag, ())

    def _draw(self, words: Sequence[str], slot: Slot, seed: int) -> list[str]:
        if not words:
            return []
        rng = stream(seed, slot.id, 1 + slot.position)
        # Adding Gumbel noise to log weights and sorting by falling sum draws without replacement,
        # in order; the keys are the negative sums.
        keys = self._log_ranks[: len(words)] - rng.gumbel(size=len(words))
        first = np.argpartition(keys, min(self.sample, len(words)) - 1)[: self.sample]
        return [words[index] for index in first[np.argsort(keys[first])].tolist()]

    def fingerprint(self) -> str:
        """See `CandidateGenerator.fingerprint`."""
        words = hashlib.sha256(json.dumps(list(map(list, (self._training or {}).items()))).encode())
        settings = f"sample {self.sample}, tagset {self.tagset}"
        if self._features:
            features = sorted((word, sorted(some)) for word, some in self._features.items())
            words.update(json.dumps(features).encode())
            settings += ", features"
        return f"TrainingWords {words.hexdigest()}, {settings}"
