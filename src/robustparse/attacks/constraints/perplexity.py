"""Candidates must keep a sentence as fluent as it is: the perplexity filter of Wang et al. 2021."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from robustparse.attacks.constraints.language_model import LanguageModel
from robustparse.attacks.constraints.recent import Recent
from robustparse.attacks.constraints.sentence_constraint import Edit, SentenceConstraint
from robustparse.errors import InputError

_REMEMBERED = 1 << 16  # texts


class PerplexityRise(SentenceConstraint):
    """A change raises the sentence's perplexity by no more than `most`.

    Compares with the *current* sentence, just before the change, so that several changes may add up
    to more (Wang et al. 2021).

    Args:
        language_model: measures perplexity (GPT-2 in the paper).
        most: the rise allowed, of the perplexity itself, not of its logarithm (20 in the paper).

    Raises:
        InputError: most is not a number; when first used: the model cannot be loaded.
    """

    def __init__(self, language_model: LanguageModel, *, most: float = 20.0) -> None:
        if np.isnan(most):
            raise InputError(f"perplexity: most must be a number, got {most}")
        self.language_model = language_model
        self.most = most
        self._known: Recent[tuple[str, ...], float] = Recent(_REMEMBERED)

    def admits(self, edits: Sequence[Edit]) -> NDArray[np.bool_]:
        """See `SentenceConstraint.admits`."""
        texts = [edit.changed for edit in edits] + [edit.current for edit in edits]
        found = self._known.of(texts, lambda new: self.language_model.perplexities(new).tolist())
        changed, current = np.array(found).reshape(2, len(edits))
        admitted: NDArray[np.bool_] = changed - current <= self.most
        return admitted
