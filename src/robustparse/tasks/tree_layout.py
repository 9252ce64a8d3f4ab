"""Positions of words, arcs and labels in the drawing of a dependency tree, in pixels.

An arc is above every arc that it encloses, and on another level than every arc that it crosses.
Columns are wide enough for the labels of arcs, and the ends of arcs at a word are spread so that
lines do not overlap.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple
from unicodedata import east_asian_width

from robustparse.types import DependencyTree

WORD_SIZE = 16.0
LABEL_SIZE = 12.0
LEVEL = 25.0  # between two levels of arcs, and from the words to the first level
SLOT = 9.0  # between two arc ends at one word
GAP = 17.0  # between two words
BOLD = 1.08  # width of bold text relative to regular text


class Column(NamedTuple):
    """The horizontal position of a word."""

    middle: float
    right: float


@dataclass(frozen=True, slots=True)
class Side:
    """A row of words with its arcs above (`direction` -1) or below (1)."""

    words: Sequence[str]
    tree: DependencyTree
    gold: DependencyTree
    levels: list[int]
    ends: list[tuple[float, float]]
    direction: int

    def span(self, word: int, columns: list[Column]) -> tuple[float, float]:
        """Return the left and right end of a word's arc; they are equal for arcs from ROOT."""
        start = columns[word].middle + self.ends[word][0]
        head = self.tree.heads[word]
        end = columns[head - 1].middle + self.ends[word][1] if head else start
        return min(start, end), max(start, end)

    @property
    def height(self) -> float:
        """The distance from the words to the outer edge of the ROOT label."""
        return (max(self.levels) + 1) * LEVEL + LABEL_SIZE


def arc_levels(heads: Sequence[int]) -> list[int]:
    """Assign levels to arcs: above the arcs that they enclose, different if they cross.

    Args:
        heads: n integers in 0..n.

    Returns:
        n levels from 1; 0 for words with the head ROOT.
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
    """Return the middle of an arc's label: near the arc's middle, between lines that cross it."""
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
    free = [min(max(middle, a + half), b - half) for a, b in pairwise(bounds) if b - a >= 2 * half]
    return min(free, key=lambda x: abs(x - middle), default=middle)


def label_width(label: str) -> float:
    """Estimate the width of an arc's label in bold, in pixels."""
    return text_width(label, LABEL_SIZE) * BOLD


def text_width(text: str, size: float) -> float:
    """Estimate an upper limit of a text's width in a sans-serif font of `size` pixels."""
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
    """Lay out the arcs of a tree above (`direction` -1) or below (1) its words."""
    levels = arc_levels(tree.heads)
    return Side(words, tree, gold, levels, _ends(tree.heads, levels), direction)


def _ends(heads: Sequence[int], levels: list[int]) -> list[tuple[float, float]]:
    """Return the distances of each arc's ends (dependent, head) from the middle of their words.

    The order at a word, from left to right, is: arcs to the left, the lowest first; ROOT; arcs to
    the right, the highest first. Then no vertical line crosses another arc at the same word.
    """
    at: list[list[tuple[int, int, int, int]]] = [[] for _ in heads]
    for word, head in enumerate(heads):
        if not head:
            at[word].append((0, 0, word, 0))
            continue
        for position, other, which in ((word, head - 1, 0), (head - 1, word, 1)):
            side = -1 if other < position else 1
            at[position].append((side, -side * levels[word], word, which))
    ends = [[0.0, 0.0] for _ in heads]
    for ends_at_word in at:
        for rank, (_, _, word, which) in enumerate(sorted(ends_at_word)):
            ends[word][which] = (rank - (len(ends_at_word) - 1) / 2) * SLOT
    return [(dependent, head) for dependent, head in ends]


def place_columns(sides: list[Side], start: float) -> list[Column]:
    """Return columns that are wide enough for words, ends of arcs and labels."""
    columns: list[Column] = []
    for i in range(len(sides[0].words)):
        half, middle = 0.0, 0.0
        for side in sides:
            ends = [abs(end) for word in range(len(side.ends)) for end in _ends_at(side, word, i)]
            bold = text_width(side.words[i], WORD_SIZE) * BOLD
            label = label_width(side.tree.labels[i]) if not side.tree.heads[i] else 0
            half = max(half, bold / 2 + 6, max(ends) + SLOT / 2, label / 2)
        middle = (columns[-1].right + GAP if columns else start) + half
        for side in sides:
            for word, head in enumerate(side.tree.heads):
                left, right = min(word, head - 1), max(word, head - 1)
                if head and right == i:
                    ends_at = dict(zip((word, head - 1), side.ends[word], strict=True))
                    needed = label_width(side.tree.labels[word]) + 26
                    needed += ends_at[left] - ends_at[right]
                    middle = max(middle, columns[left].middle + needed)
        columns.append(Column(middle, middle + half))
    return columns


def _ends_at(side: Side, word: int, position: int) -> list[float]:
    """Return the ends of a word's arc at a position."""
    at = (word == position, side.tree.heads[word] == position + 1)
    return [end for end, matches in zip(side.ends[word], at, strict=True) if matches]
