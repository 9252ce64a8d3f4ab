"""Plots: the right points, names at the lines' ends, no figure left open."""

import re
import subprocess
import sys
from itertools import pairwise
from xml.etree import ElementTree

import matplotlib as mpl
import pytest

from robustparse.reports.plots import SERIES, Curve, Plot, draw_plot, epoch_ends

SVG = "{http://www.w3.org/2000/svg}"


def plot(*curves: Curve, title: str = "LAS against the edit budget") -> Plot:
    return Plot(title, "edited words, %", "LAS, %", curves)


BUDGET = plot(
    Curve("clean", (0, 5, 10, 20), (90.0, 85.0, 80.0, 70.0)),
    Curve("robust", (0, 5, 10, 20), (89.0, 87.0, 86.0, 85.0)),
)


def markers(svg: str, series: int) -> list[tuple[float, float]]:
    root = ElementTree.fromstring(svg)
    return [
        (float(use.get("x", "")), float(use.get("y", "")))
        for use in root.iter(f"{SVG}use")
        if f"--series-{series}," in use.get("style", "")
    ]


def test_points_stand_where_the_values_say() -> None:
    drawn = draw_plot(BUDGET)
    first, second = markers(drawn, 1), markers(drawn, 2)
    assert len(first) == len(second) == 4
    assert [x for x, _ in first] == [x for x, _ in second]
    x0, x1 = first[0][0], first[3][0]
    assert [round((x - x0) / (x1 - x0), 4) for x, _ in first] == [0, 0.25, 0.5, 1]
    a_point = (first[3][1] - first[0][1]) / 20  # pixels downwards for one point of LAS
    assert a_point > 0
    for (_, y), las in zip(first + second, (90, 85, 80, 70, 89, 87, 86, 85), strict=True):
        assert (y - first[0][1]) / a_point == pytest.approx(90 - las, abs=1e-3)


def test_tenfold_queries_are_equally_far_on_a_logarithmic_axis() -> None:
    rising = Plot("Success", "queries", "%", (Curve("one", (10, 100, 1000), (0, 5, 6)),), True)
    drawn = draw_plot(rising)
    (x0, _), (x1, _), (x2, _) = markers(drawn, 1)
    assert x1 - x0 == pytest.approx(x2 - x1, abs=1e-3)
    assert ">1,000<" in drawn


@pytest.mark.parametrize("start", [80, 10], ids=["at the bottom", "at the top"])
def test_names_stand_at_the_lines_without_touching(start: float) -> None:
    close = plot(*(Curve(f"system {i}", (0, 1), (start, 70 + i / 100)) for i in range(6)))
    root = ElementTree.fromstring(draw_plot(close))
    texts = list(root.iter(f"{SVG}text"))
    names = [t for t in texts if (t.text or "").startswith("system")]
    assert len(names) == 6
    heights = sorted(float(t.get("y", "")) for t in names)
    assert all(b - a >= 16.9 for a, b in pairwise(heights))
    assert heights[0] > 10
    assert heights[-1] < 290
    order = sorted(names, key=lambda t: -float(t.get("y", "")))
    assert [t.text for t in order] == [f"system {i}" for i in range(6)]


def test_the_middle_of_a_long_name_is_left_out() -> None:
    drawn = draw_plot(plot(Curve("substitution_fgm: attacked", (0, 1), (1, 2))))
    texts = [t.text for t in ElementTree.fromstring(drawn).iter(f"{SVG}text")]
    assert "substitut\N{HORIZONTAL ELLIPSIS}: attacked" in texts


def test_long_names_of_equal_ends_are_shown_from_where_they_differ() -> None:
    ends = ("vectors", "vectors_2", "minilm")
    given = [f"ewt_biaffine_{name}/test_500/wang2021_open_15" for name in ends]
    drawn = draw_plot(plot(*(Curve(name, (0, 1), (1, 2)) for name in (*given, "another name"))))
    texts = {t.text for t in ElementTree.fromstring(drawn).iter(f"{SVG}text")}
    shown = ("vectors/test_500/w", "vectors_2/test_500", "minilm/test_500/wa")
    dots = "\N{HORIZONTAL ELLIPSIS}"
    assert {*(f"{dots}{part}{dots}" for part in shown), "another name"} <= texts


def test_epochs_stand_over_the_steps_that_end_them() -> None:
    steps = (99.0, 299.0, 399.0)
    over = Plot("a", "training step", "LAS, %", (Curve("a", steps, (50, 60, 70), (0, 2, 3)),))
    drawn = draw_plot(over)
    texts = list(ElementTree.fromstring(drawn).iter(f"{SVG}text"))
    top = min(float(t.get("y", "")) for t in texts)
    assert [t.text for t in texts if float(t.get("y", "")) == top] == ["epoch, from 0"]
    points = [x for x, _ in markers(drawn, 1)]
    shown = [t for t in texts if float(t.get("y", "")) < min(y for _, y in markers(drawn, 1))]
    places = {t.text: float(t.get("x", "")) for t in shown if t.text in ("0", "2", "3")}
    assert places == pytest.approx(dict(zip(("0", "2", "3"), points, strict=True)))
    assert "epoch" not in draw_plot(Plot("a", "training step", "LAS, %", (BUDGET.curves[0],)))


def test_as_many_epochs_are_named_as_have_room() -> None:
    epochs = tuple(range(3000))
    curve = Curve("a" * 20, tuple(10 * epoch + 9 for epoch in epochs), (50,) * 3000, epochs)
    texts = ElementTree.fromstring(draw_plot(plot(curve))).iter(f"{SVG}text")
    named = [t for t in texts if (t.text or "").isdigit() and float(t.get("y", "")) < 60]
    places = sorted(float(t.get("x", "")) for t in named)
    assert len(places) > 1
    assert all(b - a > 40 for a, b in pairwise(places))  # four digits take 34


@pytest.mark.parametrize(
    ("others", "known"),
    [
        (((9, 19), (0, 1)), True),
        (((9, 29), (0, 2)), True),
        (((9, 19), (0, 2)), False),  # step 19 ends another epoch
        (((9, 29), (0, 1)), False),  # epoch 1 ends at another step
        (((9, 19), ()), False),
    ],
)
def test_epochs_are_shown_where_all_curves_agree(
    others: tuple[tuple[float, ...], tuple[float, ...]], known: bool
) -> None:
    first, second = Curve("a", (9, 19), (50, 60), (0, 1)), Curve("b", others[0], (1, 2), others[1])
    assert bool(epoch_ends([first, second])) == known


def test_colors_are_variables_and_lines_differ_without_them() -> None:
    drawn = draw_plot(BUDGET)
    assert not re.search(r"(?<!, )#[0-9a-f]{6}\b", re.sub(r"var\([^)]*\)", "", drawn))
    assert "stroke-dasharray" in drawn
    assert all(f"var(--{name}, #" in drawn for name in ("muted", "grid", "series-1", "series-2"))


def test_text_stays_text_and_is_escaped() -> None:
    drawn = draw_plot(plot(Curve("$a_1$ <b>", (0, 1), (1, 2)), title="<T> & t"))
    root = ElementTree.fromstring(drawn)
    assert "$a_1$ <b>" in [t.text for t in root.iter(f"{SVG}text")]
    assert root.findtext(f"{SVG}title") == "<T> & t"
    assert "<b>" not in drawn


def test_pictures_on_one_page_do_not_disturb_each_other() -> None:
    both = draw_plot(BUDGET) + draw_plot(plot(BUDGET.curves[0], title="another"))
    ids = re.findall(r'\bid="([^"]+)"', both)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'href="#([^"]+)"', both)) <= set(ids)
    assert set(re.findall(r"url\(#([^)]+)\)", both)) <= set(ids)
    assert "<style" not in both


def test_the_same_plot_is_the_same_text_and_settings_stay() -> None:
    before = dict(mpl.rcParams)
    assert draw_plot(BUDGET) == draw_plot(BUDGET)
    assert dict(mpl.rcParams) == before


def test_pyplot_is_not_loaded() -> None:
    code = (
        "import sys; from robustparse.reports.plots import *;"
        "draw_plot(Plot('t', 'x', 'y', (Curve('a', (1,), (2,)),)));"
        "sys.exit('matplotlib.pyplot' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    "curves",
    [(), (Curve("a", (), ()),), (Curve("a", (1, 2), (1,)),), (Curve("a", (1,), (1,)),) * 7],
)
def test_unusable_curves_are_refused(curves: tuple[Curve, ...]) -> None:
    assert len(SERIES) == 6
    with pytest.raises(ValueError, match="curve"):
        draw_plot(plot(*curves))


def test_bounds_are_a_band_and_positions_have_names() -> None:
    lower = Curve("proven", (0, 1, 2), (90.0, 80.0, 60.0), upper=(90.0, 80.0, 95.0))
    plain = Curve("attacked", (0, 2), (90.0, 85.0))
    drawn = draw_plot(Plot("LAS", "words", "LAS, %", (lower, plain), ticks=("0", "1", "all")))
    texts = [t.text for t in ElementTree.fromstring(drawn).iter(f"{SVG}text")]
    assert {"0", "1", "all"} <= {*texts}
    assert "60.0 at all" in drawn
    assert "90" in texts  # the axis reaches up to the band
    (band,) = re.findall(r'style="fill: ([^"]*); (?:fill-)?opacity', drawn)
    assert band == f"var(--series-1, {SERIES[0]})"
    (dashed,) = {*re.findall(r'stroke-dasharray:[^"]*stroke: (var[^;"]*)', drawn)}
    assert dashed == f"var(--series-2, {SERIES[1]})"
