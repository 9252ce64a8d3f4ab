"""Agreement of annotators beyond chance: Cohen's kappa for two, Fleiss' kappa for more.

kappa = (observed - expected) / (1 - expected). Observed is the fraction of equal answers over all
pairs of annotators and all items. Expected is this fraction if answers are drawn at random: from
each annotator's distribution (Cohen 1960, eq. 1) or from the common one (Fleiss 1971, eq. 3 to 7).
"""

from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from typing import Literal, NamedTuple


class Agreement(NamedTuple):
    """The agreement of annotators; None for a single annotator.

    ``observed`` is the fraction of equal answers. ``kappa`` is 1 for perfect agreement and 0 for
    chance agreement; None if chance agreement is perfect, because all answers are the same.
    """

    observed: float | None
    kappa: float | None
    kind: Literal["cohen", "fleiss"] | None


def agreement(answers: Sequence[Sequence[str]]) -> Agreement:
    """Measure the agreement of annotators.

    Args:
        answers: a sequence for each annotator, about the same items in the same order.

    Raises:
        ValueError: there is no annotator or no item, or the numbers of items differ.
    """
    if not answers or not answers[0] or len({len(sequence) for sequence in answers}) > 1:
        sizes = [len(sequence) for sequence in answers]
        raise ValueError(f"expected answers of every annotator to the same items, got {sizes}")
    if len(answers) == 1:
        return Agreement(None, None, None)
    pairs = list(combinations(answers, 2))
    same = sum(a == b for first, second in pairs for a, b in zip(first, second, strict=True))
    observed = same / (len(pairs) * len(answers[0]))
    if len(answers) == 2:
        return Agreement(observed, _kappa(observed, _by_annotator(*answers)), "cohen")
    return Agreement(observed, _kappa(observed, _by_all(answers)), "fleiss")


def majority(answers: Sequence[str]) -> str | None:
    """Find the answer that more than half of the annotators gave to an item, or None."""
    answer, count = Counter(answers).most_common(1)[0]
    return answer if 2 * count > len(answers) else None


def _by_annotator(first: Sequence[str], second: Sequence[str]) -> float:
    """Return the expected agreement if each annotator draws from a separate distribution."""
    counts, others = Counter(first), Counter(second)
    return sum(counts[answer] * others[answer] for answer in counts) / (len(first) * len(second))


def _by_all(answers: Sequence[Sequence[str]]) -> float:
    """Return the expected agreement if all annotators draw from the common distribution."""
    counts = Counter(answer for sequence in answers for answer in sequence)
    total = sum(counts.values())
    return sum(count * count for count in counts.values()) / (total * total)


def _kappa(observed: float, expected: float) -> float | None:
    return None if expected == 1.0 else (observed - expected) / (1.0 - expected)
