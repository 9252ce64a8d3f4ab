"""What every semantic parser shares: tokens of logical forms, the forms found, and exact match.

A form is told by its place in a growing table, so that predictions of several batches can be joined
and compared as numbers. A parse never depends on the other utterances of a batch.
"""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, reduce
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torchmetrics import Metric

from robustparse.data.batch import Batch, Column
from robustparse.data.utterances.stems import are_stems
from robustparse.data.vocab import Vocabulary
from robustparse.errors import InputError, check_least, located
from robustparse.grammars import (
    NEXT_FORM,
    LambdaCalculus,
    Language,
    Prolog,
    Tree,
    canonical,
    language_named,
    language_of,
    shallow,
)
from robustparse.metrics import Accuracy, PunctuationPolicy
from robustparse.models.base import Model, States
from robustparse.models.encoders.base import Encoder
from robustparse.models.encoders.bilstm import LSTMEncoder
from robustparse.models.optimization import Optimization
from robustparse.tasks.semantic import SemanticTask
from robustparse.tasks.task import MOST_LISTED
from robustparse.types import Example, LogicalForm, Predictions


class SemanticParser(Model):
    """Answers with a logical form.

    Its predictions are rows of a table of forms and of one of meanings, both ``int64 (batch,)``,
    and the forms' probabilities, ``float64 (batch,)``.

    Its gold column ``meaning``, ``(batch, forms)``, holds the row of each gold form's meaning: more
    than one of several forms, see `columns_of_all`, of which the first counts. Other columns hold
    what a form is built of; a token that was never seen in training adds no loss.

    Args:
        encoder: gives a vector a word.
        beam: hypotheses an utterance (5, Yin and Neubig 2018; 1 is greedy).
        longest: tokens of a form at most; one that is not finished by then is answered as it is.
        optimization: by default Adam at 1e-3, constant.
        seed: of initialisation and dropout.

    Raises:
        InputError: a number is out of range.
    """

    task = SemanticTask()
    unit = "texts"
    copy = False
    """Whether tokens of forms may be words of the utterance, known or not."""
    columns: ClassVar[tuple[str, ...]] = ("meaning",)
    """Names of the gold columns."""
    places: ClassVar[Mapping[str, str]] = {}
    """Gold columns that hold steps, counted from 1, and the columns that have a number for each
    step; 0 stands for none."""

    def __init__(
        self,
        encoder: Encoder,
        beam: int,
        longest: int,
        optimization: Optimization | None,
        seed: int,
    ) -> None:
        usual = Optimization(1e-3, betas=(0.9, 0.999), eps=1e-8, schedule="constant")
        super().__init__(encoder, optimization or usual, seed)
        check_least(type(self).__name__, beam=beam, longest=longest)
        self.beam, self.longest = beam, longest
        self._rows: dict[str, int] = {}
        self._meanings: dict[str, int] = {}

    @abstractmethod
    def forms(
        self, members: Sequence[Any], states: Sequence[States], batches: Sequence[Batch]
    ) -> tuple[list[str], NDArray[np.float64]]:
        """Return forms and their probabilities, ``(batch,)``; arguments are those of `decode`."""

    @abstractmethod
    def steps(self, columns: Mapping[str, Sequence[int]]) -> int:
        """Return how many of `longest` steps the form of some gold columns takes."""

    def reset_matrices(self) -> None:
        """Draw all matrices anew (Glorot and Bengio 2010, as in TranX's code).

        Those of an encoder stay unless it is an LSTM over embeddings that are all trained.
        """
        lstm = isinstance(self.encoder, LSTMEncoder) and self.encoder.vectors is None
        for name, parameter in self.named_parameters():
            if parameter.dim() > 1 and (lstm or not name.startswith("encoder.")):
                nn.init.xavier_normal_(parameter)
        with torch.no_grad():
            for module in self.modules():
                if isinstance(module, nn.Embedding) and module.padding_idx is not None:
                    module.weight[module.padding_idx] = 0.0

    def initialize(self, vocabulary: Vocabulary | None, init_from: str | None) -> None:
        """See `Model`; files are read in the language of the training data from now on."""
        super().initialize(vocabulary, init_from)
        # Where its words do not tell: the public corpora hold stems.
        stems = are_stems(self.vocabulary.words)
        shipped = type(self.language) in (LambdaCalculus, Prolog)
        self.task = SemanticTask(self.language.name, self.copy, shipped if stems is None else stems)

    @cached_property
    def language(self) -> Language:
        """Of the logical forms; the first checkpoints do not name it."""
        named = self.vocabulary.languages or (language_of(self.vocabulary.labels),)
        return language_named(named[0])

    def decode(
        self, members: Sequence[Any], states: Sequence[States], batches: Sequence[Batch]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Return the forms that several parsers build together; see the class."""
        forms, probabilities = self.forms(members, states, batches)
        rows = [self._rows.setdefault(form, len(self._rows)) for form in forms]
        return np.array(rows), self.meanings(forms), probabilities

    def meanings(self, forms: Sequence[str]) -> NDArray[np.int64]:
        """Return the row of each form's meaning, that of its canonical form; -1 if it has none."""
        found = []
        for form in forms:
            try:
                meaning = canonical(form, self.language.name)
            except InputError:
                found.append(-1)
            else:
                found.append(self._meanings.setdefault(meaning, len(self._meanings)))
        return np.array(found, dtype=np.int64)

    def name_ids(self, names: Sequence[str]) -> NDArray[np.int64]:
        """Return the rows of the meanings of gold forms."""
        return self.meanings(names)

    def answers(self, predictions: Predictions, lengths: Sequence[int]) -> list[LogicalForm]:
        """Return the logical form of each utterance."""
        found = list(self._rows)
        return [LogicalForm(found[row], self.language.name) for row in predictions[0].tolist()]

    def columns_of(self, form: LogicalForm) -> dict[str, Sequence[int]]:
        """Return what the gold columns say of a form.

        Raises:
            InputError: it is none that the parser could answer with.
        """
        return {"meaning": self.meanings([form]).tolist()}

    def columns_of_all(self, forms: LogicalForm) -> dict[str, Sequence[int]]:
        """Return the columns of a form, or of several that are answered one after the other.

        Forms are separated by `NEXT_FORM`. At its place stands what ends a form, if a parser has
        that: an answer, which ends there, is the first form only.
        """
        texts = forms.split(f" {NEXT_FORM} ")
        columns = (self.columns_of(LogicalForm(text, forms.language)) for text in texts)
        return reduce(self._followed, columns)

    def _followed(
        self, first: Mapping[str, Sequence[int]], second: Mapping[str, Sequence[int]]
    ) -> dict[str, Sequence[int]]:
        """Return columns of forms, and after them those of another one."""
        before = {name: len(first[of]) for name, of in self.places.items()}
        return {
            name: [*values, *(step and step + before.get(name, 0) for step in second[name])]
            for name, values in first.items()
        }

    def check_readable(
        self, examples: Sequence[Example], path: str | Path, punctuation: PunctuationPolicy = "none"
    ) -> None:
        """Refuse utterances and forms of a file that the parser could not learn, by its lines."""
        super().check_readable(examples, path, punctuation)
        checked: set[LogicalForm] = set()
        for example in examples:
            with located(path, example.line):
                if example.gold not in checked:
                    self.check_form(example.gold)
                    checked.add(example.gold)

    def check_form(self, form: LogicalForm) -> None:
        """Refuse a form that the parser could not answer with, though it took the right steps.

        Raises:
            InputError: the form has no such steps, or they lead to another form.
        """
        with shallow():
            tree = self.learnt(form)
            answer = self.rebuilt(tree)
            text = self.language.unparse(answer)
            if answer == tree == self.language.parse(text):
                return
        kind, what = type(self.language).__name__, type(self).__name__
        way = f"the steps of {what}" if answer != tree else f"{kind}.print and {kind}.read"
        mend = "to_ast and from_ast" if answer != tree else "print, the inverse of read,"
        raise InputError(
            f"{form!r:.80} comes back from {way} as {text!r:.80}",
            expected="the same form",
            remedy=f"mend {mend} in the language {self.language.name}, or its operators",
        )

    def learnt(self, form: LogicalForm) -> Tree:
        """Return the tree that the parser learns for a form."""
        return self.language.parse(form)

    def rebuilt(self, tree: Tree) -> Tree:
        """Return the tree to which the steps lead that the parser learns for a tree."""
        return tree

    def warnings(
        self,
        examples: Sequence[Example],
        path: str | Path,
        punctuation: PunctuationPolicy = "none",
        training: bool = False,
        gold: bool = True,
        most: int | None = MOST_LISTED,
    ) -> Iterator[str]:
        """Warn of forms that are too long to be answered, too."""
        yield from super().warnings(examples, path, punctuation, training, gold, most)
        steps = [self.steps(self.columns_of(example.gold)) for example in examples if gold]
        long = [one for one, size in zip(examples, steps, strict=False) if size > self.longest]
        if long:
            yield (
                f"{path}:{long[0].line}: a logical form of {max(steps)} steps, over the limit of "
                f"{self.longest} (model.init_args.longest): the {len(long)} utterances with such "
                "forms count as wrong"
            )

    def gold_columns(
        self, examples: Sequence[Example], punctuation: PunctuationPolicy
    ) -> dict[str, Column]:
        """Return the columns of `columns_of`.

        Raises:
            InputError: names the line of the first form that has none.
        """
        found = []
        for example in examples:
            with located(line=example.line):
                found.append(self.columns_of_all(example.gold))
        return {name: _column([one[name] for one in found]) for name in self.columns}

    def restricted_gold(
        self, gold: Sequence[Any], among: Sequence[NDArray[np.bool_]]
    ) -> dict[str, NDArray[np.int64]]:
        """Return the columns of gold forms; a form is of all words.

        Each gold answer has its form first.
        """
        found = [self.columns_of(form) for form, *_ in gold]
        every = np.arange(len(gold))
        columns = {name: _column([one[name] for one in found]) for name in self.columns}
        return {name: column.padded(every).numpy() for name, column in columns.items()}

    def metric(self) -> Metric:
        """Return an exact match without utterances."""
        return Accuracy("exact_match")

    def update(self, metric: Metric, predictions: Predictions, batch: Batch) -> None:
        """Count right forms."""
        gold = batch.gold["meaning"][:, 0].cpu().numpy()
        metric.update(torch.from_numpy(predictions[1] == gold).to(self.device))


def _column(values: Sequence[Sequence[int]]) -> Column:
    joined = [value for some in values for value in some]
    return Column.of([len(some) for some in values], np.array(joined, dtype=np.int64))
