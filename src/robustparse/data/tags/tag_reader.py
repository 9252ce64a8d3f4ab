"""What each reader of tagged files takes, and what it yields before the tags are checked."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from robustparse.data.read_options import ReadOptions
from robustparse.types import Example

UNTAGGED = "_"


class ReadSentence(NamedTuple):
    """A sentence with the tags of its file, and the line of each of its words."""

    example: Example
    lines: Sequence[int]


TagReader = Callable[[Path, ReadOptions], Iterable[ReadSentence]]
"""Returns the sentences of a file, which can be iterated several times, or raises `InputError`."""
