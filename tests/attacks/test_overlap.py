"""BLEU and chrF of changed sentences, by their definitions."""

from collections import Counter
from math import exp, log

import pytest

from robustparse.attacks.constraints.overlap import BLEU, ChrF
from robustparse.attacks.constraints.sentence_constraint import Edit
from robustparse.errors import InputError
from robustparse.types import Sentence

pytest.importorskip("sacrebleu")

SENTENCE = Sentence(("the", "little", "dog", "chased", "a", "grey", "cat"))
CURRENT = ("the", "small", *SENTENCE.words[2:])
EDITS = [
    Edit(SENTENCE, words, at, word)
    for words in (SENTENCE.words, CURRENT)
    for at, word in ((0, "a"), (3, "chasd"), (6, "rabbit"))
]


def shared(one: list, other: list) -> tuple[int, int, int]:
    return (Counter(one) & Counter(other)).total(), len(one), len(other)


def grams(items: tuple | str, order: int) -> list:
    return [tuple(items[at : at + order]) for at in range(len(items) - order + 1)]


def bleu(changed: tuple[str, ...], reference: tuple[str, ...]) -> float:
    """The geometric mean of four precisions; both have the same length. None is 0 here."""
    counts = [shared(grams(changed, n), grams(reference, n)) for n in (1, 2, 3, 4)]
    zeros, logs = 0, []
    for hits, total, _ in counts:
        if not hits:  # the smoothing of sacrebleu: halved again and again
            zeros += 1
        logs.append(log((hits or 2.0**-zeros) / total))
    return 100 * exp(sum(logs) / 4)


def chrf(changed: tuple[str, ...], reference: tuple[str, ...]) -> float:
    """The F score with beta 2 of mean precision and recall over six orders, without blanks."""
    ones, others = "".join(changed), "".join(reference)
    counts = [shared(grams(ones, n), grams(others, n)) for n in range(1, 7)]
    precision = sum(hits / total for hits, total, _ in counts) / 6
    recall = sum(hits / total for hits, _, total in counts) / 6
    return 100 * 5 * precision * recall / (4 * precision + recall)


@pytest.mark.parametrize(("kind", "by_hand"), [(BLEU, bleu), (ChrF, chrf)])
@pytest.mark.parametrize("reference", ["original", "current"])
def test_scores_are_those_of_the_definition(kind, by_hand, reference) -> None:
    constraint = kind(60.0, reference=reference)
    expected = [
        by_hand(edit.changed, SENTENCE.words if reference == "original" else edit.current)
        for edit in EDITS
    ]
    assert constraint.similarities(EDITS) == pytest.approx(expected, rel=1e-6)
    middle = sorted(expected)[3]
    admitted = kind(middle - 1e-6, reference=reference).admits(EDITS).tolist()
    assert admitted == [score >= middle - 1e-6 for score in expected]
    assert len(set(admitted)) == 2 or len(set(expected)) < 3


@pytest.mark.parametrize("kind", [BLEU, ChrF])
@pytest.mark.parametrize("settings", [{"minimum": 101.0}, {"minimum": -1.0}, {"reference": "x"}])
def test_settings_out_of_range_are_refused(kind, settings) -> None:
    with pytest.raises(InputError):
        kind(**settings)
