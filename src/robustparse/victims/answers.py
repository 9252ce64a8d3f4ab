"""Check answers of victims, and convert them to the arrays that goals judge, and back."""

import logging
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from robustparse.data.tags.schemes import scheme_of, to_bio
from robustparse.errors import InputError
from robustparse.grammars import canonical, language_named, language_of
from robustparse.tasks.task import Task
from robustparse.types import (
    DependencyTree,
    Floats,
    Ids,
    Label,
    LogicalForm,
    Predictions,
    TagSequence,
)
from robustparse.victims.form_answers import form_in, separated

UNREADABLE = "(unreadable)"
"""The label of an answer that names none of the labels; it is always wrong."""

TOLERANCE = 0.01
"""How far the sum of probabilities may be from 1: services round them to two or three digits."""


_UNREAD = 8
"""If none of a victim's first forms, of this number, can be read, it writes them in another way."""

log = logging.getLogger(__name__)


def has_probabilities(answer: Any) -> bool:
    """Tell whether the answer of a classifier or semantic parser comes with probabilities between
    0 and 1.
    """
    if isinstance(answer, Label):
        shares = [*answer.probabilities.values()]
    else:
        shares = np.ravel(answer[1]).tolist() if _is_pair(answer) else []
    return any(0 < share < 1 for share in shares)


class TreeCode:
    """Heads and label ids, ``(n, words)``; labels are numbered in order of appearance."""

    def __init__(self) -> None:
        self._ids: dict[str, int] = {}

    def name_ids(self, names: Sequence[str]) -> Ids:
        """Return ids; unknown labels get new ids, since a black box may answer any label."""
        ids = self._ids
        return np.array([ids.setdefault(name, len(ids)) for name in names], np.int32)

    def row(self, answer: Any, words: Sequence[str]) -> tuple[Sequence[int], Ids]:
        """Check that the answer is a tree over the words."""
        n = len(words)
        if not isinstance(answer, DependencyTree):
            raise InputError(f"got {_shown(answer)}", expected="a DependencyTree")
        heads, labels = answer.heads, answer.labels
        if len(heads) != n or len(labels) != n:
            problem = f"got {len(heads)} heads and {len(labels)} labels for {n} words"
            raise InputError(problem, expected="one head and one label per word")
        # Booleans are integers in Python.
        numbers = all(
            isinstance(head, int | np.integer) and not isinstance(head, bool) for head in heads
        )
        if not numbers or not all(0 <= head <= n for head in heads):
            raise InputError(f"got heads {list(heads)!r}", expected=f"numbers from 0 to {n}")
        if isinstance(labels, str) or not all(isinstance(label, str) for label in labels):
            raise InputError(f"got labels {_shown(labels)}", expected="a list of strings")
        return heads, self.name_ids([*map(str, labels)])  # without types of NumPy

    def arrays(self, rows: Sequence[tuple[Sequence[int], Ids]], width: int) -> Predictions:
        """Return heads and labels, padded with zeros."""
        heads = np.zeros((len(rows), width), np.int16)
        labels = np.zeros((len(rows), width), np.int32)
        for row, (row_heads, ids) in enumerate(rows):
            heads[row, : len(row_heads)], labels[row, : len(ids)] = row_heads, ids
        return heads, labels

    def answers(self, predictions: Predictions, lengths: Sequence[int]) -> list[DependencyTree]:
        """Return trees."""
        heads, labels = (array.tolist() for array in predictions)
        names = list(self._ids)
        return [
            DependencyTree(tuple(row[:n]), tuple(names[label] for label in ids[:n]))
            for row, ids, n in zip(heads, labels, lengths, strict=True)
        ]


class TagCode:
    """Tag ids, ``(n, words)``; tags are numbered in order of appearance."""

    def __init__(self) -> None:
        self._ids: dict[str, int] = {}

    def name_ids(self, names: Sequence[str]) -> Ids:
        """Return ids; unknown tags get new ids, since a black box may answer any tag.

        A name that begins with a blank is the label of a text, which no black box answers: -1.
        """
        ids = self._ids
        numbers = (-1 if name.startswith(" ") else ids.setdefault(name, len(ids)) for name in names)
        return np.array([*numbers], np.int32)

    def row(self, answer: Any, words: Sequence[str]) -> Ids:
        """Check that the answer is a list of tags, or a `TagSequence`, for the words.

        Tags of spans in BILOU (BIOES) become BIO.
        """
        tags = answer.tags if isinstance(answer, TagSequence) else answer
        if not isinstance(tags, list | tuple) or not all(isinstance(t, str) and t for t in tags):
            raise InputError(f"got {_shown(answer)}", expected="a list of tags")
        if len(tags) != len(words):
            problem = f"got {len(tags)} tags for {len(words)} words"
            raise InputError(problem, expected="one tag per word")
        if scheme_of([tags]) == "bilou":
            tags = to_bio(tags, "bilou", repair=True)
        return self.name_ids([*map(str, tags)])

    def arrays(self, rows: Sequence[Ids], width: int) -> Predictions:
        """Return the ids, padded with zeros."""
        tags = np.zeros((len(rows), width), np.int32)
        for row, ids in enumerate(rows):
            tags[row, : len(ids)] = ids
        return (tags,)

    def answers(self, predictions: Predictions, lengths: Sequence[int]) -> list[TagSequence]:
        """Return tag sequences."""
        names, rows = list(self._ids), zip(predictions[0].tolist(), lengths, strict=True)
        return [TagSequence(tuple(names[tag] for tag in ids[:n])) for ids, n in rows]


class LabelCode:
    """Probabilities of labels, ``(n, labels)``, and the ids of the answered labels, ``(n,)``.

    A label without probabilities gets the probability 1.

    Args:
        labels: all labels that the victim may answer.
        unreadable: whether it may also answer `UNREADABLE`, which gets the last column.
    """

    def __init__(self, labels: Sequence[str], unreadable: bool = False) -> None:
        # Sets and dictionaries have no order, or another one than the probabilities.
        listed = isinstance(labels, Sequence | np.ndarray) and not isinstance(labels, str)
        texts = listed and all(isinstance(label, str) for label in labels)
        if not texts or not 0 < len(set(labels)) == len(labels):
            expected = "a list of different strings, in the order of the probabilities"
            raise InputError(f"got {_shown(labels)}", key="labels", expected=expected)
        self.labels = [*map(str, labels)]
        self._names = [*self.labels, UNREADABLE] if unreadable else self.labels
        self._ids = {label: index for index, label in enumerate(self._names)}

    def name_ids(self, names: Sequence[str]) -> Ids:
        """Return ids, and -1 for a label that the victim does not know."""
        return np.array([self._ids.get(name, -1) for name in names], np.int32)

    def row(self, answer: Any, words: Sequence[str]) -> tuple[Floats, int]:
        """Check that the answer is a label, or a label and the probabilities of all labels."""
        label, probabilities = answer if _is_pair(answer) else (answer, None)
        if isinstance(answer, Label) and answer.probabilities:
            probabilities = [answer.probabilities.get(each, math.nan) for each in self.labels]
        if isinstance(label, int | np.integer):
            expected = f"a label as a string: {', '.join(map(repr, self.labels))}"
            raise InputError(f"got the number {label}", expected=expected)
        if not isinstance(label, str):
            raise InputError(f"got {_shown(answer)}", expected="a label, or (label, probabilities)")
        if label not in self._ids:
            raise InputError(f"got label {label!r}", expected=", ".join(self.labels))
        number = self._ids[label]
        if probabilities is None:
            return np.eye(len(self._names))[number], number
        row = np.asarray(probabilities)
        problem = f"got probabilities {_shown(probabilities)}"
        expected = f"{len(self.labels)} numbers from 0 to 1 that sum to 1 (+- {TOLERANCE})"
        if row.shape != (len(self.labels),) or row.dtype.kind not in "fiub":
            raise InputError(problem, expected=expected)
        row = row.astype(np.float64)
        if not (row >= 0).all() or not abs(row.sum() - 1) <= TOLERANCE:
            remedy = "turn scores such as logits into probabilities, by a softmax"
            raise InputError(f"{problem}, sum {row.sum():.6g}", expected=expected, remedy=remedy)
        if row[number] < row.max():
            raise InputError(
                f"got label {label!r} with probabilities {_shown(probabilities)}",
                expected="the most probable label",
            )
        return np.pad(row, (0, len(self._names) - len(row))), number

    def arrays(self, rows: Sequence[tuple[Floats, int]], width: int) -> Predictions:
        """Return probabilities and labels."""
        shares = np.array([share for share, _ in rows], np.float64)
        numbers = np.array([number for _, number in rows], np.int32)
        return shares.reshape(len(rows), len(self._names)), numbers

    def answers(self, predictions: Predictions, lengths: Sequence[int]) -> list[Label]:
        """Return the victim's labels."""
        shares, numbers = predictions
        readable = len(self.labels)  # an unreadable answer has no probabilities
        return [
            Label(
                self._names[number],
                dict(zip(self.labels, row, strict=False)) if number < readable else {},
            )
            for number, row in zip(numbers.tolist(), shares.tolist(), strict=True)
        ]


class FormCode:
    """Rows of a table of forms, rows of a table of meanings, and probabilities, each ``(n,)``.

    The meaning of a form is its canonical form. A form without a probability gets 1.

    Args:
        language: the language of forms that do not name theirs; None finds it by their tokens.
    """

    def __init__(self, language: str | None) -> None:
        if language is not None:
            language_named(language)  # raise an error if there is no such language
        self.language = language
        self._forms: dict[LogicalForm, int] = {}
        self._meanings: dict[str, int] = {}
        self._unread = 0  # forms that could not be read, until one could
        self._any_read = False

    def name_ids(self, names: Sequence[str]) -> Ids:
        """Return the rows of the meanings of gold forms; -1 for an unreadable form."""
        return np.array(
            [self._meaning(self._form(name), unreadable=-1) for name in names], np.int32
        )

    def row(self, answer: Any, words: Sequence[str]) -> tuple[int, int, float]:
        """Check that the answer is a form, or a form and its probability.

        A form that cannot be read is allowed: it matches no form.
        """
        text, probability = answer if _is_pair(answer) else (answer, 1.0)
        if not isinstance(text, str):
            raise InputError(f"got {_shown(answer)}", expected="a form, or (form, probability)")
        if isinstance(probability, bool) or not isinstance(probability, int | float | np.floating):
            raise InputError(f"got probability {_shown(probability)}", expected="a number")
        if not 0 <= probability <= 1:
            raise InputError(f"got probability {probability}", expected="a number from 0 to 1")
        form = self._form(text)
        row = self._forms.setdefault(form, len(self._forms))
        meaning = self._meaning(form, unreadable=-2)
        self._any_read |= meaning != -2
        if not self._any_read:
            self._warn_of_unread(form)
        return row, meaning, float(probability)

    def _warn_of_unread(self, form: LogicalForm) -> None:
        """Warn once if none of the first forms can be read, as if they lack blanks."""
        self._unread += 1
        if self._unread == _UNREAD:
            log.warning(
                "robustparse: none of the victim's first %s forms can be read in the language %s, "
                "such as %.60r; they count as wrong: write forms with blanks between their tokens, "
                "and name their language",
                _UNREAD,
                form.language,
                str(form),
            )

    def arrays(self, rows: Sequence[tuple[int, int, float]], width: int) -> Predictions:
        """Return rows of forms, rows of meanings, and probabilities."""
        forms, meanings, probabilities = zip(*rows, strict=True) if rows else ((), (), ())
        return (
            np.array(forms, np.int64),
            np.array(meanings, np.int64),
            np.array(probabilities, np.float64),
        )

    def answers(self, predictions: Predictions, lengths: Sequence[int]) -> list[LogicalForm]:
        """Return forms."""
        forms = list(self._forms)
        return [forms[row] for row in predictions[0].tolist()]

    def _form(self, text: str) -> LogicalForm:
        """Return the form in one line, with its language; see `form_in`."""
        known = text.language if isinstance(text, LogicalForm) else self.language
        language = known or language_of(separated(text).split())
        return LogicalForm(form_in(text, language) or " ".join(text.split()), language)

    def _meaning(self, form: LogicalForm, unreadable: int) -> int:
        try:
            meaning = canonical(form, form.language)
        except InputError:
            return unreadable
        return self._meanings.setdefault(meaning, len(self._meanings))


AnswerCode = TreeCode | TagCode | LabelCode | FormCode
"""Converts answers of one task to arrays (`types.Predictions`) and back.

``row`` encodes the answer to a text; an `InputError` says that it has the wrong type, or does not
fit the text. ``arrays`` returns rows as arrays, with ``width`` columns if an answer has one value
per word; ``answers`` turns them back. For ``name_ids`` see `Victim`.
"""


def answer_code(task: Task, labels: Sequence[str] | None, unreadable: bool = False) -> AnswerCode:
    """Choose how the answers of a task are encoded.

    Args:
        task: the task of the victim.
        labels: the labels of a classifier.
        unreadable: whether a classifier may answer `UNREADABLE`.

    Raises:
        InputError: a classifier has no labels, another task has some, or black boxes do not support
            the task.
    """
    if task.name == "classification":
        return LabelCode(() if labels is None else labels, unreadable)
    if labels is not None:
        raise InputError("applies to classifiers only", key="labels", remedy="leave it out")
    if task.name == "semantic":
        return FormCode(task.answers.language)
    if task.name == "tags":
        return TagCode()
    if task.name != "dependency":
        expected = "dependency, classification, semantic or tags"
        raise InputError(f"got {task.name!r} for a black box", key="task", expected=expected)
    return TreeCode()


def _is_pair(answer: Any) -> bool:
    return isinstance(answer, tuple) and len(answer) == 2


def _shown(value: Any) -> str:
    return repr(value)[:60]
