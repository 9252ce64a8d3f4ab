"""Changes casing as people type it: no capitals, only capitals, or capitalised words."""

from collections.abc import Callable
from typing import Literal, get_args

import numpy as np

from robustparse.casing import cased
from robustparse.errors import check_choice
from robustparse.perturbations.perturbation import Perturbation, Rewording
from robustparse.tagsets import BRACKETS
from robustparse.types import Sentence

Case = Literal["lower", "upper", "capitalized"]


def _capitalized(word: str) -> str:
    """Capitalise a word, except the second half of a contraction."""
    return word if word.lower() in ("n't", "n’t") else cased(word, "capitalised")


_CASES: dict[str, Callable[[str], str]] = {
    "lower": str.lower,
    "upper": str.upper,
    "capitalized": _capitalized,
}


class Casing(Perturbation):
    """Writes every word of a sentence in one casing; `-LRB-` and the like are brackets, not words.

    Args:
        to: ``lower``, ``upper``, or ``capitalized`` (as in headlines; other letters are kept); by
            default one of them is drawn for each sentence.

    Raises:
        InputError: there is no such casing.
    """

    def __init__(self, *, to: Case | None = None) -> None:
        if to is not None:
            check_choice("casing: to", to, get_args(Case))
        self.to = to

    def reword(self, sentence: Sentence, rng: np.random.Generator) -> Rewording:
        """See `Perturbation.reword`."""
        case = self.to or get_args(Case)[int(rng.integers(len(_CASES)))]
        words = [word if word in BRACKETS else _CASES[case](word) for word in sentence.words]
        return Rewording.of(words)
