"""What a stretch of an attack took: forwards, seconds, and the victim's share of them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from robustparse.attacks.engine.statistics import Statistics, victim_seconds_alone
from robustparse.attacks.victim import Victim


@dataclass(frozen=True)
class Speed:
    """Figures of one process, or of several together.

    Args:
        forwards: forward passes of the victim.
        texts: texts parsed.
        seconds: wall-clock time; of the slowest process.
        process_seconds: the same, summed over the processes.
        victim_alone: seconds in which the victim alone would parse the same distinct states, summed
            over the processes.
        model_seconds: seconds spent in other models, by class name, summed over the processes.
    """

    forwards: int = 0
    texts: int = 0
    seconds: float = 0.0
    process_seconds: float = 0.0
    victim_alone: float = 0.0
    model_seconds: dict[str, float] = field(default_factory=dict)

    @classmethod
    def measured(cls, statistics: Statistics, victim: Victim) -> "Speed":
        """Of a run in this process that has ended; lets the victim parse a sample once more."""
        with victim.evaluating():
            alone = victim_seconds_alone(victim, statistics)
        return cls(
            statistics.forwards,
            statistics.texts,
            statistics.seconds,
            statistics.seconds,
            alone,
            dict(statistics.model_seconds),
        )

    @classmethod
    def together(cls, parts: Sequence["Speed"]) -> "Speed":
        """Of processes that ran side by side."""
        models = sorted({name for part in parts for name in part.model_seconds})
        return cls(
            sum(part.forwards for part in parts),
            sum(part.texts for part in parts),
            max((part.seconds for part in parts), default=0.0),
            sum(part.process_seconds for part in parts),
            sum(part.victim_alone for part in parts),
            {name: sum(part.model_seconds.get(name, 0.0) for part in parts) for name in models},
        )

    def figures(self, sentences: int) -> dict[str, Any]:
        """Return the keys of ``summary.json``; None where no sentence was attacked."""
        own = self.process_seconds - sum(self.model_seconds.values())
        figures = {
            "victim_forwards": self.forwards,
            "texts_per_forward": self.texts / max(1, self.forwards),
            "seconds": self.seconds,
            "other_model_seconds": self.model_seconds,
            "sentences_per_second": sentences / self.seconds if self.seconds else None,
            "victim_share_of_seconds": self.victim_alone / own if own > 0 else None,
        }
        return figures if sentences else dict.fromkeys(figures)
