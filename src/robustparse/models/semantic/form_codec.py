"""Logical forms as numbers: rows of a growing table, equal in all batches."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torchmetrics import Metric

from robustparse.data.batch import Batch, Column
from robustparse.errors import InputError, located
from robustparse.grammars import NEXT_FORM, Language, Tree, canonical
from robustparse.metrics import ExactMatch, PunctuationPolicy
from robustparse.models.codec import Codec
from robustparse.types import Example, LogicalForm, Predictions


class FormCodec(Codec):
    """Logical forms as rows of tables, and as the steps that build them.

    Predictions are rows of a table of forms and of a table of meanings, both ``int64 (batch,)``,
    and the probabilities of the forms, ``float64 (batch,)``.

    The gold column ``meaning``, ``(batch, forms)``, holds the meanings of the gold forms; of joined
    forms, see `columns_of_all`, only the first counts. Further columns hold the steps that build a
    form; tokens that are not in the training data add no loss.

    Args:
        language: the language of the forms.

    Attributes:
        columns: the names of the gold columns.
        places: maps gold columns that point to steps (from 1; 0 for none) to the column of these
            steps.
    """

    columns: ClassVar[tuple[str, ...]] = ("meaning",)
    places: ClassVar[Mapping[str, str]] = {}

    def __init__(self, language: Language) -> None:
        self.language = language
        self._rows: dict[str, int] = {}
        self._meanings: dict[str, int] = {}

    @abstractmethod
    def steps(self, columns: Mapping[str, Sequence[int]]) -> int:
        """Return the number of steps that ``longest`` limits."""

    def rows(self, forms: Sequence[str]) -> NDArray[np.int64]:
        """Return the row of each form; add new forms to the table."""
        return np.array([self._rows.setdefault(form, len(self._rows)) for form in forms])

    def meanings(self, forms: Sequence[str]) -> NDArray[np.int64]:
        """Return the row of each form's meaning, its canonical form; -1 if it cannot be read."""
        rows = []
        for form in forms:
            try:
                meaning = canonical(form, self.language.name)
            except InputError:
                rows.append(-1)
            else:
                rows.append(self._meanings.setdefault(meaning, len(self._meanings)))
        return np.array(rows, dtype=np.int64)

    def name_ids(self, names: Sequence[str]) -> NDArray[np.int64]:
        """Return the rows of the meanings of gold forms."""
        return self.meanings(names)

    def decode_rows(self, predictions: Predictions, lengths: Sequence[int]) -> list[LogicalForm]:
        """Return the logical form of each utterance."""
        forms = list(self._rows)
        return [LogicalForm(forms[row], self.language.name) for row in predictions[0].tolist()]

    def columns_of(self, form: LogicalForm) -> dict[str, Sequence[int]]:
        """Return the gold columns of a form.

        Raises:
            InputError: the parser cannot build this form.
        """
        return {"meaning": self.meanings([form]).tolist()}

    def columns_of_all(self, forms: LogicalForm) -> dict[str, Sequence[int]]:
        """Return the columns of a form, or of several forms that `NEXT_FORM` separates.

        The parser learns several forms one after the other, each with its end. Decoding stops at
        the first end, and so after the first form.
        """
        texts = forms.split(f" {NEXT_FORM} ")
        columns = (self.columns_of(LogicalForm(text, forms.language)) for text in texts)
        return reduce(self._followed, columns)

    def _followed(
        self, first: Mapping[str, Sequence[int]], second: Mapping[str, Sequence[int]]
    ) -> dict[str, Sequence[int]]:
        """Return the columns of forms followed by those of another form."""
        offsets = {name: len(first[steps]) for name, steps in self.places.items()}
        return {
            name: [*values, *(step and step + offsets.get(name, 0) for step in second[name])]
            for name, values in first.items()
        }

    def learnt(self, form: LogicalForm) -> Tree:
        """Return the tree that the parser learns for a form."""
        return self.language.parse(form)

    def rebuilt(self, tree: Tree) -> Tree:
        """Return the tree that the steps of a tree build."""
        return tree

    def encode(
        self, examples: Sequence[Example], punctuation: PunctuationPolicy
    ) -> dict[str, Column]:
        """Return the columns of `columns_of`.

        Raises:
            InputError: names the line of the first form that the parser cannot build.
        """
        rows = []
        for example in examples:
            with located(line=example.line):
                rows.append(self.columns_of_all(example.gold))
        return {name: _column([row[name] for row in rows]) for name in self.columns}

    def restrict(
        self, gold: Sequence[Any], among: Sequence[NDArray[np.bool_]]
    ) -> dict[str, NDArray[np.int64]]:
        """See `Codec`; the columns of the first item of each gold answer, its form.

        A form belongs to all words: ``among`` changes nothing.
        """
        rows = [self.columns_of(form) for form, *_ in gold]
        every = np.arange(len(gold))
        columns = {name: _column([row[name] for row in rows]) for name in self.columns}
        return {name: column.padded(every).numpy() for name, column in columns.items()}

    def metric(self) -> Metric:
        """See `Codec`: exact match."""
        return ExactMatch()

    def update(self, metric: Metric, predictions: Predictions, batch: Batch) -> None:
        """See `Codec`."""
        gold = batch.gold["meaning"][:, 0]
        metric.update(torch.from_numpy(predictions[1]).to(gold.device), gold)


def _column(values: Sequence[Sequence[int]]) -> Column:
    joined = [value for row in values for value in row]
    return Column.of([len(row) for row in values], np.array(joined, dtype=np.int64))
