"""Dependency parsing's scores and drawing, until `robustparse.tasks` is there to be asked."""

from collections.abc import Mapping
from typing import Any, Protocol

from robustparse.errors import InputError
from robustparse.report.trees import LEGEND, TreePair, draw_pair
from robustparse.types import DependencyTree

Line = Mapping[str, Any]


class Task(Protocol):
    """What a page asks of a task."""

    name: str
    headline: str
    scores: tuple[str, ...]
    legend: str

    def draw(self, record: Line) -> str:
        """Draw the answers of a line of ``examples.jsonl`` before and after the attack."""
        ...

    def changes(self, record: Line) -> tuple[int, int, int]:
        """Count the parts of the answers: changed elsewhere, wrong before, wrong after."""
        ...


class _Dependency:
    name = "dependency"
    headline = "las"
    scores: tuple[str, ...] = ("uas", "las")
    legend = LEGEND

    def draw(self, record: Line) -> str:
        gold, before, after = _trees(record)
        words = (tuple(record["tokens"]), tuple(record["adversarial_tokens"]))
        return draw_pair(TreePair(*words, gold, before, after, tuple(record["edited"])))

    def changes(self, record: Line) -> tuple[int, int, int]:
        gold, before, after = _trees(record)
        changed = [word for word in _different(before, after) if word not in record["edited"]]
        return len(changed), len(_different(gold, before)), len(_different(gold, after))


def _trees(record: Line) -> list[DependencyTree]:
    n, trees = len(record["tokens"]), []
    for key in ("gold", "clean", "attacked"):
        heads, labels = record[key]["heads"], record[key]["labels"]
        if len(heads) != n or len(labels) != n or not all(0 <= head <= n for head in heads):
            expected = f"{n} heads from 0 to {n}"
            raise InputError(f"got {heads!r}", key=f"{key}: heads", expected=expected)
        trees.append(DependencyTree(tuple(heads), tuple(labels)))
    return trees


def _different(one: DependencyTree, other: DependencyTree) -> list[int]:
    pairs = zip(one.heads, other.heads, one.labels, other.labels, strict=True)
    return [word for word, (a, b, c, d) in enumerate(pairs) if a != b or c != d]


def named(name: str) -> Task:
    """Find a task by its name.

    Raises:
        InputError: there is none.
    """
    if name != "dependency":
        raise InputError(repr(name), key="task", expected="dependency")
    return _Dependency()
