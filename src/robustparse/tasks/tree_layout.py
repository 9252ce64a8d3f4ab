"""Where a drawn dependency tree has its words, arcs and labels, in pixels.

Arcs are stacked: an arc lies above every arc it encloses and on another level than every arc it
crosses, columns are wide enough for each arc to hold its label, and the ends of the arcs at one
word are spread so that no line runs along another.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple
from unicodedata import east_asian_width

from robustparse.types import DependencyTree

WORD_SIZE = 16.0
LABEL_SIZE = 12.0
LEVEL = 25.0  # between two arc levels, and from the words to the first
SLOT = 9.0  # between two arc ends at one word
GAP = 17.0  # between two words
BOLD = 1.08  # a bold text's width against a regular one's


class Column(NamedTuple):
    """A word's place from left to right."""

    middle: float
    right: float


@dataclass(frozen=True, slots=True)
class Side:
    """One row of words with its arcs above (`direction` -1) or below (1)."""

    words: Sequence[str]
    tree: DependencyTree
    gold: DependencyTree
    levels: list[int]
    ends: list[tuple[float, float]]
    direction: int

    def span(self, word: int, columns: list[Column]) -> tuple[float, float]:
        """Give the left and right end of a word's arc, the same for one that hangs from ROOT."""
        here = columns[word].middle + self.ends[word][0]
        head = self.tree.heads[word]
        there = columns[head - 1].middle + self.ends[word][1] if head else here
        return min(here, there), max(here, there)

    @property
    def height(self) -> float:
        """From the line where arcs meet the words to the outer edge of the ROOT label."""
        return (max(self.levels) + 1) * LEVEL + LABEL_SIZE


def arc_levels(heads: Sequence[int]) -> list[int]:
    """Stack the arcs: each above those it encloses, apart from those it crosses.

    Args:
        heads: n integers in 0..n.

    Returns:
        n levels from 1; 0 for words that hang from ROOT.
    """
    spans = [(min(h, d), max(h, d)) if h else (0, 0) for d, h in enumerate(heads, 1)]
    levels = [0] * len(spans)
    for word in sorted(range(len(spans)), key=lambda w: (spans[w][1] - spans[w][0], spans[w])):
        left, right = spans[word]
        if not left:
            continue
        beneath, crossing = 0, set()
        for other, (start, end) in enumerate(spans):
            if not levels[other] or end <= left or start >= right:
                continue
            if left <= start and end <= right:
                beneath = max(beneath, levels[other])
            else:
                crossing.add(levels[other])
        levels[word] = next(x for x in range(beneath + 1, len(spans) + 2) if x not in crossing)
    return levels


def label_middle(side: Side, columns: list[Column], word: int) -> float:
    """Place the label of a word's arc near its middle, between the lines that cross it."""
    left, right = side.span(word, columns)
    middle, half = (left + right) / 2, label_width(side.tree.labels[word]) / 2 + 2
    above = max(side.levels) + 1
    lines = [
        x
        for other, level in enumerate(side.levels)
        if (level or above) > side.levels[word]
        for x in side.span(other, columns)
        if left < x < right
    ]
    bounds = sorted([left + 6, *lines, right - 6])
    places = [
        min(max(middle, a + half), b - half) for a, b in pairwise(bounds) if b - a >= 2 * half
    ]
    return min(places, key=lambda x: abs(x - middle), default=middle)


def label_width(label: str) -> float:
    """Estimate the room that an arc's label takes, in pixels, drawn bold."""
    return text_width(label, LABEL_SIZE) * BOLD


def text_width(text: str, size: float) -> float:
    """Estimate generously a text's width in pixels, in a sans-serif font of `size` pixels."""
    ems = 0.0
    for character in text:
        if east_asian_width(character) in "WF":
            ems += 1.05
        elif character in "mwMW@%":
            ems += 0.95
        elif character.isupper() or character.isdigit():
            ems += 0.72
        else:
            ems += 0.34 if character in "iljtf.,:;'!|()[] " else 0.6
    return ems * size


def make_side(
    words: Sequence[str], tree: DependencyTree, gold: DependencyTree, direction: int
) -> Side:
    """Stack the arcs of a tree over (`direction` -1) or under (1) its words."""
    levels = arc_levels(tree.heads)
    return Side(words, tree, gold, levels, _ends(tree.heads, levels), direction)


def _ends(heads: Sequence[int], levels: list[int]) -> list[tuple[float, float]]:
    """Tell how far each arc's (dependent end, head end) stands from the middle of its word.

    From left to right at a word: arcs to the left, lowest first, ROOT, arcs to the right, highest
    first; then no arc's upright line crosses another arc that ends there.
    """
    at: list[list[tuple[int, int, int, int]]] = [[] for _ in heads]
    for word, head in enumerate(heads):
        if not head:
            at[word].append((0, 0, word, 0))
            continue
        for here, there, which in ((word, head - 1, 0), (head - 1, word, 1)):
            side = -1 if there < here else 1
            at[here].append((side, -side * levels[word], word, which))
    ends = [[0.0, 0.0] for _ in heads]
    for places in at:
        for rank, (_, _, word, which) in enumerate(sorted(places)):
            ends[word][which] = (rank - (len(places) - 1) / 2) * SLOT
    return [(dependent, head) for dependent, head in ends]


def place_columns(sides: list[Side], start: float) -> list[Column]:
    """Place the words with room for them, for the arc ends and for every arc's label."""
    columns: list[Column] = []
    for i in range(len(sides[0].words)):
        half, middle = 0.0, 0.0
        for side in sides:
            ends = [abs(e) for w, both in enumerate(side.ends) for e in _at(side, w, both, i)]
            bold = text_width(side.words[i], WORD_SIZE) * BOLD
            label = label_width(side.tree.labels[i]) if not side.tree.heads[i] else 0
            half = max(half, bold / 2 + 6, max(ends) + SLOT / 2, label / 2)
        middle = (columns[-1].right + GAP if columns else start) + half
        for side in sides:
            for word, head in enumerate(side.tree.heads):
                left, right = min(word, head - 1), max(word, head - 1)
                if head and right == i:
                    ends_by_place = dict(zip((word, head - 1), side.ends[word], strict=True))
                    room = label_width(side.tree.labels[word]) + 26
                    needed = room + ends_by_place[left] - ends_by_place[right]
                    middle = max(middle, columns[left].middle + needed)
        columns.append(Column(middle, middle + half))
    return columns


def _at(side: Side, word: int, both: tuple[float, float], place: int) -> list[float]:
    """List the ends of a word's arc that stand at `place`."""
    found = [both[0]] if word == place else []
    return [*found, both[1]] if side.tree.heads[word] == place + 1 else found
