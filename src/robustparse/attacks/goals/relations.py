"""Words that their relation in the gold tree protects: copulas and auxiliaries, or punctuation.

Zheng et al. 2020 convert their treebank with the copula as head (footnote 4), so that another verb
in its place keeps the tree. In Universal Dependencies a copula or an auxiliary depends on the
predicate: with "serves" in the place of "is" the gold tree is no longer right, and a parser that
sees this would count as wrong.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from robustparse.attacks.constraints.constraint import Constraint, absent
from robustparse.errors import InputError
from robustparse.types import DependencyTree, Example, Mask

_FUNCTION_VERBS = ("cop", "aux")


class ForbiddenRelations(Constraint):
    """Words attached by one of these relations in the gold tree may not be changed.

    Args:
        relations: dependency labels, with their subtypes (`aux` stands for `aux:pass` too); by
            default `cop` and `aux`. The released code of Zheng et al. 2020 forbids `punct` where it
            does not go by tags (phrases, characters).
    """

    def __init__(self, relations: list[str] | None = None) -> None:
        self.relations = frozenset(_FUNCTION_VERBS if relations is None else relations)
        self._default = relations is None

    def check(self, examples: Sequence[Example]) -> None:
        """See `Constraint.check`."""
        for example in examples:
            if not isinstance(example.gold, DependencyTree):
                raise InputError(
                    f"the gold answer of sentence {example.id + 1} is no dependency tree",
                    key="forbidden relations",
                    remedy="leave the constraint out",
                )

    def attackable(self, example: Example) -> Mask:
        """See `Constraint.attackable`."""
        forbidden = [
            not self.relations.isdisjoint(_universal(each)) for each in example.gold.labels
        ]
        return ~np.array(forbidden, dtype=np.bool_)

    def warnings(self, examples: Sequence[Example]) -> Iterator[str]:
        """See `Constraint.warnings`."""
        labels = {label for example in examples for label in example.gold.labels}
        present = {name for label in labels for name in _universal(label)}
        return absent("forbidden relations", self.relations, present, self._default)


def _universal(label: str) -> set[str]:
    """Return a label, and what it is a subtype of."""
    return {label, label.partition(":")[0]}
