"""One line a sentence, the sums over lines from which every reported score comes, their record."""

import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np

from robustparse.attacks.attack import Attack
from robustparse.attacks.results import AttackResult
from robustparse.attacks.victim import Victim
from robustparse.metrics import percent
from robustparse.tasks.task import Task
from robustparse.types import Example, Sentence

Line = Mapping[str, Any]

WHEN = ("clean", "attacked")


def result_line(task: Task, result: AttackResult) -> dict[str, Any]:
    """Return a finished sentence as ``examples.jsonl`` holds it.

    ``clean`` and ``attacked`` are answers with their sums and scores against gold; ``counted`` is
    the number of parts of an answer that enter the scores; ``targeted`` says whether the goal finds
    anything to attack in the sentence, a pair of phrases for one, ``skipped`` whether the sentence
    reaches it as it is; ``candidates`` says how many were made and passed each constraint,
    ``unseen`` how many changed words the victim does not know; ``edited_tags`` are the tags
    (`Sentence.tagged`) of changed words on the original sentence, none where the corpus has none;
    ``uncounted`` are the positions of words that do not enter the scores, if there are any;
    ``read`` and ``adversarial_read`` are what the victim reads, if that is not ``tokens`` and
    ``adversarial_tokens``.
    """
    example, tags = result.example, result.text.tagged()
    counted = np.array(result.counted, dtype=np.bool_)
    clean, attacked = (
        task.correct(answer, example, counted) for answer in (result.clean, result.attacked)
    )

    def scored(answer: Any, found: Mapping[str, int]) -> dict[str, Any]:
        sums = {name: found[name] for name in task.sums}
        scores = task.score({"counted": found["counted"], **sums})
        return {
            **task.to_record(answer),
            **sums,
            **{name: _rounded(value) for name, value in scores.items()},
        }

    return {
        "id": result.id,
        **({"context": list(context)} if (context := example.sentence.context) else {}),
        "tokens": list(result.text.words),
        "adversarial_tokens": list(result.words),
        **_read(example.sentence, result.text, result.read),
        "edited": list(result.edited),
        "gold": task.to_record(example.gold),
        "clean": scored(result.clean, clean),
        "attacked": scored(result.attacked, attacked),
        "counted": clean["counted"],
        **({} if counted.all() else {"uncounted": np.flatnonzero(~counted).tolist()}),
        "targeted": result.targeted,
        "skipped": result.skipped,
        "success": result.success,
        "queries": {"charged": result.charged, "unique": result.unique},
        "edited_tags": [tags[position] for position in result.edited] if tags else [],
        "candidates": result.candidates,
        "unseen": result.unseen,
    }


def check_line(task: Task, line: Line, example: Example) -> None:
    """Refuse a line that `result_line` has not made of this sentence.

    Raises:
        Exception: what is missing or wrong in it; see `files.as_written`.
    """
    reading, new = task.reading(example), line["adversarial_tokens"]
    words, tags = reading.sentence.words, reading.sentence.tagged()
    if not isinstance(new, list) or not all(isinstance(word, str) and word for word in new):
        raise ValueError("adversarial_tokens are no words")
    pairs = enumerate(zip(words, new, strict=True))
    edited = [position for position, (old, word) in pairs if old != word]
    expected = {
        "tokens": list(words),
        "edited": edited,
        "gold": task.to_record(example.gold),
        "edited_tags": [tags[position] for position in edited] if tags else [],
        **_read(example.sentence, reading.sentence, reading.of(new)),
    }
    if context := example.sentence.context:
        expected["context"] = list(context)
    for key, value in expected.items():
        if line.get(key) != value:
            raise ValueError(f"{key} of another sentence or another edit")
    task.changes(line)  # which reads the answers
    for when in WHEN:
        sums = {name: line[when][name] for name in task.sums}
        scores = task.score({"counted": line["counted"], **sums})
        if not all(0 <= operator.index(found) <= line["counted"] for found in sums.values()):
            raise ValueError(f"{when}: more is correct than counted")
        if any(line[when][n] != _rounded(value) for n, value in scores.items()):
            raise ValueError(f"{when}: scores that do not follow from what is correct")
    if any(type(line[key]) is not bool for key in ("targeted", "skipped", "success")):
        raise TypeError("targeted, skipped and success are true or false")
    if any(operator.index(line["queries"][kind]) < 0 for kind in ("charged", "unique")):
        raise ValueError("negative queries")


def _read(sentence: Sentence, text: Sentence, after: Sequence[str]) -> dict[str, list[str]]:
    """Return what the victim reads of a text before and after, if it is not the text."""
    if text.words == sentence.words:
        return {}
    return {"read": list(sentence.words), "adversarial_read": list(after)}


def result_lines(
    task: Task, attack: Attack, victim: Victim, examples: Iterable[Example]
) -> Iterator[dict[str, Any]]:
    """Attack sentences and yield the line of each as it is finished."""
    for result in attack.run(examples, victim):
        yield result_line(task, result)


class Tally:
    """Sums over lines; adding two tallies, or lines in any order, gives the same scores.

    Skipped sentences count in the scores of answers and in edits, and enter neither success rates
    nor queries.

    Args:
        task: of the victim.

    Attributes:
        sums: by the names in `names`.
    """

    def __init__(self, task: Task) -> None:
        self.task = task
        self.sums = dict.fromkeys(self.names(task), 0)

    @classmethod
    def of(cls, task: Task, lines: Iterable[Line]) -> Self:
        """Add up lines."""
        tally = cls(task)
        for line in lines:
            tally.add(line)
        return tally

    @staticmethod
    def names(task: Task) -> tuple[str, ...]:
        """Name the sums, in an order in which processes may add them up."""
        answers = (f"{when}_{name}" for when in WHEN for name in task.sums)
        sentences = ("sentences", "words", "counted", *answers)
        return (*sentences, "skipped", "targeted", "success", "edits", "charged", "unique")

    def add(self, line: Line) -> None:
        """Add a sentence."""
        tried = not line["skipped"]
        amounts = {
            "sentences": 1,
            "words": len(line["tokens"]),
            "counted": line["counted"],
            **{f"{when}_{name}": line[when][name] for when in WHEN for name in self.task.sums},
            "skipped": not tried,
            "targeted": tried and line["targeted"],
            "success": line["success"],
            "edits": len(line["edited"]),
            "charged": line["queries"]["charged"] * tried,
            "unique": line["queries"]["unique"] * tried,
        }
        for name in self.sums:
            self.sums[name] += amounts[name]

    def scores(self) -> dict[str, Any]:
        """Compute the keys of ``summary.json`` that follow from the lines, rates in percent."""
        s = self.sums
        n, tried = s["sentences"], s["sentences"] - s["skipped"]
        return {
            "n_sentences": n,
            "n_skipped": s["skipped"],
            "n_words": s["words"],
            "clean": self._answers(clean=1),
            "attacked": self._answers(attacked=1),
            "success_rate": _rate(s["success"], tried),
            "targeted": {
                "n_sentences": s["targeted"],
                "success_rate": _rate(s["success"], s["targeted"]),
            },
            "edits_per_sentence": s["edits"] / n if n else None,
            "edit_rate": _rate(s["edits"], s["words"]),
            "queries_per_sentence": {
                "charged": s["charged"] / tried if tried else None,
                "unique": s["unique"] / tried if tried else None,
            },
        }

    def success_rate(self) -> float | None:
        """Compute the success rate over all sentences, in percent."""
        return _rate(self.sums["success"], self.sums["sentences"])

    def drops(self) -> dict[str, float | None]:
        """Compute what each score loses under the attack, in points."""
        # Scores are ratios to one number: that of the difference is the difference of both.
        return self._answers(clean=1, attacked=-1)

    def _answers(self, **weights: int) -> dict[str, float | None]:
        """Compute the scores of weighted sums over answers."""
        sums = {
            name: sum(weight * self.sums[f"{when}_{name}"] for when, weight in weights.items())
            for name in self.task.sums
        }
        return self.task.score({"counted": self.sums["counted"], **sums})


def _rounded(score: float | None) -> float | None:
    return None if score is None else round(score, 4)


def _rate(part: int, whole: int) -> float | None:
    return percent(part, whole) if whole else None


@dataclass(frozen=True, slots=True)
class RobustnessRecord:
    """One evaluation.

    Args:
        task: of the model that was attacked.
        curve: budget (fraction of the words that may be changed, 0 is clean) -> the task's scores
            and ``success`` in percent, by rising budget; empty if budgets were not compared.
        examples: lines as of ``examples.jsonl``, of some sentences that the attack succeeded on.
    """

    task: Task
    curve: Mapping[float, Mapping[str, float]]
    examples: Sequence[Line]


@runtime_checkable
class RecordLogger(Protocol):
    """A logger that keeps records."""

    def log_robustness(self, record: RobustnessRecord, step: int) -> None:
        """Keep the record of an evaluation after a step; whatever goes wrong ends no run."""
        ...
