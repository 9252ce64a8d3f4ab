"""Running totals of an attack: forward passes, texts and time."""

import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass(eq=False)
class Statistics:
    """Running totals of one attack run.

    Args:
        forwards: forward passes of the victim, except those for gradients.
        texts: texts predicted in them: the distinct states of each sentence, plus its closing
            prediction.
        seconds: wall-clock time of the run, without the consumer's time between two results.
        victim_seconds: the share of `seconds` spent in the victim's predictions and gradients.
        model_seconds: the share spent in other models (candidates, constraints), by class name.
    """

    forwards: int = 0
    texts: int = 0
    seconds: float = 0.0
    victim_seconds: float = 0.0
    model_seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))

    @contextmanager
    def in_victim(self) -> Iterator[None]:
        """Add the time of a call of the victim."""
        begin = time.perf_counter()
        yield
        self.victim_seconds += time.perf_counter() - begin
