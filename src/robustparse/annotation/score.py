"""Unblind the answers of annotators, count them, and measure agreement beyond chance.

Agreement is Cohen's kappa for two annotators and Fleiss' kappa for more:
kappa = (observed - expected) / (1 - expected). Observed is the fraction of equal answers over all
pairs of annotators and all items. Expected is this fraction if answers are drawn at random: from
each annotator's distribution (Cohen 1960, eq. 1) or from the common one (Fleiss 1971, eq. 3 to 7).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, Literal, NamedTuple

from robustparse.annotation.questionnaire import (
    ADVERSARIAL,
    ITEM,
    ORIGINAL,
    QUESTIONS,
    Item,
    read_key,
    read_rows,
)
from robustparse.errors import InputError


def score(key: Path, files: Sequence[Path]) -> dict[str, Any]:
    """Unblind and sum up the answers of all annotators.

    Returns:
        For every question the percentage of each answer over annotators and items, how many items
        have which majority (more than half of the annotators), and the agreement.

    Raises:
        InputError: an answer is missing or unknown, an item is repeated or of another export, a
            file is not CSV, or an annotator has two files.
    """
    items = read_key(key)
    answers: dict[int, dict[int, dict[str, str]]] = {}  # annotator, sentence, question
    for path in files:
        answered, annotator = _read_answers(path, key, items)
        if annotator in answers:
            raise InputError(
                f"annotator {annotator} has a file already", path=path, remedy="give each once"
            )
        answers[annotator] = answered
    ids = sorted(next(iter(answers.values())))
    return {
        "annotators": len(answers),
        "items": len(ids),
        **{
            question: _summary(
                [[answers[one][id_][question] for id_ in ids] for one in sorted(answers)]
            )
            for question in QUESTIONS
        },
    }


def _summary(answers: Sequence[Sequence[str]]) -> dict[str, Any]:
    """Sum up one question from each annotator's unblinded answers."""
    counts = Counter(answer for sequence in answers for answer in sequence)
    majorities = Counter(majority(item) or "none" for item in zip(*answers, strict=True))
    agreed = agreement(answers)
    return {
        "answers": {name: 100.0 * count / counts.total() for name, count in sorted(counts.items())},
        "majority": dict(sorted(majorities.items())),
        "agreement": None if agreed.observed is None else 100.0 * agreed.observed,
        "kappa": agreed.kappa,
        "kappa_kind": agreed.kind,
    }


def _read_answers(
    path: Path, key: Path, items: Mapping[str, Item]
) -> tuple[dict[int, dict[str, str]], int]:
    """Read an annotator's unblinded answers by sentence and question; also return their number."""
    answers: dict[int, dict[str, str]] = {}
    lines: dict[str, int] = {}
    annotator = 0
    for line, row in read_rows(path):
        name = row[ITEM].strip()
        if name not in items:
            raise InputError(f"item {name!r} is not among those in {key}", path=path, line=line)
        if name in lines:
            problem = f"item {name} is already in line {lines[name]}"
            raise InputError(problem, path=path, line=line)
        item = items[name]
        annotator = annotator or item.annotator
        if item.annotator != annotator:
            raise InputError(
                f"item {name} is annotator {item.annotator}'s, those before are annotator "
                f"{annotator}'s",
                path=path,
                line=line,
                remedy="give each annotator's file as it was handed out",
            )
        lines[name] = line
        names = {"A": ADVERSARIAL, "B": ADVERSARIAL, item.original: ORIGINAL}
        chosen = {question: _answer(row[question], question, path, line) for question in QUESTIONS}
        answers[item.id] = {
            question: names.get(answer, answer) for question, answer in chosen.items()
        }
    if not lines:
        raise InputError("holds no answers", path=path)
    if missing := [
        n for n, item in items.items() if item.annotator == annotator and n not in lines
    ]:
        raise InputError(f"item {missing[0]} is missing ({len(missing)} in all)", path=path)
    return answers, annotator


def _answer(text: str, question: str, path: Path, line: int) -> str:
    allowed = {answer.lower(): answer for answer in QUESTIONS[question]}
    answer = allowed.get(text.strip().lower())
    if answer is None:
        problem = repr(text.strip()) if text.strip() else "no answer"
        expected = f"one of {', '.join(QUESTIONS[question])}"
        raise InputError(problem, path=path, line=line, key=question, expected=expected)
    return answer


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
        # Each annotator draws from a separate distribution.
        first, second = map(Counter, answers)
        expected = sum(first[answer] * second[answer] for answer in first) / len(answers[0]) ** 2
        return Agreement(observed, _kappa(observed, expected), "cohen")
    # All annotators draw from the common distribution.
    counts = Counter(answer for sequence in answers for answer in sequence)
    expected = sum(count * count for count in counts.values()) / counts.total() ** 2
    return Agreement(observed, _kappa(observed, expected), "fleiss")


def majority(answers: Sequence[str]) -> str | None:
    """Find the answer that more than half of the annotators gave to an item, or None."""
    answer, count = Counter(answers).most_common(1)[0]
    return answer if 2 * count > len(answers) else None


def _kappa(observed: float, expected: float) -> float | None:
    return None if expected == 1.0 else (observed - expected) / (1.0 - expected)
