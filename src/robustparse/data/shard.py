"""One of several contiguous ranges of sentences, which separate runs work on."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self, TypeVar

from robustparse.errors import InputError

T = TypeVar("T")


@dataclass(frozen=True)
class Shard:
    """Shard ``number`` of ``count``; printed as ``2/4``.

    Args:
        number: from 1 to ``count``.
        count: the number of shards.
    """

    number: int
    count: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the shard of a text such as ``2/4``.

        Raises:
            InputError: it is not such a text, or the number is not from 1 to the count.
        """
        numbers = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", text)
        shard = cls(*map(int, numbers.groups())) if numbers else None
        if shard is None or not 1 <= shard.number <= shard.count:
            expected = "I/N, such as 2/4: shard I of N, with I from 1 to N"
            raise InputError(f"got {text!r}", key="--shard", expected=expected)
        return shard

    def select(self, items: Sequence[T]) -> Sequence[T]:
        """Return the items of this shard; every item belongs to exactly one shard.

        Raises:
            InputError: there are fewer items than shards.
        """
        if len(items) < self.count:
            problem = f"{len(items)} sentences cannot fill {self.count} shards"
            remedy = f"use at most {len(items)} shards" if items else "name data with sentences"
            raise InputError(problem, key="--shard", remedy=remedy)
        first, end = (len(items) * each // self.count for each in (self.number - 1, self.number))
        return items[first:end]

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"
