"""Draws dependency trees as SVG: arcs over words, for a sentence before and after an attack.

Also draws the gold tree of a certificate, each arc as certified, refuted or undecided.

`tree_layout` computes all positions. The pictures contain no scripts and no links; colors are CSS
variables with defaults, so that a page can set them. Wrong arcs are dashed and wrong labels boxed,
in addition to their color.
"""

import re
from collections.abc import Sequence
from html import escape
from pathlib import Path

from robustparse.tasks.tree_layout import (
    BOLD,
    LABEL_SIZE,
    LEVEL,
    WORD_SIZE,
    Column,
    Side,
    label_middle,
    label_width,
    make_side,
    place_columns,
    text_width,
)
from robustparse.types import DependencyTree

ROW = 44.0  # between the words before and the words after
MARGIN = 14.0
GUTTER = 54.0  # for "before" and "after"

# Explains colors, dashes and boxes.
LEGEND = Path(__file__).with_name("tree_legend.html").read_text("utf-8").strip()
CERTIFICATE_LEGEND = Path(__file__).with_name("certificate_legend.html").read_text("utf-8").strip()
NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

STYLE = Path(__file__).with_name("tree.css").read_text("utf-8").strip()


def draw_pair(
    words: tuple[Sequence[str], Sequence[str]],
    gold: DependencyTree,
    trees: tuple[DependencyTree, DependencyTree],
    edited: Sequence[int],
) -> str:
    """Draw both parses in shared columns: arcs before above the words, arcs after below them.

    Args:
        words: the n words of the original sentence, and of the perturbed sentence.
        gold: the gold parse of the original sentence.
        trees: the parses of the original sentence, and of the perturbed sentence.
        edited: positions of the substituted words, from 0.

    Returns:
        A complete `<svg>` element.
    """
    upper, lower = (
        make_side(words_of_side, tree, gold, direction)
        for words_of_side, tree, direction in zip(words, trees, (-1, 1), strict=True)
    )
    columns = place_columns([upper, lower], MARGIN + GUTTER)
    top = MARGIN + upper.height
    first, second = top + WORD_SIZE + 6, top + WORD_SIZE + 6 + ROW
    bottom = second + 13
    body = []
    for side, line in ((upper, top), (lower, bottom)):
        verdicts = [_verdict(side, word) for word in range(len(side.words))]
        body += _arcs(side, columns, line, verdicts)
    for y, text in ((first, "before"), (second, "after")):
        body.append(_text(MARGIN + GUTTER / 2 - 6, y, text, "side"))
    body += _words(upper, columns, first, edited)
    body += _words(lower, columns, second, edited)
    for i in edited:
        x, start, end = columns[i].middle, first + 8, second - WORD_SIZE - 5
        body.append(f'<path class="swap" d="M{x:.1f} {start:.1f}V{end:.1f}m-4 -5l4 5l4 -5"/>')
    title = " / ".join(map(" ".join, words))
    return _svg(body, columns[-1].right + MARGIN, bottom + lower.height + MARGIN, title)


def draw_judged(
    words: Sequence[str], tree: DependencyTree, verdicts: Sequence[str], titles: Sequence[str]
) -> str:
    """Draw one tree above its words, each arc in the style of a verdict.

    Args:
        words: the n words of the sentence.
        tree: its parse.
        verdicts: for each word, the class of its arc: ``right`` (solid), ``wrong`` (dashed),
            ``undecided`` (dotted), ``mislabelled`` (only the label is wrong), also several with
            spaces between; or ``uncounted`` (pale).
        titles: for each word, a text that appears when a pointer rests on its arc; or empty.

    Returns:
        A complete `<svg>` element.
    """
    side = make_side(words, tree, tree, -1)
    columns = place_columns([side], MARGIN)
    line = MARGIN + side.height
    baseline = line + WORD_SIZE + 6
    body = _arcs(side, columns, line, verdicts, titles) + _words(side, columns, baseline, ())
    return _svg(body, columns[-1].right + MARGIN, baseline + MARGIN, " ".join(words))


def _arcs(
    side: Side,
    columns: list[Column],
    line: float,
    verdicts: Sequence[str],
    titles: Sequence[str] = (),
) -> list[str]:
    """Draw the arcs, and then their labels, so that no line covers a label."""
    groups = [f'<g class="{verdict}">' for verdict in verdicts]
    for word, title in enumerate(titles):
        groups[word] += f"<title>{_escaped(title)}</title>" if title else ""
    lines, labels = [], []
    for word, (head, label) in enumerate(zip(side.tree.heads, side.tree.labels, strict=True)):
        x = columns[word].middle + side.ends[word][0]
        way = side.direction
        if head:
            far = columns[head - 1].middle + side.ends[word][1]
            height = side.levels[word] * LEVEL
            bend = min(9.0, abs(far - x) / 2)
            turn = bend if x > far else -bend
            y = line + way * height
            path = (
                f"M{far:.1f} {line:.1f}V{y - way * bend:.1f}Q{far:.1f} {y:.1f} "
                f"{far + turn:.1f} {y:.1f}H{x - turn:.1f}Q{x:.1f} {y:.1f} "
                f"{x:.1f} {y - way * bend:.1f}V{line + way * 5:.1f}"
            )
            labels.append((word, label_middle(side, columns, word), y + 4, label, "label"))
        else:
            y = line + way * (max(side.levels) + 1) * LEVEL
            path = f"M{x:.1f} {y:.1f}V{line + way * 5:.1f}"
            labels.append((word, x, y + (LABEL_SIZE - 2 if way > 0 else -2), label, "label root"))
        tip = f"M{x:.1f} {line:.1f}l-4 {way * 8}h8z"
        lines.append(
            f'{groups[word]}<path class="arc" d="{path}"/><path class="tip" d="{tip}"/></g>'
        )
    for word, x, y, label, kind in labels:
        width = label_width(label) + 8
        box = f'<rect class="tag" x="{x - width / 2:.1f}" y="{y - 13:.1f}" width="{width:.1f}" '
        box = f'{box}height="18" rx="4"/>' if "mislabelled" in verdicts[word] else ""
        lines.append(f"{groups[word]}{box}{_text(x, y, label, kind)}</g>")
    return lines


def _verdict(side: Side, word: int) -> str:
    if side.tree.heads[word] != side.gold.heads[word]:
        return "wrong"
    return "right" if side.tree.labels[word] == side.gold.labels[word] else "mislabelled"


def _words(side: Side, columns: list[Column], baseline: float, edited: Sequence[int]) -> list[str]:
    elements = []
    for i, word in enumerate(side.words):
        x = columns[i].middle
        if i in edited:
            width = text_width(word, WORD_SIZE) * BOLD + 12
            elements.append(
                f'<rect class="box" x="{x - width / 2:.1f}" y="{baseline - WORD_SIZE - 2:.1f}" '
                f'width="{width:.1f}" height="{WORD_SIZE + 9:.1f}" rx="5"/>'
            )
        elements.append(_text(x, baseline, word, "word edited" if i in edited else "word"))
    return elements


def _text(x: float, y: float, text: str, kind: str) -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{_escaped(text)}</text>'


def _escaped(text: str) -> str:
    """Escape markup, and replace characters that are not allowed in XML."""
    return escape(NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text))


def _svg(body: list[str], width: float, height: float, title: str) -> str:
    return (
        f'<svg class="rp-tree" xmlns="http://www.w3.org/2000/svg" role="img" '
        f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}">'
        f"<title>{_escaped(title)}</title><style>{STYLE}</style>{''.join(body)}</svg>"
    )
