"""Clean scores of a victim on examples."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

import numpy as np

from robustparse.attacks.victim import Victim
from robustparse.data.batch import EncodedCorpus
from robustparse.data.read_options import FileUse
from robustparse.data.sampler import EvaluationLoader
from robustparse.errors import check_least
from robustparse.evaluation.accumulator import Sums, added
from robustparse.evaluation.records import Percentages
from robustparse.metrics import PunctuationPolicy
from robustparse.models.victim import ModelVictim
from robustparse.tasks.task import Task
from robustparse.types import Example, Prediction, TextRows


class AnsweringVictim(Victim, Protocol):
    """A victim with a task and a check of its input: `ModelVictim`, or a black box."""

    @property
    def task(self) -> Task:
        """The task of its answers."""

    @property
    def pairs(self) -> bool:
        """Whether it reads the context of a text too."""

    @property
    def one_process(self) -> bool:
        """Whether only one process may ask it."""

    def check(self, examples: Sequence[Example]) -> None:
        """Reject sentences that it cannot read.

        Raises:
            InputError: names the first such sentence, counted from 1.
        """

    def warnings(self, examples: Sequence[Example], use: FileUse) -> Iterator[str]:
        """Yield warnings about the scores on a file; see `Files.warnings`."""


def scores_of(
    task: Task,
    predictions: Iterable[Prediction],
    examples: Sequence[Example],
    punctuation: PunctuationPolicy,
) -> Percentages:
    """Compute all scores of predictions (`scored`); arguments as in `sums_of`."""
    return scored(task, sums_of(task, predictions, examples, punctuation))


def sums_of(
    task: Task,
    predictions: Iterable[Prediction],
    examples: Sequence[Example],
    punctuation: PunctuationPolicy,
    by_class: bool = False,
) -> Sums:
    """Add up what is right in predictions.

    Args:
        task: the task of the victim.
        predictions: predictions for the examples, in any order; they may be computed lazily.
        examples: sentences with gold answers and distinct ids.
        punctuation: which punctuation is left out; ``unicode`` depends on these sentences' words.
        by_class: add up `Scores.correct_by_class`.

    Returns:
        The sums of `Scores.correct`, from which `scored` computes the scores.

    Raises:
        InputError: see `Scores.counted`; raised before the first prediction.
    """
    by_id = {each.id: (each, task.scores.counted(each.sentence, punctuation)) for each in examples}
    correct = task.scores.correct_by_class if by_class else task.scores.correct
    return added(correct(each.answer, *by_id[each.id]) for each in predictions)


def scored(task: Task, sums: Sums) -> Percentages:
    """Compute `Scores.names` and `Scores.further` in percent; None if nothing was counted."""
    scores = task.scores.score(sums)
    return {name: scores.get(name) for name in (*task.scores.names, *task.scores.further)}


def gold_losses(victim: AnsweringVictim, examples: Sequence[Example]) -> list[float] | None:
    """Return the losses of gold answers; None if the victim is not a single model.

    Raises:
        InputError: the model cannot give a gold answer, for example an unknown label.
    """
    model = one_model(victim)
    return None if model is None else list(map(float, model.losses(examples)))


def one_model(victim: AnsweringVictim) -> ModelVictim | None:
    """Return the victim if it is a single model, which has losses."""
    return victim if isinstance(victim, ModelVictim) and len(victim.models) == 1 else None


def predictions(
    victim: AnsweringVictim,
    examples: Sequence[Example],
    batch_words: int | None = None,
    checked: bool = True,
) -> Iterator[Prediction]:
    """Yield the answer for each example, shortest first.

    Args:
        victim: the victim; its training mode does not change.
        examples: sentences with distinct ids.
        batch_words: padded words of a forward pass; by default the victim's.
        checked: reject sentences that the victim cannot read.

    Raises:
        InputError: the victim cannot read the examples.
    """
    check_least("predictions", batch_words=batch_words)
    if checked:
        victim.check(examples)
    if batch_words is None:
        batch_words = victim.batch_words
    data = EncodedCorpus.of(examples, victim.intern, victim.intern_marks, {})
    for batch in EvaluationLoader(data, batch_words):
        columns = (batch.words, batch.marks, batch.lengths)
        texts = TextRows(*(column.numpy().astype(np.int32) for column in columns))
        # Between batches the consumer finds gradients and modes as it left them.
        with victim.evaluating():
            predicted = victim.predict(texts)
            answers = victim.answers(predicted, batch.lengths.tolist())
        for id_, answer in zip(batch.ids.tolist(), answers, strict=True):
            yield Prediction(id_, answer)
