"""Candidates must keep the tag of the word they replace: two tests of Zheng et al. 2020.

`DictionaryTag` looks the candidate up out of context; `TaggerTag` tags the changed sentence. Both
compare with the corpus' tag of the original word (the released code leaves the choice open).
"""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from robustparse.attacks.candidates.generator import Slot
from robustparse.attacks.constraints.constraint import Constraint
from robustparse.attacks.constraints.perceptron import PerceptronTags
from robustparse.attacks.victim import Victim


class DictionaryTag(Constraint):
    """The candidate's most frequent tag in the victim's training data equals the slot's tag.

    Compares with the corpus tag of the original word. Candidates seen less than twice in training
    have no tag and are rejected.
    """

    def accept(
        self, slots: Sequence[Slot], candidates: Sequence[Sequence[str]], victim: Victim
    ) -> list[NDArray[np.bool_]]:
        """See `Constraint.accept`."""
        tag_of = victim.training_tags.get
        return [
            np.array([tag_of(word.lower()) == slot.tag for word in words], dtype=np.bool_)
            for slot, words in zip(slots, candidates, strict=True)
        ]


class TaggerTag(Constraint):
    """NLTK's perceptron tagger gives the candidate, in the changed sentence, the slot's tag.

    Compares with the corpus tag of the original word; the sentence tagged is the original with the
    one word changed. The paper's tagger (97.2% on its test set) is not the one NLTK ships.

    Raises:
        InputError: NLTK's tagger data is missing.
    """

    def accept(
        self, slots: Sequence[Slot], candidates: Sequence[Sequence[str]], victim: Victim
    ) -> list[NDArray[np.bool_]]:
        """See `Constraint.accept`."""
        tags = self._tagger.substituted(
            [(slot.sentence.words, slot.position) for slot in slots], candidates
        )
        return [
            np.array([tag == slot.tag for tag in found], dtype=np.bool_)
            for slot, found in zip(slots, tags, strict=True)
        ]

    def is_model(self) -> bool:
        """See `Constraint.is_model`."""
        return True

    @cached_property
    def _tagger(self) -> PerceptronTags:
        return PerceptronTags.load()
