"""Sums over attacked sentences, from which the scores and rates of an attack are computed."""

from typing import Any

from robustparse.evaluation.accumulator import Accumulator
from robustparse.evaluation.records import WHEN, ExampleRecord, When
from robustparse.metrics import percent
from robustparse.tasks.task import Task


class AttackSums(Accumulator):
    """Sums over records, in any order; sums of several parts can be added up.

    Skipped sentences count in the scores and edits, but not in success rates and queries.

    Args:
        task: the task of the victim.

    Attributes:
        sums: the sums by the names in `names`.
    """

    def __init__(self, task: Task) -> None:
        self.task = task
        self.sums = dict.fromkeys(self.names(task), 0)

    @staticmethod
    def names(task: Task) -> tuple[str, ...]:
        """Name the sums, in an order in which processes may add them up."""
        answers = (f"{when}_{name}" for when in WHEN for name in task.scores.sums)
        sentences = ("sentences", "words", "counted", *answers)
        return (*sentences, "skipped", "targeted", "success", "edits", "charged", "unique")

    def add(self, record: ExampleRecord) -> None:
        """Add a sentence."""
        tried = not record["skipped"]
        amounts = {
            "sentences": 1,
            "words": len(record["tokens"]),
            "counted": record["counted"],
            **{
                f"{when}_{name}": record[when][name]
                for when in WHEN
                for name in self.task.scores.sums
            },
            "skipped": not tried,
            "targeted": tried and record["targeted"],
            "success": record["success"],
            "edits": len(record["edited"]),
            "charged": record["queries"]["charged"] * tried,
            "unique": record["queries"]["unique"] * tried,
        }
        for name in self.sums:
            self.sums[name] += amounts[name]

    def scores(self) -> dict[str, Any]:
        """Compute the keys of ``summary.json`` that follow from these sums, rates in percent."""
        s = self.sums
        n, tried = s["sentences"], s["sentences"] - s["skipped"]
        return {
            "n_sentences": n,
            "n_skipped": s["skipped"],
            "n_words": s["words"],
            "clean": self._answers("clean"),
            "attacked": self._answers("attacked"),
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
        scores, drops = self.task.scores, dict[str, float | None]()
        for name in scores.names:
            (clean, whole), (attacked, whole_attacked) = (
                scores.fraction(name, self._sums(when)) for when in WHEN
            )
            if whole == whole_attacked:
                drops[name] = _rate(clean - attacked, whole)
            elif whole and whole_attacked:
                drops[name] = percent(clean, whole) - percent(attacked, whole_attacked)
            else:
                drops[name] = None
        return drops

    def _answers(self, when: When) -> dict[str, float | None]:
        """Compute the scores of the answers before or after the attack."""
        return self.task.scores.score(self._sums(when))

    def _sums(self, when: When) -> dict[str, int]:
        sums = {name: self.sums[f"{when}_{name}"] for name in self.task.scores.sums}
        return {"counted": self.sums["counted"], **sums}


def _rate(count: int, total: int) -> float | None:
    return percent(count, total) if total else None
