"""Sums that add up: over records, over shards, in any order."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, MutableMapping
from typing import Any, Self

Sums = dict[str, Any]
"""Numbers by name, nested: what JSON can hold."""


class Accumulator(ABC):
    """Sums over records; its attributes are integers, counters by string, or accumulators.

    Attributes of other types, flags included, are settings, such as the task. The sums of several
    shards can be written as JSON and added up, so that their scores are computed without records.
    """

    @abstractmethod
    def add(self, record: Any) -> None:
        """Add a record."""

    def over(self, records: Iterable[Any]) -> Self:
        """Add records; return these sums."""
        for record in records:
            self.add(record)
        return self

    def counts(self) -> Sums:
        """Return all sums as numbers, by the names of the attributes."""
        return _numbers(vars(self))

    def add_counts(self, counts: Sums) -> None:
        """Add what `counts` returned for other records."""
        add_up(vars(self), counts)


def add_up(target: MutableMapping[str, Any], sums: Sums) -> None:
    """Add sums to others in place; a name that only one of them has is kept.

    Raises:
        TypeError: a number stands where the others have names; or AttributeError.
    """
    for name, value in sums.items():
        if not isinstance(value, dict):
            target[name] = target.get(name, 0) + value
            continue
        try:
            inner = target[name]
        except KeyError:
            inner = target[name] = {}
        if isinstance(inner, Accumulator):
            inner.add_counts(value)
        else:
            add_up(inner, value)


def added(addends: Iterable[Sums]) -> Sums:
    """Return the sum of sums."""
    total: Sums = {}
    for sums in addends:
        add_up(total, sums)
    return total


def _numbers(values: MutableMapping[str, Any]) -> Sums:
    plain: Sums = {}
    for name, value in values.items():
        if isinstance(value, Accumulator):
            plain[name] = value.counts()
        elif isinstance(value, dict):
            plain[name] = _numbers(value)
        elif isinstance(value, int) and not isinstance(value, bool):
            plain[name] = value
    return plain
