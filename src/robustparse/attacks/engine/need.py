"""What a search run waits for: the answer of one of six services."""

from typing import Any, Literal, NamedTuple

Service = Literal["predict", "propose", "follow", "check", "compare", "gradient"]


class Need(NamedTuple):
    """A question to one service.

    Args:
        service: who answers.
        argument: the question. `predict`: states `(n, words)`, answered by the victim's
            predictions. `propose`: rising positions, answered by the problem with candidates there.
            `follow`: a position and a state, answered by the problem with further candidates there.
            `check`: edits, answered by a mask of those that all sentence constraints admit.
            `compare`: edits, answered by their similarities `float64 (edits,)`, or None if no
            constraint measures similarity. `gradient`: a request `Gradient`, answered by
            `WordGradients`.
    """

    service: Service
    argument: Any
