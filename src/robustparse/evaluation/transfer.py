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
from robustparse.evaluation.lines import (
    EXAMPLES,
    REMEDY,
    each_line,
    pair_of,
    read_adversarial,
    read_summary,
)
from robustparse.evaluation.significance import Interval, paired_bootstrap
from robustparse.files import as_written
from robustparse.tasks.task import Task, named
from robustparse.types import Example, Mask, Sentence


@dataclass(frozen=True)
class Source:
    """What an attack on one model made.

    Args:
        name: of the source in tables.
        task: what its victim answers.
        originals: the sentences, numbered from 0.
        adversarial: as many, with the same numbers.
        success: ``(sentences,)`` true where the attack succeeded.
        counted: for each sentence which parts of an answer enter the scores.
    """

    name: str
    task: Task
    originals: Sequence[Example]
    adversarial: Sequence[Example]
    success: Mask
    counted: Sequence[Mask]


@dataclass(frozen=True)
class Transfer:
    """How one source's sentences do against one target, by one score.

    Args:
        rate: of all sentences, in percent, with a 95 % bootstrap interval over sentences.
        given_success: of those on which the attack on the source succeeded; None if none.
    """

    rate: Interval
    given_success: float | None


def read_source(folder: Path) -> Source:
    """Read the folder of a finished attack.

    Raises:
        InputError: it is none, or a file in it is not as `attack` writes it.
    """
    summary = read_summary(folder)
    with as_written(folder, "attack"):
        task = named(summary["task"], summary.get("language"))
    lines, copies = list(each_line(folder / EXAMPLES)), read_adversarial(folder, task)
    originals, adversarial, counted = [], [], []
    for id_, (line, copy) in enumerate(zip(lines, copies, strict=True)):
        pair = pair_of(line, folder)
        if copy.sentence.words != pair.after_read:
            found = f"sentence {pair.id} has other words than in {EXAMPLES}"
            raise InputError(found, path=folder, remedy=REMEDY)
        adversarial.append(replace(copy, id=id_))
        sentence = replace(copy.sentence, words=pair.before_read)
        originals.append(replace(copy, id=id_, sentence=sentence))
        counted.append(_counted(line, folder, len(pair.before_read)))
    success = np.array([line["success"] for line in lines], dtype=np.bool_)
    return Source(str(folder), task, originals, adversarial, success, counted)


def check_same(sources: Sequence[Source]) -> None:
    """Refuse sources of other sentences than the first one's.

    Raises:
        InputError: names the source and the first sentence that differs.
    """
    first = sources[0]
    for source in sources[1:]:
        if source.task.name != first.task.name:
            found = f"answers the task {source.task.name}"
            expected = f"{first.task.name}, as {first.name} does"
            raise InputError(found, path=source.name, expected=expected)
        if len(source.originals) != len(first.originals):
            found = f"an attack on {len(source.originals)} sentences"
            expected = f"the {len(first.originals)} of {first.name}"
            raise InputError(found, path=source.name, expected=expected)
        for one, other in zip(first.originals, source.originals, strict=True):
            expected = f"the sentences of {first.name}"
            if one.sentence != other.sentence:
                found = f"sentence {one.id + 1} is {' '.join(other.sentence.words)!r:.60}"
                raise InputError(found, path=source.name, expected=expected)
            if one.gold != other.gold:
                found = f"sentence {one.id + 1} has another gold answer"
                raise InputError(found, path=source.name, expected=expected)
        same = zip(first.counted, source.counted, strict=True)
        if not all(np.array_equal(*pair) for pair in same):
            found = "its scores count other words"
            raise InputError(found, path=source.name, expected=f"the punctuation of {first.name}")


def transfer(victim: AnsweringVictim, sources: Sequence[Source]) -> list[dict[str, Transfer]]:
    """Score one target on the sentences of sources, which have the same originals.

    Returns:
        For each source, by the names of the task's scores.

    Raises:
        InputError: the target answers another task, or cannot read a sentence.
    """
    first = sources[0]
    if victim.task.name != first.task.name:
        found = f"the target answers the task {victim.task.name}"
        raise InputError(found, expected=f"{first.task.name}, as {first.name} does")
    known: dict[Sentence, Any] = {}  # a sentence of several sources is asked about once
    before = _correct(victim, first.originals, first.counted, known, checked=True)
    rates = []
    for source in sources:
        # Nobody wrote these texts: one over an encoder's limit is read in windows, as under attack.
        changed = [
            one
            for one, original in zip(source.adversarial, source.originals, strict=True)
            if one.sentence != original.sentence
        ]
        after = before.copy()
        after[[one.id for one in changed]] = _correct(
            victim, changed, source.counted, known, checked=False
        )
        fooled = {
            score: after[:, column] < before[:, column]
            for column, score in enumerate(victim.task.scores)
        }
        rates.append({score: _rates(lost, source.success) for score, lost in fooled.items()})
    return rates


def _rates(fooled: Mask, success: Mask) -> Transfer:
    ones = np.ones(len(fooled), dtype=np.int64)
    rate = paired_bootstrap(lambda scores: scores[0], [fooled.astype(np.int64)], ones, seed=0)
    conditioned = 100 * float(fooled[success].mean()) if success.any() else None
    return Transfer(rate, conditioned)


def _correct(
    victim: AnsweringVictim,
    examples: Sequence[Example],
    counted: Sequence[Mask],
    known: dict[Sentence, Any],
    checked: bool,
) -> np.ndarray:
    """Count what a target answers rightly, ``(examples, sums)``; ``counted`` goes by their ids.

    Answers to sentences that are not ``known`` are asked for and added there.
    """
    task = victim.task
    new = {each.sentence: each for each in examples if each.sentence not in known}
    sentences = {each.id: each.sentence for each in new.values()}
    for answered in predictions(victim, [*new.values()], checked=checked):
        known[sentences[answered.id]] = answered.answer
    correct = np.zeros((len(examples), len(task.sums)), dtype=np.int64)
    for row, example in enumerate(examples):
        sums = task.correct(known[example.sentence], example, counted[example.id])
        correct[row] = [sums[name] for name in task.sums]
    return correct


def _counted(line: dict[str, Any], folder: Path, words: int) -> Mask:
    with as_written(folder / EXAMPLES, "attack", key=f"sentence {line['id']}"):
        mask = np.ones(words, dtype=np.bool_)
        mask[line.get("uncounted", [])] = False
        return mask
