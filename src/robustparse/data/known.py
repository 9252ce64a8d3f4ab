"""What is known of a table before it is read."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Known:
    """What the model and the other files of a corpus tell about a table.

    Args:
        columns: column names in the model's training data; used if the table has them.
        labels: all labels of the model; None without a classifier.
        numbers: whether the labels of the model's training data are numbers.
        elsewhere: returns the label counts of the other files of the corpus.
        first_rows: returns the first rows of the other files of the corpus.
    """

    columns: Sequence[str] | None = None
    labels: Collection[str] | None = None
    numbers: bool = False
    elsewhere: Callable[[], Mapping[str, int]] = field(default=dict)
    first_rows: Callable[[], Collection[Sequence[Any]]] = field(default=tuple)
