"""Running totals of an attack: forward passes, texts, seconds."""

from collections import defaultdict
from dataclasses import dataclass, field


@dataclass(eq=False)
class Statistics:
    """Running totals of one attack run.

    Args:
        forwards: forward passes of the victim.
        texts: texts predicted, closing predictions included.
        seconds: the run's wall-clock time, without what its consumer does between two results.
        victim_seconds: of these, spent in the victim's forward and gradient passes.
        model_seconds: of these, spent in other models (candidates, constraints), by class name.
    """

    forwards: int = 0
    texts: int = 0
    seconds: float = 0.0
    victim_seconds: float = 0.0
    model_seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))
