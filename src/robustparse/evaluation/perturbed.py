"""Perturbed copies of examples, and the scores of a victim on them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from robustparse.errors import InputError
from robustparse.evaluation.clean import AnsweringVictim, gold_losses, predictions, scores_of
from robustparse.evaluation.rows import PerturbedAnswers
from robustparse.metrics import PunctuationPolicy, percent
from robustparse.perturbations.perturbation import Perturbation, draw_rewordings
from robustparse.randomness import mixed_seed
from robustparse.tasks.task import Task
from robustparse.types import Example, Prediction


class Copy(NamedTuple):
    """A perturbed copy of an example.

    Attributes:
        example: with the id of its original, and its gold answer as far as `Task.project` carries
            it over.
        text: the words that an operation made of the original's `Task.surface`.
        affected: how many words of the original it affected.
        operation: the name of the operation.
    """

    example: Example
    text: tuple[str, ...]
    affected: int
    operation: str


def perturbed(
    task: Task,
    operations: Sequence[Perturbation],
    examples: Sequence[Example],
    seed: int,
    tries: int = 1,
) -> Iterator[Copy]:
    """Yield the copies that one of the operations changed.

    Where `Task.project` carries no gold answer over, there is no copy.

    Args:
        task: of the gold answers.
        operations: of which one is drawn for each example, see `draw_rewordings`.
        examples: the originals.
        seed: with an example's id, of all that is drawn.
        tries: how often an example is drawn for until there is a copy of it.

    Raises:
        InputError: an operation of the user's gives what is no rewording.
    """
    copies: dict[int, Copy] = {}
    left = list(examples)
    for turn in range(tries):
        surfaces = [replace(each, sentence=task.surface(each)) for each in left]
        drawn = draw_rewordings(operations, surfaces, mixed_seed(seed, turn) if turn else seed)
        for example, surface, (rewording, operation) in zip(left, surfaces, drawn, strict=True):
            words = surface.sentence.words
            copy = None if rewording.words == words else task.project(example, *rewording)
            if copy is not None:
                affected = rewording.affected(words)
                copies[example.id] = Copy(copy, rewording.words, affected, operation.name)
        left = [example for example in left if example.id not in copies]
    for example in examples:
        if example.id in copies:
            yield copies[example.id]


def idle(changed: Mapping[str, int], total: int) -> Iterator[str]:
    """Warn of operations that change less than a tenth of the sentences that they should.

    Args:
        changed: for the name of each operation how many sentences it changed.
        total: the sentences, of which each operation should change as many.
    """
    share = total / max(1, len(changed))
    for name, count in changed.items():
        if count < share / 10:
            yield (
                f"{name} changes {count} of {share:.0f} sentences, less than a tenth: either they "
                "have no gold answer afterwards, or there is little in them that it can change"
            )


Scores = dict[str, float | None]


class Perturbed(NamedTuple):
    """A victim's answers to examples under one operation.

    Attributes:
        operation: its name.
        copies: the examples that it changed.
        examples: all, the copies in place of their originals.
        predictions: the answers to them.
        affected: how many words of the originals it affected.
    """

    operation: str
    copies: list[Example]
    examples: list[Example]
    predictions: list[Prediction]
    affected: int


def perturbed_answers(
    victim: AnsweringVictim,
    examples: Sequence[Example],
    clean: Sequence[Prediction],
    operations: Sequence[Perturbation],
    seed: int,
) -> Iterator[Perturbed]:
    """Yield the answers to examples that an operation perturbs where it can, one by one.

    Args:
        victim: that gave the clean answers.
        examples: with distinct ids.
        clean: the answers to the examples as they are.
        operations: each perturbs the examples as they are.
        seed: see `perturbed`.
    """
    for operation in operations:
        copies, affected = {}, 0
        for copy in perturbed(victim.task, [operation], examples, seed):
            copies[copy.example.id] = copy.example
            affected += copy.affected
        # Nobody wrote them: one over an encoder's limit is read in windows, as under attack.
        new = predictions(victim, [*copies.values()], checked=False)
        answers = {each.id: each for each in (*clean, *new)}
        now = [copies.get(example.id, example) for example in examples]
        of_all = [answers[example.id] for example in now]
        yield Perturbed(operation.name, [*copies.values()], now, of_all, affected)


def perturbed_scores(
    task: Task,
    examples: Sequence[Example],
    answered: Sequence[Perturbed],
    punctuation: PunctuationPolicy = "none",
) -> dict[str, Scores]:
    """Compute the scores under operations.

    Args:
        task: of the victim.
        examples: as they are.
        answered: see `perturbed_answers`.
        punctuation: which words count, of the perturbed sentences.

    Returns:
        For the name of each operation what `scores_of` does for all examples, changed or not; and
        ``changed_words`` and ``changed_sentences``, how many of them it changed, in percent.
    """
    words = sum(len(task.surface(each)) for each in examples)  # those operations see
    return {
        under.operation: {
            **scores_of(task, under.predictions, under.examples, punctuation),
            "changed_words": percent(under.affected, words),
            "changed_sentences": percent(len(under.copies), len(examples)),
        }
        for under in answered
    }


def rows_of(
    victim: AnsweringVictim,
    examples: Sequence[Example],
    clean: Sequence[Prediction],
    answered: Sequence[Perturbed],
) -> Iterator[PerturbedAnswers]:
    """Yield the rows of ``perturbed.jsonl``; for arguments see `perturbed_answers`."""
    before = {each.id: each.answer for each in clean}
    losses = _losses_of_rows(victim, examples)
    for under in answered:
        copies = _losses_of_rows(victim, under.copies)
        after = {each.id: each.answer for each in under.predictions}
        for original, now in zip(examples, under.examples, strict=True):
            pair = losses.get(now.id), copies.get(now.id, losses.get(now.id))
            both = None if None in pair else (float(pair[0] or 0.0), float(pair[1] or 0.0))
            answers = before[now.id], after[now.id]
            yield PerturbedAnswers(under.operation, original, now, *answers, both)


def _losses_of_rows(victim: AnsweringVictim, examples: Sequence[Example]) -> dict[int, float]:
    """Return the loss of each gold answer; none where one is not an answer of the model."""
    try:
        losses = gold_losses(victim, examples)
    except InputError:
        return {}
    ids = [example.id for example in examples]
    return {} if losses is None else dict(zip(ids, losses, strict=True))
