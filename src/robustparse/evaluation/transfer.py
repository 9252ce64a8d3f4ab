"""Whether sentences made against one model also fool others (Wang et al. 2021, section 5.4).

For a score of the task, with correct_B the parts that a target B answers rightly, the rate of a
source's sentences is the percentage with correct_B(adversarial) < correct_B(original). It is of all
sentences, whether the attack on the source succeeded or not, as in the paper (Tables 9 and 10); the
conditioned rate is of those on which it did. With the source's own model as the target the first is
the attack's success rate, if its goal looks at the same score.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from robustparse.errors import InputError
from robustparse.evaluation.clean import AnsweringVictim, predictions
from robustparse.evaluation.finished_folders import read_adversarial, read_finished
from robustparse.evaluation.record_files import REMEDY
from robustparse.evaluation.records import EXAMPLES, SUMMARY
from robustparse.evaluation.significance import Interval, paired_bootstrap
from robustparse.files.json_text import as_written
from robustparse.tasks.registry import named
from robustparse.tasks.task import Task, scored_parts
from robustparse.types import Example, Mask, Sentence


@dataclass(frozen=True)
class Source:
    """The sentences of an attack on one model.

    Args:
        name: the folder of the attack, its name in tables.
        task: the task of its victim.
        originals: the sentences, numbered from 0.
        adversarial: the adversarial sentences, with the same numbers.
        success: ``(sentences,)``, whether the attack succeeded.
        counted: for each sentence, which units of the answer count in the scores.
    """

    name: str
    task: Task
    originals: Sequence[Example]
    adversarial: Sequence[Example]
    success: Mask
    counted: Sequence[Mask]


@dataclass(frozen=True)
class Transfer:
    """The success of one source's sentences against one target, by one score.

    Args:
        rate: the percentage of all sentences, with a 95 % bootstrap interval over sentences.
        given_success: the percentage of the source's successes; None if it has none.
    """

    rate: Interval
    given_success: float | None


def read_source(folder: Path) -> Source:
    """Read the folder of a finished attack.

    Raises:
        InputError: the attack is not finished, or a file is damaged.
    """
    summary, records = read_finished(folder)
    with as_written(folder / SUMMARY, "attack"):
        task = named(summary["task"], summary.get("language"))
    copies = read_adversarial(folder, task, records)
    originals, adversarial, counted = [], [], []
    for id_, (record, copy) in enumerate(zip(records, copies, strict=True)):
        before = tuple(record.get("read", record["tokens"]))
        after = tuple(record.get("adversarial_read", record["adversarial_tokens"]))
        if " ".join(copy.sentence.words).split() != " ".join(after).split():
            problem = f"sentence {record['id']} has other words than in {EXAMPLES}"
            raise InputError(problem, path=folder, remedy=REMEDY)
        adversarial.append(replace(copy, id=id_))
        originals.append(replace(copy, id=id_, sentence=replace(copy.sentence, words=before)))
        with as_written(folder / EXAMPLES, "attack", key=f"sentence {record['id']}"):
            counted.append(scored_parts(record, len(before)))
    success = np.array([record["success"] for record in records], dtype=np.bool_)
    return Source(str(folder), task, originals, adversarial, success, counted)


def check_same(sources: Sequence[Source]) -> None:
    """Check that all sources have the sentences of the first one.

    Raises:
        InputError: names the source and the first sentence that differs.
    """
    for source in sources[1:]:
        if difference := _difference(sources[0], source):
            problem, expected = difference
            raise InputError(problem, path=source.name, expected=expected)


def _difference(first: Source, source: Source) -> tuple[str, str] | None:
    """Return how a source differs from the first one, and what is expected, if it does."""
    if source.task.name != first.task.name:
        expected = f"{first.task.name}, as {first.name} does"
        return f"answers the task {source.task.name}", expected
    if (size := len(source.originals)) != len(first.originals):
        return f"an attack on {size} sentences", f"the {len(first.originals)} of {first.name}"
    expected = f"the sentences of {first.name}"
    for original, other in zip(first.originals, source.originals, strict=True):
        if original.sentence != other.sentence:
            words = " ".join(other.sentence.words)
            return f"sentence {original.id + 1} is {words!r:.60}", expected
        if original.gold != other.gold:
            return f"sentence {original.id + 1} has another gold answer", expected
    if not all(map(np.array_equal, first.counted, source.counted)):
        return "its scores count other words", f"the punctuation of {first.name}"
    return None


def transfer(victim: AnsweringVictim, sources: Sequence[Source]) -> list[dict[str, Transfer]]:
    """Score one target on the sentences of sources, which have the same originals.

    Returns:
        For each source, by the names of the task's scores.

    Raises:
        InputError: the target answers another task, or cannot read a sentence.
    """
    first = sources[0]
    if victim.task.name != first.task.name:
        problem = f"the target answers the task {victim.task.name}"
        raise InputError(problem, expected=f"{first.task.name}, as {first.name} does")
    known: dict[Sentence, Any] = {}  # a sentence of several sources is answered once
    before = _correct(victim, first.originals, first.counted, known, checked=True)
    rates = []
    for source in sources:
        # A text over the encoder's limit is read in windows instead of raising an error.
        changed = [
            copy
            for copy, original in zip(source.adversarial, source.originals, strict=True)
            if copy.sentence != original.sentence
        ]
        after = before.copy()
        after[[copy.id for copy in changed]] = _correct(
            victim, changed, source.counted, known, checked=False
        )
        of_source = {}
        for column, score in enumerate(victim.task.scores.names):
            fooled = after[:, column] < before[:, column]
            ones, lost = np.ones(len(fooled), dtype=np.int64), fooled.astype(np.int64)
            rate = paired_bootstrap(lambda scores: scores[0], [lost], ones, seed=0)
            successful = (
                100 * float(fooled[source.success].mean()) if source.success.any() else None
            )
            of_source[score] = Transfer(rate, successful)
        rates.append(of_source)
    return rates


def _correct(
    victim: AnsweringVictim,
    examples: Sequence[Example],
    counted: Sequence[Mask],
    answers: dict[Sentence, Any],
    checked: bool,
) -> np.ndarray:
    """Count a target's correct units, ``(examples, sums)``; ``counted`` is indexed by id.

    New answers are added to ``answers``.
    """
    task = victim.task
    new = {each.sentence: each for each in examples if each.sentence not in answers}
    sentences = {each.id: each.sentence for each in new.values()}
    for answered in predictions(victim, [*new.values()], checked=checked):
        answers[sentences[answered.id]] = answered.answer
    correct = np.zeros((len(examples), len(task.scores.sums)), dtype=np.int64)
    for row, example in enumerate(examples):
        sums = task.scores.correct(answers[example.sentence], example, counted[example.id])
        correct[row] = [sums[name] for name in task.scores.sums]
    return correct
