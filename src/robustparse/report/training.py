"""Curves of a training run, from the ``metrics.csv`` in its folder.

Clean and robust scores over training, robust scores over training at every edit budget, and the
last evaluation's scores against the budget.
"""

import csv
import math
import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from robustparse.errors import InputError
from robustparse.files import read_text
from robustparse.report.plots import SERIES, Curve, Plot

FILE = "metrics.csv"
STEP, BUDGET = "training step", "words that may be changed, %"

_AT = re.compile(r"robust/las@([0-9.]+)")

Points = dict[int, float]


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
    """The curves of a run; none where nothing was evaluated.

    Raises:
        InputError: there is no ``metrics.csv``, or it is none of ours.
    """
    figures = read_figures(folder / FILE)
    budgets = {float(m[1]): points for key, points in figures.items() if (m := _AT.fullmatch(key))}
    over = [
        _curve(shown, figures[key])
        for key, shown in (("clean/las", "clean"), ("robust/las", "attacked"))
        if key in figures
    ]
    plots = [Plot("LAS over training", STEP, "LAS, %", tuple(over))] if over else []
    if budgets:
        at = [_curve(f"{gamma:g} %", budgets[gamma]) for gamma in _readable(sorted(budgets))]
        title = "LAS over training, by edit budget"
        plots.append(Plot(title, STEP, "LAS, %", tuple(at)))
        step = max(step for points in budgets.values() for step in points)
        last = {gamma: points[step] for gamma, points in budgets.items() if step in points}
        curve = Curve(name, tuple(sorted(last)), tuple(last[gamma] for gamma in sorted(last)))
        title = "LAS against edit budget, last evaluation in training"
        plots.append(Plot(title, BUDGET, "LAS, %", (curve,)))
    return TrainingRun(name, tuple(plots))


def read_figures(path: Path) -> dict[str, Points]:
    """Name -> step -> value, of the figures that are finite; a torn last line is left out.

    Raises:
        InputError: the file is missing or no table of ``step,name,value``.
    """
    lines = read_text(path).split("\n")
    if lines[0] != "step,name,value":
        raise InputError(f"{path}:1: expected step,name,value as `fit` writes it, got {lines[0]!r}")
    figures: dict[str, Points] = defaultdict(dict)
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


def _curve(name: str, points: Points) -> Curve:
    steps = sorted(points)
    return Curve(name, tuple(steps), tuple(points[step] for step in steps))


def _readable(budgets: list[float]) -> list[float]:
    """As many budgets as a plot has lines, the first and the last among them."""
    count = min(len(budgets), len(SERIES))
    if count < 2:
        return budgets
    return [budgets[round(i * (len(budgets) - 1) / (count - 1))] for i in range(count)]
