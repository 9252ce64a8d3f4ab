"""Attackable words by their Penn tag: lists of what may be changed, or of what may not."""

from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np

from robustparse.attacks.constraints.constraint import Constraint, absent
from robustparse.errors import InputError
from robustparse.types import Example, Mask

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
        self.reads_tags = not self.any
        self._default = tags is None
        self.tags = frozenset(tags or ()) if tags not in (None, "any") else ZHENG_2020_TAGS
        if (isinstance(tags, str) and not self.any) or not self.tags:
            raise InputError(
                f"got {tags!r}",
                key="attackable tags: tags",
                expected="`any`, or a list of at least one Penn tag",
            )
        if never := sorted(self.tags & NEVER_ATTACKED):
            raise InputError(
                f"{', '.join(never)} cannot be attacked, as they tag what is no word of its own",
                key="attackable tags: tags",
                remedy="remove them",
            )

    def attackable(self, example: Example) -> Mask:
        """See `Constraint.attackable`."""
        self.check([example])
        return ~never_attacked(example) if self.any else _tagged(example, self.tags)

    def warnings(self, examples: Sequence[Example]) -> Iterator[str]:
        """See `Constraint.warnings`."""
        listed = frozenset[str]() if self.any else self.tags
        return absent("attackable tags", listed, _present(examples), self._default)


class ForbiddenTags(Constraint):
    """Words with one of these tags, and those of `NEVER_ATTACKED`, may not be changed.

    Args:
        tags: Penn tags; by default those that the released code of Wang et al. 2021 skips.
    """

    reads_tags = True

    def __init__(self, tags: list[str] | None = None) -> None:
        listed = WANG_2021_FORBIDDEN if tags is None else frozenset(tags)
        self.tags = listed | NEVER_ATTACKED
        self._default = tags is None

    def attackable(self, example: Example) -> Mask:
        """See `Constraint.attackable`."""
        self.check([example])
        return ~_tagged(example, self.tags)

    def warnings(self, examples: Sequence[Example]) -> Iterator[str]:
        """See `Constraint.warnings`."""
        listed = self.tags - NEVER_ATTACKED
        return absent("forbidden tags", listed, _present(examples), self._default)


def never_attacked(example: Example) -> Mask:
    """Tell which words have a tag of `NEVER_ATTACKED`, `(words,)`; none where there are no tags."""
    return _tagged(example, NEVER_ATTACKED)


def _tagged(example: Example, tags: frozenset[str]) -> Mask:
    """Tell which words have one of the tags, `(words,)`."""
    xpos = example.sentence.xpos or ("",) * len(example.sentence)
    return np.array([tag in tags for tag in xpos], dtype=np.bool_)


def _present(examples: Sequence[Example]) -> set[str]:
    return {tag for example in examples for tag in example.sentence.xpos}
