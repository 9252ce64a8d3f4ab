"""Clean scores of a model on examples."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from robustparse.data.sampler import EvaluationLoader, forward_words
from robustparse.files import written
from robustparse.metrics import PunctuationPolicy
from robustparse.models.base import Model
from robustparse.models.victim import ModelVictim, Precision
from robustparse.tasks.task import Task
from robustparse.types import Example, Prediction


def evaluate(
    models: Sequence[Model],
    examples: Sequence[Example],
    punctuation: PunctuationPolicy = "none",
    batch_words: int | None = None,
) -> dict[str, float | None]:
    """Compute all scores of the models' task in percent; see `predictions` and `scores_of`."""
    found = predictions(models, examples, batch_words)
    return scores_of(models[0].task, found, examples, punctuation)


def scores_of(
    task: Task,
    predictions: Iterable[Prediction],
    examples: Sequence[Example],
    punctuation: PunctuationPolicy,
) -> dict[str, float | None]:
    """Compute all scores of predictions that are there or come as they are asked for.

    Args:
        task: of the model.
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


def write_answers(
    path: Path, task: Task, examples: Sequence[Example], predictions: Iterable[Prediction]
) -> int:
    """Write examples with their predicted answers as they stand in a file; leave out those without.

    Returns:
        How many were left out.
    """
    answers = {each.id: each.answer for each in predictions}
    kept = [each for each in examples if each.id in answers]
    with written(path) as file:
        file.writelines(task.write(each, answer=answers[each.id]) for each in kept)
    return len(examples) - len(kept)


def predictions(
    models: Sequence[Model],
    examples: Sequence[Example],
    batch_words: int | None = None,
    precision: Precision = "32-true",
    checked: bool = True,
) -> Iterator[Prediction]:
    """Yield the answer for each example, shortest first; models are then left as they were found.

    Args:
        models: answer together; one is an ensemble of one.
        examples: sentences with distinct ids.
        batch_words: padded words of a forward pass; None leaves them to `forward_words`.
        precision: of the passes, see `ModelVictim`.
        checked: as in `Model.encode`.

    Raises:
        InputError: see `ModelVictim`.
    """
    first, victim = models[0], ModelVictim(models, precision)
    words = forward_words(first.device, batch_words)
    encoded = (one.encode(examples, checked=checked, gold=False) for one in models)
    loaders = (EvaluationLoader(corpus, words) for corpus in encoded)
    with victim.evaluating():
        # A batch of each model, of the same texts as it reads them.
        for batches in zip(*loaders, strict=True):
            own = [batch.to(one.device) for one, batch in zip(models, batches, strict=True)]
            states = [one(batch) for one, batch in zip(models, own, strict=True)]
            answers = first.answers(first.decode(models, states, own), own[0].lengths.tolist())
            for id_, answer in zip(own[0].ids.tolist(), answers, strict=True):
                yield Prediction(id_, answer)
