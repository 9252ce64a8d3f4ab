"""Clean scores of a model on examples."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from robustparse.data.sampler import EvaluationLoader, forward_words
from robustparse.metrics import PunctuationPolicy
from robustparse.models.base import Model
from robustparse.models.victim import ModelVictim, Precision
from robustparse.tasks.task import Task
from robustparse.types import Example, Prediction


def evaluate(
    model: Model,
    examples: Sequence[Example],
    punctuation: PunctuationPolicy = "none",
    batch_words: int | None = None,
) -> dict[str, float | None]:
    """Compute all scores of the model's task in percent.

    Args:
        model: left as it was found.
        examples: sentences with gold answers.
        punctuation: which words count; ``unicode`` looks at the forms of these sentences.
        batch_words: padded words of a forward pass; None leaves them to `forward_words`.
    """
    found = predictions(model, examples, batch_words)
    return scores_of(model.task, found, examples, punctuation)


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
        punctuation: which words count.

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


def predictions(
    model: Model,
    examples: Sequence[Example],
    batch_words: int | None = None,
    precision: Precision = "32-true",
) -> Iterator[Prediction]:
    """Yield the answer for each example, shortest first; the model is then left as it was found.

    Args:
        model: the model.
        examples: sentences with distinct ids.
        batch_words: padded words of a forward pass; None leaves them to `forward_words`.
        precision: of the passes, see `ModelVictim`.

    Raises:
        InputError: there is no such precision.
    """
    words = forward_words(model.device, batch_words)
    with ModelVictim(model, precision).evaluating():
        for batch in EvaluationLoader(model.number(examples), words):
            yield from model.decode(batch.to(model.device))
