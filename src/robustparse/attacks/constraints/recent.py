"""A bounded memory of what a model said, filled many keys at a time."""

from collections.abc import Callable, Hashable, Sequence
from itertools import islice
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Recent(Generic[K, V]):
    """Values by key; the oldest are forgotten beyond a size.

    Args:
        size: entries kept.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._values: dict[K, V] = {}

    def of(self, keys: Sequence[K], compute: Callable[[list[K]], Sequence[V]]) -> list[V]:
        """Return the values of the keys.

        Args:
            keys: they may repeat.
            compute: gives the values of distinct keys not known; it is asked once, or not at all.
        """
        found = {key: self._values[key] for key in keys if key in self._values}
        missing = [key for key in dict.fromkeys(keys) if key not in found]
        if missing:
            fresh = dict(zip(missing, compute(missing), strict=True))
            found |= fresh
            self._values |= fresh
            for key in list(islice(self._values, max(0, len(self._values) - self._size))):
                del self._values[key]
        return [found[key] for key in keys]
