"""What each reader of tagged files takes, and what it yields before the tags are checked."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from robustparse.types import Example

UNTAGGED = "_"


class ReadSentence(NamedTuple):
    """A sentence with the tags of its file, and the line of each of its words."""

    example: Example
    lines: Sequence[int]


TagReader = Callable[[Path, Sequence[str] | None, bool, bool], Iterable[ReadSentence]]
"""Returns the sentences of a file, which can be iterated several times, or raises `InputError`.

It takes the file; names of columns, see `read_tags`; whether every word must have a tag; and
whether sentences stay in memory, which spares a second reading.
"""
