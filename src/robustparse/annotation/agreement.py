"""How far annotators agree beyond chance: Cohen's kappa for two, Fleiss' kappa for more.

kappa = (observed - expected) / (1 - expected). Observed is the fraction of pairs of annotators,
over all items, that gave the same answer. Expected is what it would be if they drew their answers:
each from a distribution of their own (Cohen 1960, eq. 1), or all from the common one (Fleiss 1971,
eq. 3 to 7).
"""

from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from typing import Literal, NamedTuple


class Agreement(NamedTuple):
    """How far annotators agree; nothing is known of one annotator.

    ``observed`` is the fraction of equal answers. ``kappa`` is 1 where agreement is perfect and 0
    where it is chance; None where chance gives perfect agreement, as when all answers are the same.
    """

    observed: float | None
    kappa: float | None
    kind: Literal["cohen", "fleiss"] | None


def agreement(answers: Sequence[Sequence[str]]) -> Agreement:
    """Measure how far annotators agree.

    Args:
        answers: one sequence an annotator, all about the same items in the same order.

    Raises:
        ValueError: there is no annotator or no item, or they answered different numbers of items.
    """
    if not answers or not answers[0] or len({len(own) for own in answers}) > 1:
        sizes = [len(own) for own in answers]
        raise ValueError(f"expected answers of every annotator to the same items, got {sizes}")
    if len(answers) == 1:
        return Agreement(None, None, None)
    pairs = list(combinations(answers, 2))
    same = sum(a == b for one, other in pairs for a, b in zip(one, other, strict=True))
    observed = same / (len(pairs) * len(answers[0]))
    if len(answers) == 2:
        return Agreement(observed, _kappa(observed, _by_own_shares(*answers)), "cohen")
    return Agreement(observed, _kappa(observed, _by_common_shares(answers)), "fleiss")


def majority(answers: Sequence[str]) -> str | None:
    """Find the answer that more than half of the annotators gave to an item, or None."""
    answer, count = Counter(answers).most_common(1)[0]
    return answer if 2 * count > len(answers) else None


def _by_own_shares(one: Sequence[str], other: Sequence[str]) -> float:
    first, second = Counter(one), Counter(other)
    return sum(first[answer] * second[answer] for answer in first) / (len(one) * len(other))


def _by_common_shares(answers: Sequence[Sequence[str]]) -> float:
    counts = Counter(answer for own in answers for answer in own)
    total = sum(counts.values())
    return sum(count * count for count in counts.values()) / (total * total)


def _kappa(observed: float, expected: float) -> float | None:
    return None if expected == 1.0 else (observed - expected) / (1.0 - expected)
