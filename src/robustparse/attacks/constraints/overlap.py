"""The changed sentence must overlap with the original one, as a translation with its reference."""

from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Literal

import numpy as np

from robustparse.attacks.constraints.sentence_constraint import Edit, SentenceConstraint
from robustparse.errors import InputError, check_choice, optional_library
from robustparse.types import Floats, Mask

Reference = Literal["original", "current"]


class _Overlap(SentenceConstraint):
    """Scores the changed sentence as a translation whose reference is another sentence.

    Args:
        minimum: the minimum score, 0 to 100.
        reference: the `original` sentence, or the `current` one just before the change.
    """

    needs = ("sacrebleu",)
    is_model = False
    loads = ("_metric",)

    def __init__(self, minimum: float, reference: Reference) -> None:
        name = f"{type(self).__name__}: minimum"
        if not 0.0 <= minimum <= 100.0:
            raise InputError(f"got {minimum}", key=name, expected="a score from 0 to 100")
        check_choice("overlap: reference", reference, ("original", "current"))
        self.minimum = minimum
        self.reference: Reference = reference

    def admits(self, edits: Sequence[Edit]) -> Mask:
        """See `SentenceConstraint.admits`."""
        admitted: Mask = self.similarities(edits) >= self.minimum
        return admitted

    def similarities(self, edits: Sequence[Edit]) -> Floats:
        """Return the scores, `(edits,)`."""
        original = self.reference == "original"
        pairs = [
            (each.changed, each.sentence.words if original else each.current) for each in edits
        ]
        scores = [
            self._metric.sentence_score(" ".join(changed), [" ".join(words)]).score
            for changed, words in pairs
        ]
        return np.array(scores, dtype=np.float64)

    @abstractmethod
    def _made(self, metrics: Any) -> Any:
        """Return the measure of the library."""

    @cached_property
    def _metric(self) -> Any:
        remedy = 'run `pip install "robustparse[overlap]"`'
        return self._made(optional_library("sacrebleu.metrics", "overlap", remedy))


class BLEU(_Overlap):
    """The changed sentence must reach a BLEU score (Papineni et al. 2002), by sacrebleu.

    Words are those of the sentence, and orders that a short sentence lacks are left out.

    Args:
        minimum: the minimum score, 0 to 100.
        reference: the `original` sentence, or the `current` one just before the change.

    Raises:
        InputError: a setting is out of range; when first used: the library is not installed.
    """

    def __init__(self, minimum: float = 50.0, *, reference: Reference = "original") -> None:
        super().__init__(minimum, reference)

    def _made(self, metrics: Any) -> Any:
        return metrics.BLEU(effective_order=True, tokenize="none")


class ChrF(_Overlap):
    """The changed sentence must reach a chrF score (Popovic 2015), by sacrebleu.

    The score compares sequences of up to six characters, so that a misspelling costs less than
    another word.

    Args:
        minimum: the minimum score, 0 to 100.
        reference: the `original` sentence, or the `current` one just before the change.

    Raises:
        InputError: a setting is out of range; when first used: the library is not installed.
    """

    def __init__(self, minimum: float = 50.0, *, reference: Reference = "original") -> None:
        super().__init__(minimum, reference)

    def _made(self, metrics: Any) -> Any:
        return metrics.CHRF()
