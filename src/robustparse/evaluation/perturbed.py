"""Perturbed copies of examples, and the scores of a victim on them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from robustparse.errors import InputError
from robustparse.evaluation.accumulator import Sums
from robustparse.evaluation.clean import (
    AnsweringVictim,
    gold_losses,
    predictions,
    scored,
    sums_of,
)
from robustparse.evaluation.records import Percentages
from robustparse.evaluation.rows import PerturbedAnswers
from robustparse.metrics import PunctuationPolicy, percent
from robustparse.perturbations.perturbation import Perturbation, draw_rewordings
from robustparse.randomness import mixed_seed
from robustparse.tasks.task import Task
from robustparse.types import Example, Prediction


class Copy(NamedTuple):
    """A perturbed copy of an example.

    Attributes:
        example: the copy, with its original's id and the gold answer that `Files.project` returns.
        text: the reworded surface text (`Files.surface`).
        affected: how many words of the original are affected.
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
    """Yield changed copies of examples whose gold answer `Files.project` can carry over.

    Args:
        task: the task of the gold answers.
        operations: one of them is drawn for each example, see `draw_rewordings`.
        examples: the originals.
        seed: all random choices follow from it and an example's id.
        tries: how often operations are drawn for an example until there is a copy.

    Raises:
        InputError: a custom operation returned an invalid rewording.
    """
    copies: dict[int, Copy] = {}
    remaining = list(examples)
    for turn in range(tries):
        surfaces = [replace(each, sentence=task.files.surface(each)) for each in remaining]
        drawn = draw_rewordings(operations, surfaces, mixed_seed(seed, turn) if turn else seed)
        for example, surface, (rewording, operation) in zip(
            remaining, surfaces, drawn, strict=True
        ):
            words = surface.sentence.words
            copy = None if rewording.words == words else task.files.project(example, *rewording)
            if copy is not None:
                affected = rewording.affected(words)
                copies[example.id] = Copy(copy, rewording.words, affected, operation.name)
        remaining = [example for example in remaining if example.id not in copies]
    for example in examples:
        if example.id in copies:
            yield copies[example.id]


def idle(changed: Mapping[str, int], total: int) -> Iterator[str]:
    """Yield warnings about operations that change less than a tenth of their sentences.

    Args:
        changed: how many sentences each operation changed, by its name.
        total: the number of sentences, which the operations share equally.
    """
    share = total / max(1, len(changed))
    for name, count in changed.items():
        if share >= 1 and count < share / 10:
            yield (
                f"{name} changes {count} of {share:.0f} sentences, less than a tenth: either their "
                "gold answers do not survive, or it applies to few words"
            )


class Perturbed(NamedTuple):
    """A victim's answers to examples under one operation.

    Attributes:
        operation: the name of the operation.
        copies: the changed examples.
        examples: all examples, with copies instead of their originals.
        predictions: the answers to these examples.
        affected: how many words of the originals are affected.
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
    """Yield the answers under each operation.

    Args:
        victim: the victim, which gave the clean answers.
        examples: examples with distinct ids.
        clean: the answers to the unchanged examples.
        operations: each of them perturbs the unchanged examples.
        seed: see `perturbed`.
    """
    for operation in operations:
        copies, affected = {}, 0
        for copy in perturbed(victim.task, [operation], examples, seed):
            copies[copy.example.id] = copy.example
            affected += copy.affected
        # A copy over the encoder's limit is read in windows instead of raising an error.
        new = predictions(victim, [*copies.values()], checked=False)
        answers = {each.id: each for each in (*clean, *new)}
        now = [copies.get(example.id, example) for example in examples]
        of_all = [answers[example.id] for example in now]
        yield Perturbed(operation.name, [*copies.values()], now, of_all, affected)


def perturbed_sums(
    task: Task,
    examples: Sequence[Example],
    answered: Sequence[Perturbed],
    punctuation: PunctuationPolicy = "none",
) -> Sums:
    """Add up what is right under each operation, and what the operation changes.

    Args:
        task: the task of the victim.
        examples: the unchanged examples.
        answered: see `perturbed_answers`.
        punctuation: which punctuation of the perturbed sentences is left out.
    """
    words = sum(len(task.files.surface(each)) for each in examples)
    return {
        under.operation: {
            "right": sums_of(task, under.predictions, under.examples, punctuation),
            "changed_words": under.affected,
            "words": words,
            "changed_sentences": len(under.copies),
            "sentences": len(examples),
        }
        for under in answered
    }


def perturbed_scores(task: Task, sums: Sums) -> dict[str, Percentages]:
    """Compute the scores under operations from `perturbed_sums`.

    Returns:
        For each operation the scores on all examples, changed or not; and the percentages
        ``changed_words`` and ``changed_sentences``.
    """
    return {
        operation: {
            **scored(task, each["right"]),
            "changed_words": percent(each["changed_words"], each["words"]),
            "changed_sentences": percent(each["changed_sentences"], each["sentences"]),
        }
        for operation, each in sums.items()
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
    """Return the loss of each gold answer; none if the model cannot give one of them."""
    try:
        losses = gold_losses(victim, examples)
    except InputError:
        return {}
    ids = [example.id for example in examples]
    return {} if losses is None else dict(zip(ids, losses, strict=True))
