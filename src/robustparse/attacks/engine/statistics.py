"""Running totals of an attack: the victim's forward passes and texts, and where the time goes."""

import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass(eq=False)
class Statistics:
    """Running totals of one attack run.

    Args:
        forwards: forward passes of the victim, those for gradients left out.
        texts: texts that it read in them: of every sentence the distinct states that were charged,
            and the closing prediction.
        seconds: the run's wall-clock time, without what its consumer does between two results.
        victim_seconds: of these, spent in the victim's predictions and gradients.
        model_seconds: of these, spent in other models (candidates, constraints), by class name.
    """

    forwards: int = 0
    texts: int = 0
    seconds: float = 0.0
    victim_seconds: float = 0.0
    model_seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))

    @contextmanager
    def in_victim(self) -> Iterator[None]:
        """Add the seconds of a call of the victim."""
        begin = time.perf_counter()
        yield
        self.victim_seconds += time.perf_counter() - begin
