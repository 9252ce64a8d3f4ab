"""Attackable words by their Penn tag: lists of what may be changed, and of what may not."""

from collections.abc import Sequence, Set
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from robustparse.attacks.constraints.constraint import Constraint
from robustparse.attacks.tagged import check_tags
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
addresses, parts of words, and unknown matter. No attack changes them, whatever its constraints."""


WANG_2021_FORBIDDEN = frozenset(
    {"PRP", "PRP$", "DT", "CC", "IN", "CD", "UH", "WDT", "WP", "WP$"}
    | {"-LRB-", "-RRB-", ".", "``", "''", ":", ",", "?", ";"}
)
"""What Wang et al. 2021's released code skips; unlike the paper's list it names IN."""


class AttackableTags(Constraint):
    """Only words with one of these tags may be changed.

    Args:
        tags: Penn tags; by default those of Zheng et al. 2020. Their experiment on prepositions
            (Table 3) is `tags: [IN]`. `any` allows every tag but `NEVER_ATTACKED`, and all words of
            a sentence without tags.

    Raises:
        InputError: the list is empty or holds a tag that is never attacked.
    """

    def __init__(self, tags: list[str] | Literal["any"] | None = None) -> None:
        self.any = tags == "any"
        self._own = tags is not None
        self.tags = frozenset(tags or ()) if tags not in (None, "any") else ZHENG_2020_TAGS
        if isinstance(tags, str) and not self.any:
            raise InputError(f"attackable tags: got {tags!r}, expected a list of tags, or any")
        if not self.tags:
            raise InputError("attackable tags: the list is empty; give at least one Penn tag")
        if never := sorted(self.tags & NEVER_ATTACKED):
            raise InputError(
                f"attackable tags: {', '.join(never)} cannot be attacked, as they tag what is no "
                "word of its own; remove them"
            )

    def check(self, examples: Sequence[Example]) -> None:
        """See `Constraint.check`."""
        if not self.any:
            check_tags(examples)

    def attackable(self, examples: Sequence[Example]) -> list[NDArray[np.bool_]]:
        """See `Constraint.attackable`."""
        if self.any:
            return [_tagged(example, NEVER_ATTACKED, forbidden=True) for example in examples]
        check_tags(examples)
        return [_tagged(example, self.tags) for example in examples]

    def unmatched(self, examples: Sequence[Example]) -> str:
        """See `Constraint.unmatched`."""
        there = {tag for example in examples for tag in example.sentence.xpos}
        return "" if self.any else _remark("attackable tags", self.tags, there, self._own)


class ForbiddenTags(Constraint):
    """Words with one of these tags, and those of `NEVER_ATTACKED`, may not be changed.

    Args:
        tags: Penn tags; by default those that the released code of Wang et al. 2021 skips.
    """

    def __init__(self, tags: list[str] | None = None) -> None:
        listed = WANG_2021_FORBIDDEN if tags is None else frozenset(tags)
        self.tags = listed | NEVER_ATTACKED
        self._own = tags is not None

    def check(self, examples: Sequence[Example]) -> None:
        """See `Constraint.check`."""
        check_tags(examples)

    def attackable(self, examples: Sequence[Example]) -> list[NDArray[np.bool_]]:
        """See `Constraint.attackable`."""
        check_tags(examples)
        return [_tagged(example, self.tags, forbidden=True) for example in examples]

    def unmatched(self, examples: Sequence[Example]) -> str:
        """See `Constraint.unmatched`."""
        there = {tag for example in examples for tag in example.sentence.xpos}
        return _remark("forbidden tags", self.tags - NEVER_ATTACKED, there, self._own)


class ForbiddenRelations(Constraint):
    """Words attached by one of these relations in the gold tree may not be changed.

    Args:
        relations: dependency labels; by default `punct`, as in the released code of Zheng et al.
            2020 (phrases, and characters in the white-box attack).
    """

    def __init__(self, relations: list[str] | None = None) -> None:
        self.relations = frozenset(["punct"] if relations is None else relations)
        self._own = relations is not None

    def attackable(self, examples: Sequence[Example]) -> list[NDArray[np.bool_]]:
        """See `Constraint.attackable`."""
        return [
            np.array([label not in self.relations for label in example.gold.labels], np.bool_)
            for example in examples
        ]

    def unmatched(self, examples: Sequence[Example]) -> str:
        """See `Constraint.unmatched`."""
        there = {label for example in examples for label in example.gold.labels}
        return _remark("forbidden relations", self.relations, there, self._own)


def never_attacked(example: Example) -> NDArray[np.bool_]:
    """Which words have a tag of `NEVER_ATTACKED`, `(words,)`; none where there are no tags."""
    return _tagged(example, NEVER_ATTACKED)


def _remark(what: str, listed: frozenset[str], there: Set[str], own: bool) -> str:
    """On what is listed and not there; `own` tells a list that was given from a default one."""
    absent = listed - there
    # A tag of a default list may be rare: that list is wrong only if nothing of it is there.
    if not there or not absent or (not own and absent != listed):
        return ""
    return (
        f"{what}: no word of the data has {', '.join(sorted(absent))}; its words have "
        f"{', '.join(sorted(there))}"
    )


def _tagged(
    example: Example, tags: frozenset[str], *, forbidden: bool = False
) -> NDArray[np.bool_]:
    """Which words have one of the tags, or have none of them, `(words,)`."""
    xpos = example.sentence.xpos or ("",) * len(example.sentence)
    return np.array([(tag in tags) != forbidden for tag in xpos], dtype=np.bool_)
