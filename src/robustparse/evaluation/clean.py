"""Clean scores of a victim on examples."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np

from robustparse.attacks.victim import Victim
from robustparse.data.batch import EncodedCorpus
from robustparse.data.sampler import EvaluationLoader
from robustparse.errors import check_least
from robustparse.files import written
from robustparse.metrics import PunctuationPolicy
from robustparse.models.victim import ModelVictim
from robustparse.tasks.task import MOST_LISTED, Task
from robustparse.types import Example, Prediction


class AnsweringVictim(Victim, Protocol):
    """A victim that says what it answers and what it can read: `ModelVictim`, or a black box."""

    @property
    def task(self) -> Task:
        """The kind of its answers."""

    def check(self, examples: Sequence[Example]) -> None:
        """Refuse sentences that it cannot read.

        Raises:
            InputError: names the first such sentence, counted from 1.
        """

    def warnings(
        self,
        examples: Sequence[Example],
        path: str | Path,
        punctuation: PunctuationPolicy = "none",
        most: int | None = MOST_LISTED,
    ) -> Iterator[str]:
        """Yield what scores on a file suffer from; see `Task.warnings`."""


def scores_of(
    task: Task,
    predictions: Iterable[Prediction],
    examples: Sequence[Example],
    punctuation: PunctuationPolicy,
) -> dict[str, float | None]:
    """Compute all scores of predictions that are there or come as they are asked for.

    Args:
        task: of the victim.
        predictions: for the examples, in any order.
        examples: sentences with gold answers and distinct ids.
        punctuation: which words count; ``unicode`` looks at the forms of these sentences.

    Returns:
        `Task.scores` and `Task.further_scores` in percent; None where nothing was counted.

    Raises:
        InputError: see `Task.counted`; raised before any prediction is asked for.
    """
    by_id = {each.id: (each, task.counted(each.sentence, punctuation)) for each in examples}
    sums: Counter[str] = Counter()
    for prediction in predictions:
        sums.update(task.correct(prediction.answer, *by_id[prediction.id]))
    scores = task.score(sums)
    return {name: scores.get(name) for name in (*task.scores, *task.further_scores)}


def gold_losses(victim: AnsweringVictim, examples: Sequence[Example]) -> list[float] | None:
    """Return the losses of gold answers; None where the victim is not one model.

    Raises:
        InputError: a gold answer is none that the model could have learnt.
    """
    model = one_model(victim)
    return None if model is None else list(map(float, model.losses(examples)))


def one_model(victim: AnsweringVictim) -> ModelVictim | None:
    """Return the victim if it is one model, which has losses."""
    return victim if isinstance(victim, ModelVictim) and len(victim.models) == 1 else None


def write_answers(
    path: Path, task: Task, examples: Sequence[Example], predictions: Iterable[Prediction]
) -> None:
    """Write examples with their predicted answers in the format of a file."""
    answers = {each.id: each.answer for each in predictions}
    with written(path) as file:
        file.writelines(task.file((each, None, answers[each.id]) for each in examples))


def predictions(
    victim: AnsweringVictim,
    examples: Sequence[Example],
    batch_words: int | None = None,
    checked: bool = True,
) -> Iterator[Prediction]:
    """Yield the answer for each example, shortest first; the victim is left as it was found.

    Args:
        victim: answers.
        examples: sentences with distinct ids.
        batch_words: padded words of a forward pass; None leaves them to the victim.
        checked: refuse sentences that the victim cannot read.

    Raises:
        InputError: the victim cannot read the examples.
    """
    check_least("predictions", batch_words=batch_words)
    if checked:
        victim.check(examples)
    if batch_words is None:
        batch_words = victim.batch_words
    data = EncodedCorpus.of(examples, victim.intern, victim.intern_marks, {})
    with victim.evaluating():
        for batch in EvaluationLoader(data, batch_words):
            parts = (batch.words, batch.marks, batch.lengths)
            found = victim.predict(*(part.numpy().astype(np.int32) for part in parts))
            answers = victim.answers(found, batch.lengths.tolist())
            for id_, answer in zip(batch.ids.tolist(), answers, strict=True):
                yield Prediction(id_, answer)
