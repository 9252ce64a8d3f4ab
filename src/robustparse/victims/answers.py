"""Answers of one kind as the arrays that goals judge, and back; what is no answer is refused."""

import math
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from robustparse.errors import InputError
from robustparse.tasks.task import Task
from robustparse.types import DependencyTree, Floats, Ids, Label, Predictions

TOLERANCE = 0.01
"""How far the sum of probabilities may be from 1: services round them to two or three digits."""


class AnswerCode(Protocol):
    """Turns a kind of answers into arrays (`types.Predictions`) and back."""

    def name_ids(self, names: Sequence[str]) -> Ids:
        """See ``Victim.name_ids``."""

    def row(self, answer: Any, words: Sequence[str]) -> Any:
        """Encode the answer to a text.

        Raises:
            InputError: it is of another kind, or does not fit the text.
        """

    def arrays(self, rows: Sequence[Any], width: int) -> Predictions:
        """Return rows as arrays, with ``width`` columns where there is one a word."""

    def answers(self, predictions: Predictions, lengths: Sequence[int]) -> list[Any]:
        """Turn arrays back into answers."""


class TreeCode:
    """Heads and label ids, ``(n, words)``; labels get their ids as they come."""

    def __init__(self) -> None:
        self._ids: dict[str, int] = {}

    def name_ids(self, names: Sequence[str]) -> Ids:
        """Return ids; a black box does not say which labels it knows."""
        ids = self._ids
        return np.array([ids.setdefault(name, len(ids)) for name in names], np.int32)

    def row(self, answer: Any, words: Sequence[str]) -> tuple[Sequence[int], Ids]:
        """Refuse what is no tree of the words."""
        n = len(words)
        if not isinstance(answer, DependencyTree):
            raise InputError(f"got {_shown(answer)}", expected="a DependencyTree")
        heads, labels = answer.heads, answer.labels
        if len(heads) != n or len(labels) != n:
            found = f"got {len(heads)} heads and {len(labels)} labels for {n} words"
            raise InputError(found, expected="one of each a word")
        numbers = all(isinstance(head, int | np.integer) for head in heads)
        if not numbers or not all(0 <= head <= n for head in heads):
            raise InputError(f"got heads {list(heads)!r}", expected=f"numbers from 0 to {n}")
        if not all(isinstance(label, str) for label in labels):
            raise InputError(f"got labels {list(labels)!r}", expected="strings")
        return heads, self.name_ids(labels)

    def arrays(self, rows: Sequence[tuple[Sequence[int], Ids]], width: int) -> Predictions:
        """Return heads and labels; zeros stand beyond a text's length."""
        heads = np.zeros((len(rows), width), np.int16)
        labels = np.zeros((len(rows), width), np.int32)
        for line, (some, ids) in enumerate(rows):
            heads[line, : len(some)], labels[line, : len(ids)] = some, ids
        return heads, labels

    def answers(self, predictions: Predictions, lengths: Sequence[int]) -> list[DependencyTree]:
        """Return trees."""
        heads, labels = (part.tolist() for part in predictions)
        names = list(self._ids)
        return [
            DependencyTree(tuple(row[:n]), tuple(names[label] for label in ids[:n]))
            for row, ids, n in zip(heads, labels, lengths, strict=True)
        ]


class LabelCode:
    """Probabilities of labels, ``(n, labels)``, and the ids of the labels answered, ``(n,)``.

    A label without probabilities has all of it.

    Args:
        labels: all that the victim may answer.
    """

    def __init__(self, labels: Sequence[str]) -> None:
        if not labels or isinstance(labels, str) or len(set(labels)) < len(labels):
            raise InputError(f"got {labels!r}", key="labels", expected="all that it may answer")
        self.labels = list(labels)
        self._ids = {label: index for index, label in enumerate(self.labels)}

    def name_ids(self, names: Sequence[str]) -> Ids:
        """Return ids, -1 for a label that is none of the victim's."""
        return np.array([self._ids.get(name, -1) for name in names], np.int32)

    def row(self, answer: Any, words: Sequence[str]) -> tuple[Floats, int]:
        """Refuse what is neither a label nor a label and the probabilities of all."""
        label, probabilities = answer if _is_pair(answer) else (answer, None)
        if isinstance(answer, Label) and answer.probabilities:
            probabilities = [answer.probabilities.get(each, math.nan) for each in self.labels]
        if not isinstance(label, str):
            raise InputError(f"got {_shown(answer)}", expected="a label, or (label, probabilities)")
        if label not in self._ids:
            raise InputError(f"got label {label!r}", expected=", ".join(self.labels))
        number = self._ids[label]
        if probabilities is None:
            return np.eye(len(self.labels))[number], number
        row = np.asarray(probabilities)
        found = f"got probabilities {_shown(probabilities)}"
        expected = f"{len(self.labels)} numbers from 0 to 1 with the sum 1 (+- {TOLERANCE})"
        if row.shape != (len(self.labels),) or row.dtype.kind not in "fiub":
            raise InputError(found, expected=expected)
        row = row.astype(np.float64)
        if not (row >= 0).all() or not abs(row.sum() - 1) <= TOLERANCE:
            remedy = "turn scores such as logits into probabilities, by a softmax"
            raise InputError(f"{found}, sum {row.sum():.6g}", expected=expected, remedy=remedy)
        if row[number] < row.max():
            raise InputError(
                f"got label {label!r} with probabilities {_shown(probabilities)}",
                expected="the most probable label",
            )
        return row, number

    def arrays(self, rows: Sequence[tuple[Floats, int]], width: int) -> Predictions:
        """Return probabilities and labels."""
        shares = np.array([share for share, _ in rows], np.float64)
        numbers = np.array([number for _, number in rows], np.int32)
        return shares.reshape(len(rows), len(self.labels)), numbers

    def answers(self, predictions: Predictions, lengths: Sequence[int]) -> list[Label]:
        """Return the victim's labels."""
        shares, numbers = predictions
        return [
            Label(self.labels[number], dict(zip(self.labels, row, strict=True)))
            for number, row in zip(numbers.tolist(), shares.tolist(), strict=True)
        ]


def answer_code(task: Task, labels: Sequence[str] | None) -> AnswerCode:
    """Choose how the answers of a task are encoded.

    Args:
        task: of the victim.
        labels: of a classifier.

    Raises:
        InputError: labels are missing, or given where they are not wanted, or the task's answers
            come from models of the package only.
    """
    if task.name == "classification":
        return LabelCode(labels or ())
    if task.name != "dependency":
        expected = "dependency or classification"
        raise InputError(f"{task.name!r} for a black box", key="task", expected=expected)
    if labels is not None:
        raise InputError("trees have labels of any name", key="labels", remedy="leave it out")
    return TreeCode()


def _is_pair(answer: Any) -> bool:
    return isinstance(answer, tuple) and len(answer) == 2


def _shown(value: Any) -> str:
    return repr(value)[:60]
