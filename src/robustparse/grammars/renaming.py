"""Renames variables canonically, so that trees that differ only in variable names become equal.

Trees that differ only in the names of variables, and in the order of unordered children, get the
same result. This is the canonical form of a labelled graph, computed as in McKay and Piperno 2014,
sections 2 and 3:

1. *Refinement*: variables are divided into classes by the positions where they occur, then by the
   classes that occur next to them, until nothing changes. Usually each variable then has its own
   class.
2. *Individualization*: otherwise, each variable of the first larger class is tried as the first of
   its class, and the branches with the least refinement are followed.
3. *Automorphisms*: two branches that lead to the same tree show which variables are
   interchangeable; only one of these is tried.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from robustparse.grammars.language import Tree, bracketed, reordered

_MOST = 2_000
"""Maximum number of refinements, which takes seconds. Only forms with dozens of equal components of
several variables need more; two renamings of such a form may then count as different forms."""

_Classes = Mapping[str, int]
"""Map each variable to the number of variables in earlier classes."""
_Choice = list[str]
"""Variables that are individualized together."""
_Trace = tuple[int, ...]
"""An invariant of classes under renaming."""


def without_names(
    tree: Tree, is_variable: Callable[[str], bool], unordered: Collection[str]
) -> Tree:
    """Rename variables to ``V0``, ``V1`` and so on, independently of their names.

    Args:
        tree: a tree whose heads are not variables.
        is_variable: tells which leaves are renamed.
        unordered: heads whose children are sorted.
    """
    graph = _Graph.of(tree, is_variable, unordered)
    if not graph.places:
        return reordered(tree, unordered, bracketed)
    start = graph.refined(dict.fromkeys(graph.places, 0))
    search = _Search(tree, graph, unordered)
    return search.renamed(search.best(start).order)


@dataclass
class _Graph:
    """A tree as a list of nodes, parents before their children.

    Attributes:
        parents: the node's parent, -1 for the root.
        positions: position among the parent's children, -1 if these have no order.
        kinds: a variable's name; for other leaves and for heads a number, in alphabetical order.
        places: variable -> its nodes.
    """

    parents: list[int] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)
    kinds: list[int | str] = field(default_factory=list)
    places: dict[str, list[int]] = field(default_factory=dict)

    @classmethod
    def of(
        cls, tree: Tree, is_variable: Callable[[str], bool], unordered: Collection[str]
    ) -> "_Graph":
        """Make the list."""
        graph, texts = cls(), list[str]()
        left: list[tuple[Tree, int, int]] = [(tree, -1, 0)]
        while left:
            node, parent, position = left.pop()
            this = len(graph.parents)
            graph.parents.append(parent)
            graph.positions.append(position)
            if isinstance(node, str) and is_variable(node):
                graph.places.setdefault(node, []).append(this)
                texts.append("")
                graph.kinds.append(node)
                continue
            head, children = (node, ()) if isinstance(node, str) else (str(node[0]), node[1:])
            # A leaf and a head of the same name are different.
            texts.append(head if isinstance(node, str) else f"({head}")
            graph.kinds.append(0)
            free = head in unordered
            left += [(child, this, -1 if free else at) for at, child in enumerate(children)]
        numbers = {text: number for number, text in enumerate(sorted(set(texts)))}
        pairs = zip(graph.kinds, texts, strict=True)
        graph.kinds = [kind if isinstance(kind, str) else numbers[text] for kind, text in pairs]
        return graph

    def refined(self, classes: _Classes) -> _Classes:
        """Divide classes until the variables of each class occur in equivalent positions."""
        count = len({*classes.values()})
        while True:
            below = self._below(classes)
            above = [0] * len(below)
            for node in range(1, len(below)):
                parent = self.parents[node]
                above[node] = hash(
                    (above[parent], below[parent], below[node], self.positions[node])
                )
            keys = {
                name: (classes[name], tuple(sorted(above[node] for node in nodes)))
                for name, nodes in self.places.items()
            }
            ranks: dict[object, int] = {}
            for at, key in enumerate(sorted(keys.values())):
                ranks.setdefault(key, at)
            classes = {name: ranks[key] for name, key in keys.items()}
            if len(ranks) in (count, len(classes)):
                return classes
            count = len(ranks)

    def trace(self, classes: _Classes) -> _Trace:
        """Return the sizes of classes and a hash of the tree with classes instead of names."""
        return (*sorted(classes.values()), self._below(classes)[0])

    def _below(self, classes: _Classes) -> list[int]:
        """Return a hash of each node's subtree; hashes of integers are the same in every run."""
        inner: list[list[tuple[int, int]]] = [[] for _ in self.kinds]
        below = [0] * len(self.kinds)
        for node in range(len(below) - 1, -1, -1):
            kind = self.kinds[node]
            key = (-1, classes[kind]) if isinstance(kind, str) else (kind, *sorted(inner[node]))
            below[node] = hash(key)
            if node:
                inner[self.parents[node]].append((self.positions[node], below[node]))
        return below


@dataclass
class _Leaf:
    """A leaf of the search: every variable has its own class.

    Args:
        order: the variables in order.
        text: the text of the renamed tree.
        traces: the traces of the classes on the way to the leaf.
    """

    order: list[str]
    text: str
    traces: list[_Trace]


class _Search:
    """Individualization and automorphisms, see the module's docstring."""

    def __init__(self, tree: Tree, graph: _Graph, unordered: Collection[str]) -> None:
        self.tree, self.graph, self.unordered = tree, graph, unordered
        self.alone = {name: rank for rank, name in enumerate(graph.places)}
        self.whole = graph.trace(self.alone)
        self.automorphisms: list[Mapping[str, str]] = []
        self.refinements = 0

    def best(self, classes: _Classes, path: tuple[str, ...] = ()) -> _Leaf:
        """Return the leaf with the least text below some classes.

        Args:
            classes: refined classes.
            path: the variables that were individualized before.
        """
        # Only one option for interchangeable variables.
        options: list[tuple[_Trace, _Choice, _Leaf]] = []
        choices = self._choices(classes)
        for choice in choices if self.refinements < _MOST else choices[:1]:
            if self._exchangeable(choice[0], [known[0] for _, known, _ in options], path):
                continue
            trace, following = self._step(classes, choice)
            equal = [leaf for known, _, leaf in options if known == trace]
            if not any(self._automorphic(following, leaf) for leaf in equal):
                options.append((trace, choice, self._first(following)))
        if not options:
            return self._leaf(classes, [])
        least = min(trace for trace, _, _ in options)
        leaves = []
        for trace, choice, _ in options:
            if trace == least:
                following = self._step(classes, choice)[1]
                leaves.append(self.best(following, (*path, *choice)))
        return min(leaves, key=lambda leaf: leaf.text)

    def renamed(self, order: Sequence[str]) -> Tree:
        """Return the tree with variables numbered in the given order."""
        names = {name: f"V{number}" for number, name in enumerate(order)}
        return reordered(_renamed(self.tree, names), self.unordered, bracketed)

    def _choices(self, classes: _Classes) -> list[_Choice]:
        """Return the variables of the first class with more than one, as separate choices.

        If all are twins, they are one choice, since their order does not matter.
        """
        members: dict[int, list[str]] = {}
        for name, rank in classes.items():
            members.setdefault(rank, []).append(name)
        several = [rank for rank, names in members.items() if len(names) > 1]
        if not several:
            return []
        first, *others = names = members[min(several)]
        if all(self._twins(first, name) for name in others):
            return [names]
        return [[name] for name in names]

    def _twins(self, first: str, second: str) -> bool:
        swapped = self.alone | {first: self.alone[second], second: self.alone[first]}
        return self.graph.trace(swapped) == self.whole

    def _step(self, classes: _Classes, choice: _Choice) -> tuple[_Trace, _Classes]:
        """Move variables, in order, before the rest of their class, and refine."""
        self.refinements += 1
        first = classes[choice[0]]
        divided = {name: rank + len(choice) * (rank == first) for name, rank in classes.items()}
        divided |= {name: first + at for at, name in enumerate(choice)}
        following = self.graph.refined(divided)
        return self.graph.trace(following), following

    def _first(self, classes: _Classes) -> _Leaf:
        """Return the leaf reached by always taking the first choice."""
        traces = []
        while choices := self._choices(classes):
            trace, classes = self._step(classes, choices[0])
            traces.append(trace)
        return self._leaf(classes, traces)

    def _automorphic(self, classes: _Classes, leaf: _Leaf) -> bool:
        """Tell whether a branch with a leaf's traces leads to the same tree; store the
        automorphism.
        """
        for wanted in leaf.traces:
            steps = (self._step(classes, choice) for choice in self._choices(classes))
            following = next((new for trace, new in steps if trace == wanted), None)
            if following is None:
                return False
            classes = following
        end = self._leaf(classes, [])
        if end.text == leaf.text:
            self.automorphisms.append(dict(zip(leaf.order, end.order, strict=True)))
        return end.text == leaf.text

    def _exchangeable(self, name: str, others: Sequence[str], path: Sequence[str]) -> bool:
        """Tell whether automorphisms that fix a path map a variable to one of the others."""
        if not others:
            return False
        known = [each for each in self.automorphisms if all(each[fixed] == fixed for fixed in path)]
        reached, left = {name}, [name]
        while left:
            last = left.pop()
            new = {automorphism[last] for automorphism in known} - reached
            reached |= new
            left += new
        return not reached.isdisjoint(others)

    def _leaf(self, classes: _Classes, traces: list[_Trace]) -> _Leaf:
        order = sorted(classes, key=classes.__getitem__)
        return _Leaf(order, bracketed(self.renamed(order)), traces)


def _renamed(tree: Tree, names: Mapping[str, str]) -> Tree:
    """Rename leaves."""
    if isinstance(tree, str):
        return names.get(tree, tree)
    return (tree[0], *(_renamed(child, names) for child in tree[1:]))
