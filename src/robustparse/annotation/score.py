"""Answers of annotators: unblinded, summed up, and how far they agree."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from robustparse.annotation.agreement import agreement, majority
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
        InputError: names file and line of an answer that is missing or unknown, of an item that is
            there twice or of another export; or a file is no CSV, or an annotator's second one.
    """
    items = read_key(key)
    answers: dict[int, dict[int, dict[str, str]]] = {}  # annotator, sentence, question
    for path in files:
        own, annotator = _read_answers(path, key, items)
        if annotator in answers:
            raise InputError(
                f"annotator {annotator} has a file already", path=path, remedy="give each once"
            )
        answers[annotator] = own
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
    """Sum up one question, from one sequence of unblinded answers an annotator."""
    given = Counter(answer for own in answers for answer in own)
    majorities = Counter(majority(some) or "none" for some in zip(*answers, strict=True))
    found = agreement(answers)
    return {
        "answers": {name: 100.0 * count / given.total() for name, count in sorted(given.items())},
        "majority": dict(sorted(majorities.items())),
        "agreement": None if found.observed is None else 100.0 * found.observed,
        "kappa": found.kappa,
        "kappa_kind": found.kind,
    }


def _read_answers(
    path: Path, key: Path, items: Mapping[str, Item]
) -> tuple[dict[int, dict[str, str]], int]:
    """Read one annotator's unblinded answers by sentence and question, and whose they are."""
    answers: dict[int, dict[str, str]] = {}
    lines: dict[str, int] = {}
    annotator = 0
    for line, row in read_rows(path):
        name = row[ITEM].strip()
        if name not in items:
            raise InputError(f"item {name!r} is not among those in {key}", path=path, line=line)
        if name in lines:
            found = f"item {name} is already in line {lines[name]}"
            raise InputError(found, path=path, line=line)
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
        given = {question: _answer(row[question], question, path, line) for question in QUESTIONS}
        answers[item.id] = {question: names.get(one, one) for question, one in given.items()}
    if not lines:
        raise InputError("holds no answers", path=path)
    if left := [n for n, item in items.items() if item.annotator == annotator and n not in lines]:
        raise InputError(f"item {left[0]} is missing ({len(left)} in all)", path=path)
    return answers, annotator


def _answer(text: str, question: str, path: Path, line: int) -> str:
    allowed = {answer.lower(): answer for answer in QUESTIONS[question]}
    answer = allowed.get(text.strip().lower())
    if answer is None:
        found = repr(text.strip()) if text.strip() else "no answer"
        expected = f"one of {', '.join(QUESTIONS[question])}"
        raise InputError(found, path=path, line=line, key=question, expected=expected)
    return answer
