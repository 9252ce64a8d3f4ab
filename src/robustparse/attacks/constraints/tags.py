"""Attackable words by their Penn tag: the white list of Zheng et al. 2020's released code."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from robustparse.attacks.constraints.constraint import Constraint
from robustparse.errors import InputError
from robustparse.types import Example

ZHENG_2020_TAGS = frozenset(
    {"JJ", "JJR", "JJS"}
    | {"NN", "NNS", "NNP", "NNPS"}
    | {"VB", "VBD", "VBG", "VBN", "VBP", "VBZ"}
    | {"RB", "RBR", "RBS"}
)
"""Adjectives, nouns, verbs and adverbs. The paper only lists what is forbidden; the code's list
also forbids IN, TO, MD, EX, PDT, POS, RP, FW, LS, SYM, $ and #."""

NEVER_ATTACKED = frozenset(["HYPH", "NFP", "ADD", "GW", "AFX", "XX"])
"""Tags that the English Web Treebank adds for what is no word of its own: hyphens, decoration,
addresses, parts of words, and unknown matter."""


class AttackableTags(Constraint):
    """Only words with one of these tags may be changed.

    Args:
        tags: Penn tags; by default those of Zheng et al. 2020. Their experiment on prepositions
            (Table 3) is `tags: [IN]`.

    Raises:
        InputError: the list is empty or holds a tag that is never attacked.
    """

    def __init__(self, tags: list[str] | None = None) -> None:
        self.tags = ZHENG_2020_TAGS if tags is None else frozenset(tags)
        if not self.tags:
            raise InputError("attackable tags: the list is empty; give at least one Penn tag")
        if never := sorted(self.tags & NEVER_ATTACKED):
            raise InputError(
                f"attackable tags: {', '.join(never)} cannot be attacked, as they tag what is no "
                "word of its own; remove them"
            )

    def attackable(self, examples: Sequence[Example]) -> list[NDArray[np.bool_]]:
        """See `Constraint.attackable`."""
        masks = []
        for example in examples:
            if len(example.sentence.xpos) != len(example.sentence):
                raise InputError(
                    f"sentence {example.id}: no Penn tag for every word, which this attack needs; "
                    "expected them in the XPOS column (the fifth) of the data file"
                )
            masks.append(np.array([tag in self.tags for tag in example.sentence.xpos], np.bool_))
        return masks
