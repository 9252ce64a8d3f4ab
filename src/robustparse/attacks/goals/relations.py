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

_FUNCTION_VERBS = ("cop", "aux", "aux:pass")


class ForbiddenRelations(Constraint):
    """Words attached by one of these relations in the gold tree may not be changed.

    Args:
        relations: dependency labels; by default `cop`, `aux` and `aux:pass`. The released code of
            Zheng et al. 2020 forbids `punct` where it does not go by tags (phrases, characters).
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
        labels = example.gold.labels
        return np.array([label not in self.relations for label in labels], dtype=np.bool_)

    def warnings(self, examples: Sequence[Example]) -> Iterator[str]:
        """See `Constraint.warnings`."""
        present = {label for example in examples for label in example.gold.labels}
        return absent("forbidden relations", self.relations, present, self._default)
