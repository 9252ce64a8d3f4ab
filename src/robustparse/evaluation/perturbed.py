"""Perturbed copies of examples, and the scores of a model on them."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from robustparse.evaluation.clean import scores_of
from robustparse.metrics import PunctuationPolicy, percent
from robustparse.perturbations.perturbation import Perturbation, draw_rewordings
from robustparse.tasks.task import Task
from robustparse.types import Example, Prediction


def perturbed(
    task: Task, operations: Sequence[Perturbation], examples: Sequence[Example], seed: int
) -> Iterator[tuple[Example, int]]:
    """Yield the copies that one of the operations changed, each with how many words it affected.

    A copy has the id of its original, and its gold answer as far as `Task.project` carries it over;
    where it does not, there is no copy.

    Args:
        task: of the gold answers.
        operations: of which one is drawn for each example, see `draw_rewordings`.
        examples: the originals.
        seed: with an example's id, of all that is drawn.

    Raises:
        InputError: an operation of the user's gives what is no rewording.
    """
    rewordings = draw_rewordings(operations, examples, seed)
    for example, rewording in zip(examples, rewordings, strict=True):
        words = example.sentence.words
        if rewording.words != words and (copy := task.project(example, *rewording)) is not None:
            yield copy, rewording.affected(words)


def perturbed_scores(
    task: Task,
    answer: Callable[[Sequence[Example]], Iterable[Prediction]],
    examples: Sequence[Example],
    clean: Iterable[Prediction],
    operation: Perturbation,
    seed: int,
    punctuation: PunctuationPolicy = "none",
) -> dict[str, float | None]:
    """Compute the scores on examples that one operation perturbs where it can.

    Args:
        task: of the answers.
        answer: asks the model; nobody wrote what it reads, which may be over an encoder's limit.
        examples: with distinct ids.
        clean: the answers to the examples as they are.
        operation: which.
        seed: see `perturbed`.
        punctuation: which words count, of the perturbed sentences.

    Returns:
        What `scores_of` does for all examples, changed or not; and ``changed_words`` and
        ``changed_sentences``, how many of them the operation changed, in percent.
    """
    copies, affected = {}, 0
    for copy, words in perturbed(task, [operation], examples, seed):
        copies[copy.id] = copy
        affected += words
    answers = {each.id: each for each in clean}
    answers |= {each.id: each for each in answer([*copies.values()])} if copies else {}
    now = [copies.get(example.id, example) for example in examples]
    return {
        **scores_of(task, answers.values(), now, punctuation),
        "changed_words": percent(affected, sum(len(example.sentence) for example in examples)),
        "changed_sentences": percent(len(copies), len(examples)),
    }
