"""Curves of a training run, from the ``metrics.csv`` in its folder.

Of UAS, LAS and the attack's success each: clean and robust over training, robust over training at
every edit budget, and the last evaluation against the budget. Training is counted in steps; where
the epochs of several runs end at different steps, a plot over epochs stands beside.
"""

import csv
import math
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from robustparse.errors import InputError
from robustparse.files import read_text
from robustparse.report.plots import EPOCH, SERIES, Curve, Plot, epoch_ends

FILE = "metrics.csv"
STEP, BUDGET = "training step", "words that may be changed, %"
MEASURES = {"las": "LAS", "uas": "UAS", "success": "success rate"}

Points = dict[int, float]
Figures = dict[str, Points]


@dataclass(frozen=True, slots=True)
class TrainingRun:
    """What a run's folder without an attack gives to a page.

    Args:
        name: how the page calls it.
        plots: its curves.
    """

    name: str
    plots: tuple[Plot, ...]


def read_training(folder: Path, name: str) -> TrainingRun:
    """Return the curves of a run; none where nothing was evaluated.

    Raises:
        InputError: there is no ``metrics.csv``, or it is none of ours.
    """
    figures = read_figures(folder / FILE)
    kinds = (_over_training(figures), _by_budget(figures), _against_budget(figures, name))
    return TrainingRun(name, tuple(plot for plots in kinds for plot in plots))


def over_epochs(plot: Plot) -> list[Plot]:
    """Return the same over epochs, if those are known and the plot over steps cannot show them."""
    if not all(curve.epochs for curve in plot.curves) or epoch_ends(plot.curves):
        return []
    curves = (Curve(curve.name, curve.epochs, curve.y) for curve in plot.curves)
    return [Plot(f"{plot.title}, by epoch", EPOCH, plot.y_label, tuple(curves))]


def read_figures(path: Path) -> Figures:
    """Name -> step -> value, of the figures that are finite; a torn last line is left out.

    Raises:
        InputError: the file is missing or no table of ``step,name,value``.
    """
    lines = read_text(path).split("\n")
    if lines[0] != "step,name,value":
        raise InputError(f"{path}:1: expected step,name,value as `fit` writes it, got {lines[0]!r}")
    figures: Figures = defaultdict(dict)
    # What stands after the last line's end was cut off by a kill; before, every line is whole.
    for number, row in enumerate(csv.reader(lines[1:-1]), start=2):
        try:
            step, name, value = row
            if math.isfinite(float(value)):
                figures[name][int(step)] = float(value)
        except ValueError:
            raise InputError(
                f"{path}:{number}: expected step, name and value, got {row!r}; remove the line"
            ) from None
    return dict(figures)


def _over_training(figures: Figures) -> Iterator[Plot]:
    for measure in MEASURES:
        sides = ((f"clean/{measure}", "clean"), (f"robust/{measure}", "attacked"))
        curves = [_curve(side, figures[key], figures) for key, side in sides if key in figures]
        if curves:
            yield _plot(measure, "over training", STEP, curves)


def _by_budget(figures: Figures) -> Iterator[Plot]:
    for measure in MEASURES:
        budgets = _budgets(figures, measure)
        curves = [
            _curve(f"{gamma:g} %", budgets[gamma], figures) for gamma in _readable(sorted(budgets))
        ]
        if curves:
            yield _plot(measure, "over training, by edit budget", STEP, curves)


def _against_budget(figures: Figures, name: str) -> Iterator[Plot]:
    for measure in MEASURES:
        if budgets := _budgets(figures, measure):
            step = max(step for points in budgets.values() for step in points)
            last = {gamma: points[step] for gamma, points in budgets.items() if step in points}
            curve = Curve(name, tuple(sorted(last)), tuple(last[gamma] for gamma in sorted(last)))
            what = "against edit budget, last evaluation in training"
            yield _plot(measure, what, BUDGET, [curve])


def _budgets(figures: Figures, measure: str) -> dict[float, Points]:
    """Budget in percent -> step -> value."""
    at = re.compile(rf"robust/{measure}@([0-9.]+)")
    return {float(m[1]): points for key, points in figures.items() if (m := at.fullmatch(key))}


def _plot(measure: str, what: str, x: str, curves: list[Curve]) -> Plot:
    name = MEASURES[measure]
    return Plot(f"{name[0].upper()}{name[1:]} {what}", x, f"{name}, %", tuple(curves))


def _curve(name: str, points: Points, figures: Figures) -> Curve:
    steps, epochs = sorted(points), figures.get("epoch", {})
    known = tuple(epochs[step] for step in steps) if epochs.keys() >= points.keys() else ()
    return Curve(name, tuple(steps), tuple(points[step] for step in steps), known)


def _readable(budgets: list[float]) -> list[float]:
    """As many budgets as a plot has lines, the first and the last among them."""
    count = min(len(budgets), len(SERIES))
    if count < 2:
        return budgets
    return [budgets[round(i * (len(budgets) - 1) / (count - 1))] for i in range(count)]
