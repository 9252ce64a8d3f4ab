"""A sentence as it was read, before its tags are checked."""

from collections.abc import Sequence
from typing import NamedTuple

from robustparse.types import Example

UNTAGGED = "_"


class ReadSentence(NamedTuple):
    """A sentence with the tags of its file, and the line of each of its words."""

    example: Example
    lines: Sequence[int]
