"""Some examples of a file, read without keeping the others in memory."""

from array import array
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import islice
from typing import Generic, TypeVar

from robustparse.data.read_options import Choose
from robustparse.types import Example

T = TypeVar("T")


class _ReadAgain(Generic[T]):
    """Items that are read again in each loop over them."""

    def __init__(self, read: Callable[[], Iterator[T]]) -> None:
        self._read = read

    def __iter__(self) -> Iterator[T]:
        return self._read()


def repeatable(read: Callable[[], Iterator[T]], keep: bool) -> Iterable[T]:
    """Return items for several loops: in a list, or read again in each loop."""
    return list(read()) if keep else _ReadAgain(read)


def chosen_examples(
    examples: Iterable[Example],
    again: Callable[[Collection[int]], Iterator[Example]],
    choose: Choose | None,
) -> list[Example]:
    """Return the examples that are chosen; only these are kept in memory.

    Args:
        examples: all examples.
        again: reads the examples of these ids again.
        choose: chooses among the examples; None takes all.
    """
    if choose is None:
        return list(examples)
    ids, lengths = array("q"), array("q")
    for example in examples:
        ids.append(example.id)
        lengths.append(len(example.sentence))
    chosen = {ids[position] for position in choose(lengths)}
    return list(islice(again(chosen), len(chosen)))  # nothing is read after the last one
