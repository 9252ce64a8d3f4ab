"""Unblind the answers of annotators, count them, and measure agreement."""

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
