"""The scores of an attack from its records: one accumulator for every command that needs them."""

from collections.abc import Mapping
from typing import Any, cast

from robustparse.evaluation.accumulator import Accumulator
from robustparse.evaluation.attack_details import AttackDetails
from robustparse.evaluation.attack_sums import AttackSums
from robustparse.evaluation.changeable_sentences import ChangeableSentences
from robustparse.evaluation.records import ExampleRecord, RunRecord, Summary
from robustparse.tasks.task import Task


class AttackSummary(Accumulator):
    """Everything in ``summary.json`` that follows from the records, whatever their order.

    Args:
        task: the task of the victim.

    Attributes:
        sums: sums of scores, successes, edits and queries.
        details: statistics by kinds of words, classes and candidates.
        changeable: counts of the sentences that the attack could change.
    """

    def __init__(self, task: Task) -> None:
        self.task = task
        self.sums = AttackSums(task)
        self.details = AttackDetails(task)
        self.changeable = ChangeableSentences()

    def add(self, record: ExampleRecord) -> None:
        """Add a sentence."""
        self.sums.add(record)
        self.details.add(record)
        self.changeable.add(record)

    def figures(self) -> dict[str, Any]:
        """Return the keys of ``summary.json`` that follow from the records."""
        task = self.task
        return {
            "task": task.name,
            **({} if task.answers.language is None else {"language": task.answers.language}),
            **self.sums.scores(),
            **self.details.summary(),
            "reach": self.changeable.summary(),
        }

    def summary(
        self,
        run: RunRecord,
        budget: int | None,
        speed: Mapping[str, Any],
        versions: Mapping[str, str],
    ) -> Summary:
        """Return the content of ``summary.json``.

        Args:
            run: what the attack was run with.
            budget: the budget of the attack (`Attack.budget`).
            speed: the keys of `attack_processes.Speed.summary`.
            versions: the versions of the libraries.
        """
        summary = {
            **self.figures(),
            **{key: run[key] for key in ("attack", "victims", "seed")},
            "warnings": [*self.changeable.warnings(budget)],
            **speed,
            "versions": versions,
        }
        return cast(Summary, summary)
