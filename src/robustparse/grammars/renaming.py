"""Trees that are the same for all names of their variables.

Two trees that differ only in the names of variables, and in the order of children without one, are
to become one tree. This is the canonical form of a labelled graph, and is found as there (McKay and
Piperno 2014, sections 2 and 3):

1. *Refinement*: variables are divided into classes by where they occur, then by which classes
   occur next to them, until nothing changes. Mostly, every variable is then alone in its class.
2. *Individualization*: otherwise, each variable of the first larger class is tried as one that
   comes before the others, and those are followed whose refinement is least.
3. *Automorphisms*: two ways that lead to the same tree say which variables can be exchanged for
   each other. Of these, one is enough.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from robustparse.grammars.language import Tree, bracketed, reordered

_MOST = 2_000
"""Refinements at most, some seconds. Forms that need more consist of dozens of equal parts of
several variables each; such a form, renamed, may be taken for another one."""

_Classes = Mapping[str, int]
"""For each variable how many variables are in the classes before its own."""
_Choice = list[str]
"""Variables that are individualized together."""
_Trace = tuple[int, ...]
"""What classes have in common with those of a renamed tree."""


def without_names(
    tree: Tree, is_variable: Callable[[str], bool], unordered: Collection[str]
) -> Tree:
    """Return a tree whose variables are called ``V0``, ``V1`` and so on, whatever they were called.

    Args:
        tree: whose heads are no variables.
        is_variable: tells which leaves are renamed.
        unordered: heads whose children have no order, and are sorted.
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
        positions: among the parent's children; -1 where these have no order.
        kinds: a number for each head and each leaf that is no variable, in alphabetical order; a
            variable itself.
        places: each variable's nodes.
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
            # A leaf and a head of the same name are two.
            texts.append(head if isinstance(node, str) else f"({head}")
            graph.kinds.append(0)
            free = head in unordered
            left += [(child, this, -1 if free else at) for at, child in enumerate(children)]
        numbers = {text: number for number, text in enumerate(sorted(set(texts)))}
        pairs = zip(graph.kinds, texts, strict=True)
        graph.kinds = [kind if isinstance(kind, str) else numbers[text] for kind, text in pairs]
        return graph

    def refined(self, classes: _Classes) -> _Classes:
        """Divide classes until variables of each class occur in the same places."""
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
        """Return the sizes of classes, and a number for the tree with them in place of names."""
        return (*sorted(classes.values()), self._below(classes)[0])

    def _below(self, classes: _Classes) -> list[int]:
        """Return a number for each node that says what is below it; integers hash alike always."""
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
    """The end of a way: every variable is in a class of its own.

    Args:
        order: the variables.
        text: of the renamed tree.
        traces: of the classes on the way there.
    """

    order: list[str]
    text: str
    traces: list[_Trace]


class _Search:
    """Steps 2 and 3 of the module."""

    def __init__(self, tree: Tree, graph: _Graph, unordered: Collection[str]) -> None:
        self.tree, self.graph, self.unordered = tree, graph, unordered
        self.alone = {name: rank for rank, name in enumerate(graph.places)}
        self.whole = graph.trace(self.alone)
        self.automorphisms: list[Mapping[str, str]] = []
        self.refinements = 0

    def best(self, classes: _Classes, path: tuple[str, ...] = ()) -> _Leaf:
        """Return the end with the least text of the ways that begin with classes.

        Args:
            classes: refined.
            path: the variables that were individualized on the way to them.
        """
        # One for variables that can be exchanged.
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
        """Return the tree with variables numbered in an order."""
        names = {name: f"V{number}" for number, name in enumerate(order)}
        return reordered(_renamed(self.tree, names), self.unordered, bracketed)

    def _choices(self, classes: _Classes) -> list[_Choice]:
        """Return each variable of the first class of more than one.

        If all are twins, they make one choice: exchanging two of them changes nothing, so that
        their order does not matter.
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
        """Put variables, one after the other, before the rest of their class, and refine."""
        self.refinements += 1
        first = classes[choice[0]]
        divided = {name: rank + len(choice) * (rank == first) for name, rank in classes.items()}
        divided |= {name: first + at for at, name in enumerate(choice)}
        following = self.graph.refined(divided)
        return self.graph.trace(following), following

    def _first(self, classes: _Classes) -> _Leaf:
        """Return the end of the way that always takes the first variable."""
        traces = []
        while choices := self._choices(classes):
            trace, classes = self._step(classes, choices[0])
            traces.append(trace)
        return self._leaf(classes, traces)

    def _automorphic(self, classes: _Classes, leaf: _Leaf) -> bool:
        """Tell whether a way with the traces of another one leads to the same; note how."""
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
        """Tell whether automorphisms that leave a path as it is map a variable to another one."""
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
