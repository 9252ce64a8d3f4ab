"""Sentences dealt to several processes, and what each of them gives: lines, then its speed."""

from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from robustparse.attacks.attack import Attack
from robustparse.attacks.engine.statistics import Statistics
from robustparse.attacks.victim import Victim
from robustparse.evaluation.tally import result_line
from robustparse.tasks.task import Task
from robustparse.types import Example


@dataclass(frozen=True)
class Speed:
    """What one process took, or several together.

    Args:
        forwards: forward passes of the victim.
        texts: texts that it read.
        seconds: wall-clock time; of the slowest process.
        process_seconds: the same, summed over the processes.
        victim_seconds: seconds spent in the victim, summed over the processes.
        model_seconds: seconds spent in other models, by class name, summed over the processes.
    """

    forwards: int = 0
    texts: int = 0
    seconds: float = 0.0
    process_seconds: float = 0.0
    victim_seconds: float = 0.0
    model_seconds: dict[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, statistics: Statistics) -> "Speed":
        """Return what a run in this process took that has ended."""
        return cls(
            statistics.forwards,
            statistics.texts,
            statistics.seconds,
            statistics.seconds,
            statistics.victim_seconds,
            dict(statistics.model_seconds),
        )

    @classmethod
    def together(cls, parts: Sequence["Speed"]) -> "Speed":
        """Add up processes that ran at the same time."""
        models = sorted({name for part in parts for name in part.model_seconds})
        return cls(
            sum(part.forwards for part in parts),
            sum(part.texts for part in parts),
            max((part.seconds for part in parts), default=0.0),
            sum(part.process_seconds for part in parts),
            sum(part.victim_seconds for part in parts),
            {name: sum(part.model_seconds.get(name, 0.0) for part in parts) for name in models},
        )

    def summary(self, sentences: int) -> dict[str, Any]:
        """Return the keys of ``summary.json``; None where no sentence was attacked."""
        own = self.process_seconds - sum(self.model_seconds.values())
        values = {
            "victim_forwards": self.forwards,
            "victim_texts": self.texts,
            "texts_per_forward": self.texts / max(1, self.forwards),
            "seconds": self.seconds,
            "other_model_seconds": self.model_seconds,
            "sentences_per_second": sentences / self.seconds if self.seconds else None,
            "victim_share_of_seconds": self.victim_seconds / own if own > 0 else None,
        }
        return values if sentences else dict.fromkeys(values)


Lines = Generator[dict[str, Any], None, Speed]
"""The lines of finished sentences, in any order; at the end, what they took."""

Source = Callable[[Sequence[Example]], Lines]
"""Attacks sentences."""


def shard(examples: Sequence[Example], rank: int, count: int) -> list[Example]:
    """Choose what one of several processes attacks: every sentence goes to exactly one.

    They are dealt by falling length, so that each gets as many long ones. As all outcomes of a
    sentence follow from (seed, id), they do not depend on the deal. Ranks count from 0.
    """
    by_length = sorted(examples, key=lambda example: (-len(example.sentence), example.id))
    return by_length[rank::count]


def attacked_lines(
    task: Task, attack: Attack, victim: Victim, examples: Sequence[Example]
) -> Lines:
    """Attack sentences in this process."""
    statistics = Statistics()
    with closing(attack.run(examples, victim, statistics)) as results:
        for result in results:
            yield result_line(task, result)
    return Speed.of(statistics)


def drain(lines: Lines, take: Callable[[dict[str, Any]], None]) -> Speed:
    """Pass every line on as it comes; return what they took."""
    try:
        while True:
            take(next(lines))
    except StopIteration as stop:
        speed: Speed = stop.value
        return speed
    finally:
        lines.close()
