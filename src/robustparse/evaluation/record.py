"""What a robustness evaluation found, for loggers that show more than single values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from robustparse.evaluation.tally import Line
from robustparse.tasks.task import Task


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
