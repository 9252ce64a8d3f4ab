"""The record of a robustness evaluation during training, and the loggers that keep it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from robustparse.evaluation.records import ExampleRecord
from robustparse.tasks.task import Task


@dataclass(frozen=True, slots=True)
class RobustnessRecord:
    """One evaluation.

    Args:
        task: of the attacked model.
        curve: budget (fraction of the words that may be changed, 0 is clean) -> the task's scores
            and ``success`` in percent, by rising budget; empty if budgets were not compared.
        examples: some sentences that the attack succeeded on.
    """

    task: Task
    curve: Mapping[float, Mapping[str, float]]
    examples: Sequence[ExampleRecord]


@runtime_checkable
class RecordLogger(Protocol):
    """A logger that keeps records."""

    def log_robustness(self, record: RobustnessRecord, step: int) -> None:
        """Keep the record of an evaluation after a step; no error may end the run."""
        ...
