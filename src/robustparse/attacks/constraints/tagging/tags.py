"""Constraints on the tags of words that may be changed: allowed tags, or forbidden tags."""

from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np

from robustparse.attacks.constraints.constraint import Constraint, absent
from robustparse.errors import InputError
from robustparse.tagsets import CLASSES, Tagset, check_tagset
from robustparse.types import Example, Mask

ZHENG_2020_TAGS = CLASSES["JJ"] | CLASSES["NN"] | CLASSES["VB"] | CLASSES["RB"]
"""Adjectives, nouns, verbs and adverbs. The paper only lists what is forbidden; the code's list
also forbids IN, TO, MD, EX, PDT, POS, RP, FW, LS, SYM, $ and #."""

NEVER_ATTACKED = frozenset(["HYPH", "NFP", "ADD", "GW", "AFX", "XX", "X"])
"""Tags of tokens that are not words: in the English Web Treebank hyphens, decoration, addresses,
parts of words and unknown material; and the universal tag X. No attack changes such tokens."""

WANG_2021_FORBIDDEN = frozenset(
    {"PRP", "PRP$", "DT", "CC", "IN", "CD", "UH", "WDT", "WP", "WP$"}
    | {"-LRB-", "-RRB-", ".", "``", "''", ":", ",", "?", ";"}
    | {"PRON", "DET", "CCONJ", "SCONJ", "ADP", "NUM", "INTJ", "PUNCT"}
)
"""Tags that the released code of Wang et al. 2021 skips, with universal tags for the same words;
unlike the paper's list, it includes IN."""


class AttackableTags(Constraint):
    """Only words with one of these tags may be changed.

    Args:
        tags: Penn or universal tags; by default those of Zheng et al. 2020. Their experiment on
            prepositions (Table 3) is `tags: [IN]`. `any` allows every tag except `NEVER_ATTACKED`,
            and all words of a sentence without tags.
        tagset: which tags of a sentence are compared; None: its Penn tags, or its universal tags if
            it has none.

    Raises:
        InputError: the list is empty or holds a tag that is never attacked.
    """

    without_tags = "set `tags: any` for it in the recipe"

    def __init__(
        self, tags: list[str] | Literal["any"] | None = None, *, tagset: Tagset | None = None
    ) -> None:
        check_tagset("attackable tags", tagset)
        self.tagset = tagset
        self.reads_tags = tags != "any"
        self._default = tags is None
        self.tags: frozenset[str] | Literal["any"] = "any"
        if tags == "any":
            return
        if isinstance(tags, str) or (tags is not None and not tags):
            raise InputError(
                f"got {tags!r}",
                key="attackable tags: tags",
                expected="`any`, or a list of at least one tag",
            )
        self.tags = ZHENG_2020_TAGS if tags is None else frozenset(tags)
        if never := sorted(self.tags & NEVER_ATTACKED):
            raise InputError(
                f"{', '.join(never)} cannot be attacked: they tag tokens that are not words",
                key="attackable tags: tags",
                remedy="remove them",
            )

    def attackable(self, example: Example) -> Mask:
        """See `Constraint.attackable`."""
        self.check([example])
        if self.tags == "any":
            return ~never_attacked(example)
        return _tagged(example, self.tags, self.tagset)

    def warnings(self, examples: Sequence[Example]) -> Iterator[str]:
        """See `Constraint.warnings`."""
        yield from super().warnings(examples)
        listed = frozenset[str]() if self.tags == "any" else self.tags
        yield from absent("attackable tags", listed, _present(examples, self.tagset), self._default)


class ForbiddenTags(Constraint):
    """Words with one of these tags, and those of `NEVER_ATTACKED`, may not be changed.

    Args:
        tags: Penn or universal tags; by default those that the released code of Wang et al. 2021
            skips.
        tagset: which tags of a sentence are compared; None: its Penn tags, or its universal tags if
            it has none.
    """

    reads_tags = True

    def __init__(self, tags: list[str] | None = None, *, tagset: Tagset | None = None) -> None:
        check_tagset("forbidden tags", tagset)
        self.tagset = tagset
        listed = WANG_2021_FORBIDDEN if tags is None else frozenset(tags)
        self.tags = listed | NEVER_ATTACKED
        self._default = tags is None

    def attackable(self, example: Example) -> Mask:
        """See `Constraint.attackable`."""
        self.check([example])
        return ~_tagged(example, self.tags, self.tagset)

    def warnings(self, examples: Sequence[Example]) -> Iterator[str]:
        """See `Constraint.warnings`."""
        yield from super().warnings(examples)
        listed = self.tags - NEVER_ATTACKED
        yield from absent("forbidden tags", listed, _present(examples, self.tagset), self._default)


def never_attacked(example: Example) -> Mask:
    """Tell which words have a tag of `NEVER_ATTACKED`, `(words,)`; none if there are no tags."""
    return _tagged(example, NEVER_ATTACKED)


def _tagged(example: Example, tags: frozenset[str], tagset: Tagset | None = None) -> Mask:
    """Tell which words have one of the tags, `(words,)`."""
    of_words = example.sentence.tagged(tagset) or ("",) * len(example.sentence)
    return np.array([tag in tags for tag in of_words], dtype=np.bool_)


def _present(examples: Sequence[Example], tagset: Tagset | None) -> set[str]:
    """Return the tags that occur in the sentences."""
    return {tag for example in examples for tag in example.sentence.tagged(tagset)}
