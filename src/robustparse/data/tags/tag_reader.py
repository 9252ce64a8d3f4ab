"""What each reader of tagged files takes, and what it yields before the tags are checked."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from robustparse.types import Example

UNTAGGED = "_"


class ReadSentence(NamedTuple):
    """A sentence with the tags of its file, and the line of each of its words."""

    example: Example
    lines: Sequence[int]


class TagReader(Protocol):
    """A function that reads the sentences of one kind of file."""

    def __call__(
        self, path: Path, columns: Sequence[str] | None, gold: bool, keep: bool
    ) -> Iterable[ReadSentence]:
        """Return the sentences of a file; they can be iterated several times.

        Args:
            path: the file.
            columns: names of the columns, see `read_tags`.
            gold: whether every word must have a tag.
            keep: whether they stay in memory, which spares a second reading.

        Raises:
            InputError: names file and line of content that cannot be used.
        """
