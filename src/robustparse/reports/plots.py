"""Line plots as inline SVG: scores against an edit budget, queries or training.

Training is counted in steps, with the epochs that end there on top, or in epochs.

Matplotlib's SVG backend draws on a figure of its own, without pyplot and without global state. Each
line has a color, a marker, a dash pattern and its name at its right end, so that no reading rests
on color only. Text stays text. Colors become CSS variables (`--ink`, `--grid`, `--series-1` ...)
with fallbacks, so that a page can set them for light and dark.
"""

import io
import math
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from itertools import takewhile
from typing import Literal, get_args

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, NullLocator, StrMethodFormatter

from robustparse.tasks.tree_layout import text_width

# Colour-blind safe after Okabe and Ito, darkened until text in them has a contrast of 4.5 on white.
SERIES = ("#0067a5", "#b84a00", "#00735a", "#8d3f86", "#5c5c00", "#a8324a")
MARKERS = ("o", "s", "^", "D", "v", "P")
DASHES = ("-", (0, (6, 2)), (0, (2, 1.5)), (0, (7, 2, 2, 2)), (0, (4, 1, 1, 1, 1, 1)), (0, (9, 2)))
INK, MUTED, GRID = "#1d2433", "#5b6577", "#dfe3ea"

WIDTH, HEIGHT, DPI = 420, 290, 72  # pixels; at 72 a point of matplotlib is a pixel
BUDGET = "words that may be changed, %"
EPOCH = "epoch, from 0"  # as logs count them
EPOCHS = 44  # pixels that an axis of epochs adds to the height
TICKS = 7  # numbers on a horizontal axis, if there is room for them
_LEFT_OUT = "\N{HORIZONTAL ELLIPSIS}"
TEXT = 13.0

Kind = Literal["png", "svg"]
KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True, slots=True)
class Curve:
    """One line of a plot.

    Args:
        name: written at the line's end.
        x: positions, ascending; edit budgets in percent of the words, queries, training steps, or
            epochs.
        y: scores in percent, as many as x.
        epochs: the epoch of each x that is a training step; empty if they are not known.
        upper: upper bounds, if y are lower bounds: the line is solid, with a band up to them, and
            lines without a bound in the same plot are dashed.
    """

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    epochs: tuple[float, ...] = ()
    upper: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Plot:
    """The content of a picture.

    Args:
        title: the heading on the page; the picture itself has it for screen readers only.
        x_label: what x counts, with its unit.
        y_label: what y counts, with its unit.
        curves: one to six lines.
        logarithmic: the scale of x.
        ticks: names of the positions 0, 1, 2 ... if x is no quantity; x are such positions.
        note: a caption for the page.
    """

    title: str
    x_label: str
    y_label: str
    curves: tuple[Curve, ...]
    logarithmic: bool = False
    ticks: tuple[str, ...] = ()
    note: str = ""

    def name_of(self, x: float) -> str:
        """Write a position as the axis does."""
        return self.ticks[int(x)] if self.ticks else f"{x:g}"


def epoch_ends(curves: Sequence[Curve]) -> list[tuple[float, float]]:
    """Return pairs of a step and the epoch that it ends.

    There are none if a curve has no epochs, or if epochs end at different steps.
    """
    ends = sorted({end for curve in curves for end in zip(curve.x, curve.epochs, strict=False)})
    numbers = [len(set(places)) for places in zip(*ends, strict=True)]
    known = all(curve.epochs for curve in curves)
    return ends if known and all(number == len(ends) for number in numbers) else []


def draw_plot(plot: Plot) -> str:
    """Draw a plot.

    Returns:
        A complete `<svg>` element that scales to the width it is given.

    Raises:
        ValueError: there are no curves, more than six, or one without points.
    """
    height = HEIGHT + (EPOCHS if epoch_ends(plot.curves) else 0)
    return _inline(picture(plot, "svg", "none").decode(), plot, height)


@contextmanager
def drawing(title: str, text: Literal["none", "path"] = "path") -> Iterator[None]:
    """Set matplotlib's options for a picture; SVG has letters as text or as outlines."""
    with rc_context(
        {
            "svg.fonttype": text,
            "svg.hashsalt": title,
            "font.family": "sans-serif",
            "font.size": TEXT,
            "text.parse_math": False,  # a name may hold a dollar sign
        }
    ):
        yield


def saved(figure: Figure, kind: Kind) -> bytes:
    """Return a figure as the content of a file, without the date and the program's name."""
    out = io.BytesIO()
    removed = {"Date": None, "Creator": None} if kind == "svg" else {"Software": None}
    figure.savefig(out, format=kind, dpi=DPI if kind == "svg" else 300, metadata=removed)
    return out.getvalue()


def picture(plot: Plot, kind: Kind, text: Literal["none", "path"] = "path") -> bytes:
    """Draw a plot as the content of a file: PNG of 300 dots an inch, or SVG; see `drawing`.

    Raises:
        ValueError: see `draw_plot`.
    """
    if not 0 < len(plot.curves) <= len(SERIES):
        raise ValueError(f"a plot needs 1 to {len(SERIES)} curves, got {len(plot.curves)}")
    if any(not curve.x or len(curve.x) != len(curve.y) for curve in plot.curves):
        raise ValueError("each curve needs at least one x and as many y")
    with drawing(plot.title, text):
        ends = epoch_ends(plot.curves)
        height = HEIGHT + (EPOCHS if ends else 0)
        figure = Figure(figsize=(WIDTH / DPI, height / DPI), dpi=DPI)
        names = _shortened([curve.name for curve in plot.curves])
        room = max(text_width(name, TEXT) for name in names) + 16
        left, bottom = 58, 50
        inside = (WIDTH - left - room, HEIGHT - 62)
        box = (left / WIDTH, bottom / height, inside[0] / WIDTH, inside[1] / height)
        axes = figure.add_axes(box)
        _lines(axes, plot, names)
        if ends:
            _epochs(axes, ends)
        return saved(figure, kind)


def _shortened(given_names: Sequence[str]) -> list[str]:
    """Shorten names to 20 letters: both ends, or the text from the first difference."""
    names = [" ".join(name.split()) or "unnamed" for name in given_names]
    # The ends name the system and the curve.
    ends = [name if len(name) <= 20 else f"{name[:9]}{_LEFT_OUT}{name[-10:]}" for name in names]
    alike = [
        [other for other, end in zip(names, ends, strict=True) if end == name_end]
        for name_end in ends
    ]
    return [
        end if len(set(group)) == 1 else _from_difference(name, group)
        for name, end, group in zip(names, ends, alike, strict=True)
    ]


def _from_difference(name: str, group: Sequence[str]) -> str:
    """Return part of a name, from the first word in which names of a group differ."""
    words = [re.split("(?<=[_/ ])", member) for member in group]
    same = takewhile(lambda alike: len(set(alike)) == 1, zip(*words, strict=False))
    rest = name[sum(len(word) for word, *_ in same) :]
    return f"{_LEFT_OUT}{rest}" if len(rest) < 20 else f"{_LEFT_OUT}{rest[:18]}{_LEFT_OUT}"


def _lines(axes: Axes, plot: Plot, names: Sequence[str]) -> None:
    bounded = any(curve.upper for curve in plot.curves)
    for curve, color, marker, dash in zip(plot.curves, SERIES, MARKERS, DASHES, strict=False):
        dense = len(curve.x) > 15
        if curve.upper:
            axes.fill_between(curve.x, curve.y, curve.upper, color=color, alpha=0.18, linewidth=0)
        axes.plot(
            curve.x,
            curve.y,
            color=color,
            linestyle=("-" if curve.upper else DASHES[1]) if bounded else dash,
            linewidth=2.2,
            marker=marker,
            markersize=6,
            markevery=max(1, len(curve.x) // 8) if dense else 1,
        )
    low = min(min(curve.y) for curve in plot.curves)
    high = max(max(curve.y + curve.upper) for curve in plot.curves)
    slack = max((high - low) * 0.08, 0.5)
    axes.set_ylim(low - slack, high + slack)
    axes.yaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
    if plot.logarithmic:
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
        axes.xaxis.set_minor_locator(NullLocator())
    elif plot.ticks:
        axes.set_xticks(range(len(plot.ticks)), plot.ticks)
    else:
        ticks = _ticks(axes, max(max(curve.x) for curve in plot.curves))
        axes.xaxis.set_major_locator(MaxNLocator(ticks, integer=True, steps=[1, 2, 5, 10]))
    axes.set_xlabel(plot.x_label, color=MUTED, labelpad=8)
    axes.set_ylabel(plot.y_label, color=MUTED, labelpad=8)
    axes.tick_params(colors=MUTED, length=0, pad=6)
    axes.grid(axis="y", color=GRID, linewidth=1)
    axes.set_axisbelow(True)
    for side, spine in axes.spines.items():
        spine.set_visible(side == "bottom")
        spine.set_color(MUTED)
    _name_lines(axes, [curve.y[-1] for curve in plot.curves], names)


def _name_lines(axes: Axes, ends: Sequence[float], names: Sequence[str]) -> None:
    low, high = axes.get_ylim()
    scale = axes.bbox.height / (high - low)
    for name, color, y in zip(names, SERIES, _apart(ends, 17 / scale, high), strict=False):
        axes.annotate(
            name,
            (1.0, y),
            xycoords=("axes fraction", "data"),
            xytext=(8, 0),
            textcoords="offset points",
            color=color,
            va="center",
            annotation_clip=False,
        )


def _ticks(axes: Axes, largest: float) -> int:
    """Count the numbers up to this one for which an axis has room."""
    return max(2, min(TICKS, int(axes.bbox.width / (text_width(f"{largest:.0f}", TEXT) + 10))))


def _epochs(axes: Axes, ends: Sequence[tuple[float, float]]) -> None:
    top = axes.secondary_xaxis("top")
    steps, epochs = zip(*ends[:: math.ceil(len(ends) / _ticks(axes, ends[-1][1]))], strict=True)
    top.set_xticks(steps, [f"{epoch:g}" for epoch in epochs])
    top.set_xlabel(EPOCH, color=MUTED, labelpad=8)
    top.tick_params(colors=MUTED, length=4, color=GRID, pad=4)
    top.spines["top"].set_visible(False)


def _apart(positions: Sequence[float], distance: float, high: float = math.inf) -> list[float]:
    """Move positions as little as needed to be `distance` apart and not above `high`."""
    order = sorted(range(len(positions)), key=lambda i: positions[i])
    groups: list[tuple[float, int]] = []  # (middle, size) of labels that touch, from below
    for i in order:
        groups.append((positions[i], 1))
        while len(groups) > 1:
            (a, m), (b, n) = groups[-2:]
            if b - a >= distance * (m + n) / 2:
                break
            groups[-2:] = [((a * m + b * n) / (m + n), m + n)]
    spread = [a + distance * (k - (m - 1) / 2) for a, m in groups for k in range(m)]
    for k in reversed(range(len(spread))):
        spread[k], high = min(spread[k], high), min(spread[k], high) - distance
    return [spread[order.index(i)] for i in range(len(positions))]


def _inline(svg: str, plot: Plot, height: int) -> str:
    """Adapt matplotlib's document to a page: unique ids, a size, CSS variables, a title."""
    svg = svg[svg.index("<svg") :]
    opening = svg.index(">") + 1
    description = "; ".join(
        f"{curve.name}: {curve.y[0]:.1f} at {plot.name_of(curve.x[0])} "
        f"to {curve.y[-1]:.1f} at {plot.name_of(curve.x[-1])}"
        for curve in plot.curves
    )
    head = (
        f'<svg class="rp-plot" xmlns="http://www.w3.org/2000/svg" '
        f'xmlns:xlink="http://www.w3.org/1999/xlink" role="img" width="{WIDTH}" height="{height}" '
        f'viewBox="0 0 {WIDTH} {height}"><title>{escape(plot.title)}</title>'
        f"<desc>{escape(description)}</desc>"
    )
    # The first <defs> holds a style for every element of the page.
    style = svg.index("</defs>", opening) + len("</defs>")
    body = re.sub(r"<metadata>.*?</metadata>", "", svg[style:], flags=re.DOTALL)
    # Ids are global in a page, and matplotlib numbers them afresh in every figure.
    prefix = "p" + re.sub(r"[^0-9a-z]+", "-", plot.title.lower())
    body = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{prefix}-", body)
    names = {INK: "ink", MUTED: "muted", GRID: "grid"}
    names |= {color: f"series-{i}" for i, color in enumerate(SERIES, 1)}
    for color, name in names.items():
        body = re.sub(rf"(?<=: ){color}\b", f"var(--{name}, {color})", body)
    # The backend fills the figure and the axes with white; the page's background must show.
    body = body.replace("fill: #ffffff", "fill: none")
    body = re.sub(r"font-family: [^;\"]*", "font-family: system-ui, sans-serif", body)
    return head + body.rstrip()
