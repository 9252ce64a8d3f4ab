"""Drawn trees: nothing overlaps, wrong arcs are marked, text is escaped."""

import re
from collections.abc import Sequence
from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pytest

from robustparse.tasks.tree_drawing import draw_pair
from robustparse.tasks.tree_layout import LABEL_SIZE, arc_levels, label_width, text_width
from robustparse.types import DependencyTree

SVG = "{http://www.w3.org/2000/svg}"
LABELS = ["nsubj", "obl:npmod", "acl:relcl", "det", "x", "compound", "punct"]

Box = tuple[float, float, float, float]


def random_tree(rng: np.random.Generator, n: int, *, projective: bool) -> DependencyTree:
    heads = [0] * n

    def attach(low: int, high: int, head: int) -> None:
        if low < high:
            root = int(rng.integers(low, high))
            heads[root] = head
            cut = int(rng.integers(low, root + 1))
            attach(low, cut, root + 1)
            attach(cut, root, root + 1)
            attach(root + 1, high, root + 1)

    attach(0, n, 0)
    if not projective:
        order = rng.permutation(n)
        renamed = [0] * n
        for i, head in enumerate(heads):
            renamed[order[i]] = int(order[head - 1]) + 1 if head else 0
        heads = renamed
    return DependencyTree(tuple(heads), tuple(str(x) for x in rng.choice(LABELS, n)))


def words(rng: np.random.Generator, n: int) -> tuple[str, ...]:
    return tuple("i" if rng.random() < 0.7 else "W" * int(rng.integers(1, 9)) for _ in range(n))


def drawn(
    names: Sequence[str],
    tree: DependencyTree,
    *,
    gold: DependencyTree | None = None,
    edited: Sequence[int] = (),
) -> ElementTree.Element:
    """A tree above the words, which are right below them."""
    gold = gold or tree
    return ElementTree.fromstring(draw_pair((names, names), gold, (tree, gold), edited))


def label_boxes(svg: ElementTree.Element) -> list[Box]:
    boxes = []
    for text in svg.iter(f"{SVG}text"):
        if "label" in text.get("class", ""):
            x, y = float(text.get("x", "")), float(text.get("y", ""))
            half = label_width(text.text or "") / 2
            boxes.append((x - half, y - LABEL_SIZE, x + half, y + 3))
    return boxes


def arcs(svg: ElementTree.Element) -> list[tuple[float, float, float, float]]:
    """(left, right, height, line of the words) of each arc."""
    found = []
    for path in svg.iter(f"{SVG}path"):
        if path.get("class") == "arc" and "Q" in path.get("d", ""):
            numbers = [float(x) for x in re.findall(r"-?[\d.]+", path.get("d", ""))]
            start, line, height, end = numbers[0], numbers[1], numbers[6], numbers[10]
            found.append((min(start, end), max(start, end), height, line))
    return found


def overlap(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


@pytest.mark.parametrize("projective", [True, False])
def test_levels_part_what_would_collide(projective: bool) -> None:
    rng = np.random.default_rng(0)
    for _ in range(100):
        heads = random_tree(rng, int(rng.integers(1, 20)), projective=projective).heads
        levels = arc_levels(heads)
        spans = {d: (min(d, h), max(d, h)) for d, h in enumerate(heads, 1) if h}
        for word, (left, right) in spans.items():
            assert levels[word - 1] >= 1
            for other, (start, end) in spans.items():
                if other != word and max(left, start) < min(right, end):
                    assert levels[word - 1] != levels[other - 1]
                    if left <= start and end <= right:
                        assert levels[word - 1] > levels[other - 1]
        assert levels[heads.index(0)] == 0


@pytest.mark.parametrize("projective", [True, False])
def test_labels_and_arcs_do_not_overlap(projective: bool) -> None:
    rng = np.random.default_rng(1)
    for _ in range(60):
        n = int(rng.integers(1, 16))
        gold, before, after = (random_tree(rng, n, projective=projective) for _ in range(3))
        both = (words(rng, n), words(rng, n))
        svg = ElementTree.fromstring(draw_pair(both, gold, (before, after), (n // 2,)))
        boxes = label_boxes(svg)
        assert len(boxes) == 2 * n
        assert not any(overlap(a, b) for i, a in enumerate(boxes) for b in boxes[:i])
        lines = arcs(svg)
        assert len(lines) == 2 * (n - 1)
        for i, (left, right, height, line) in enumerate(lines):
            assert right - left > 12
            for start, end, other, _ in lines[:i]:
                assert height != other or min(right, end) <= max(left, start) + 0.2
            uprights = [(x, *sorted((height, line))) for x in (left, right)]
            for x, top, bottom in uprights if projective else []:
                for a, y0, b, y1 in boxes:
                    assert not (a < x < b and top < y0 and y1 < bottom), "a line under a label"


def test_everything_is_inside_the_picture() -> None:
    rng = np.random.default_rng(2)
    for _ in range(40):
        n = int(rng.integers(1, 12))
        tree = random_tree(rng, n, projective=False)
        svg = drawn(words(rng, n), tree, edited=[0])
        width, height = float(svg.get("width", "")), float(svg.get("height", ""))
        for text in svg.iter(f"{SVG}text"):
            half = text_width(text.text or "", 16 if "word" in text.get("class", "") else 12) / 2
            assert half <= float(text.get("x", "")) <= width - half
            assert 10 <= float(text.get("y", "")) <= height - 2
        for left, right, y, _ in arcs(svg):
            assert left > 0
            assert right < width
            assert 0 < y < height


def test_words_keep_their_distance() -> None:
    rng = np.random.default_rng(3)
    tree = random_tree(rng, 12, projective=True)
    names = words(rng, 12)
    svg = drawn(names, tree)
    places = [t for t in svg.iter(f"{SVG}text") if t.get("class") == "word"][:12]
    edges = [(float(t.get("x", "")), text_width(t.text or "", 16) / 2) for t in places]
    for (x, half), (next_x, next_half) in pairwise(edges):
        assert next_x - x >= half + next_half + 10


def test_wrong_arcs_and_labels_are_marked() -> None:
    gold = DependencyTree((2, 0, 2, 3), ("a", "root", "b", "c"))
    found = DependencyTree((2, 0, 4, 2), ("x", "root", "b", "c"))
    svg = drawn(["w"] * 4, found, gold=gold)
    marks = [g.get("class") for g in svg.iter(f"{SVG}g")]
    # one group for each arc and one for each label, in the order of the words
    assert marks == [*["mislabelled", "right", "wrong", "wrong"] * 2, *["right"] * 8]
    assert [r.get("class") for r in svg.iter(f"{SVG}rect")] == ["tag"]
    assert "stroke-dasharray" in "".join(svg.itertext())


def test_substituted_words_are_boxed_in_both_rows() -> None:
    tree = DependencyTree((2, 0, 2), ("a", "root", "b"))
    svg = ElementTree.fromstring(draw_pair(("xyz", "xqr"), tree, (tree, tree), (1, 2)))
    edited = [t.text for t in svg.iter(f"{SVG}text") if t.get("class") == "word edited"]
    assert edited == ["y", "z", "q", "r"]
    assert sum(r.get("class") == "box" for r in svg.iter(f"{SVG}rect")) == 4
    assert sum(p.get("class") == "swap" for p in svg.iter(f"{SVG}path")) == 2


def test_text_is_escaped_and_nothing_comes_from_outside() -> None:
    nasty = ("<script>alert(1)</script>", "\"&'", "\x00\x1b\ufffe", "日本語", "a\u200cb")
    tree = DependencyTree((0, 1, 1, 1, 1), ("<root>", "&", "x", "y", "z"))
    text = draw_pair((nasty, nasty), tree, (tree, tree), (0,))
    svg = ElementTree.fromstring(text)  # well-formed
    texts = [t.text for t in svg.iter(f"{SVG}text")]
    assert texts.count(nasty[0]) == 2
    assert "\ufffd\ufffd\ufffd" in texts
    assert "a\u200cb" in texts
    assert "<script" not in text
    assert not re.search(r"href|url\(|@import|src=", text)


def test_a_label_moves_aside_for_a_line_that_crosses_its_arc() -> None:
    tree = DependencyTree((3, 0, 2), ("nsubj", "root", "obj"))  # ROOT's line crosses arc 1 to 3
    svg = drawn(["WWWWWW"] * 3, tree)
    root, _ = (t for t in svg.iter(f"{SVG}text") if t.get("class") == "label root")
    boxes = [box for box in label_boxes(svg)[:3] if box[1] > float(root.get("y", ""))]
    assert len(boxes) == 2
    assert not any(a < float(root.get("x", "")) < b for a, _, b, _ in boxes)
