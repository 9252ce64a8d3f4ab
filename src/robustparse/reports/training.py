"""Curves of a training run, from the ``metrics.csv`` in its folder.

For each score and the attack's success rate, there are plots of clean and attacked values over
training, of attacked values over training for each edit budget, and of the last values by budget.
Training is counted in steps; if the epochs of several runs end at different steps, a plot over
epochs is added.
"""

import csv
import math
import re
from collections import defaultdict
from pathlib import Path

from robustparse.errors import InputError
from robustparse.files.reading import read_text
from robustparse.metrics import score_label
from robustparse.reports.plots import BUDGET, EPOCH, SERIES, Curve, Plot, epoch_ends

FILE = "metrics.csv"
CONTROL = "control.txt"  # the command of the equal-compute control
HEADER = "step,name,value"
STEP = "training step"
SUCCESS, SIDES = "success", {"clean": "clean", "robust": "attacked"}

Points = dict[int, float]
Metrics = dict[str, Points]


def read_training(folder: Path, name: str) -> tuple[Plot, ...]:
    """Read the curves of a run; none if robustness was not evaluated.

    Raises:
        InputError: ``metrics.csv`` is missing, or `fit` did not write it.
    """
    metrics = read_metrics(folder / FILE)
    logged = re.compile(r"(?:clean|robust)/(\w+)(?:@[0-9.]+)?")
    names = {m[1] for key in metrics if (m := logged.fullmatch(key))} - {"queries"}
    over_training, by_budget, against_budget = list[Plot](), list[Plot](), list[Plot]()
    for measure in sorted(names, key=lambda measure: (measure == SUCCESS, measure)):
        curves = [
            _curve(label, metrics[f"{side}/{measure}"], metrics)
            for side, label in SIDES.items()
            if f"{side}/{measure}" in metrics
        ]
        over_training += _plot(measure, "over training", STEP, curves)
        budgets = _budgets(metrics, measure)
        drawn = _readable(sorted(budgets))
        curves = [_curve(f"{budget:g} %", budgets[budget], metrics) for budget in drawn]
        by_budget += _plot(measure, "over training, by edit budget", STEP, curves)
        step = max((step for points in budgets.values() for step in points), default=0)
        last = {each: points[step] for each, points in sorted(budgets.items()) if step in points}
        curves = [Curve(name, tuple(last), tuple(last.values()))] if last else []
        title = "against edit budget, last evaluation in training"
        against_budget += _plot(measure, title, BUDGET, curves)
    return (*over_training, *by_budget, *against_budget)


def over_epochs(plot: Plot) -> list[Plot]:
    """Plot the same over epochs, if they are known and differ between the curves."""
    if not all(curve.epochs for curve in plot.curves) or epoch_ends(plot.curves):
        return []
    curves = (Curve(curve.name, curve.epochs, curve.y) for curve in plot.curves)
    return [Plot(f"{plot.title}, by epoch", EPOCH, plot.y_label, tuple(curves))]


def read_metrics(path: Path) -> Metrics:
    """Map name -> step -> value for all finite values; leave out an incomplete last line.

    Raises:
        InputError: the file is missing, or is not a table of ``step,name,value``.
    """
    lines = read_text(path).split("\n")
    if lines[0] != HEADER:
        raise InputError(f"got {lines[0]!r}", path=path, line=1, expected=HEADER)
    metrics: Metrics = defaultdict(dict)
    # Text after the last newline was cut off by a kill; every line before it is whole.
    for number, line in enumerate(lines[1:-1], start=2):
        try:
            ((step, name, value),) = csv.reader([line])
            if math.isfinite(float(value)):
                metrics[name][int(step)] = float(value)
        except (ValueError, csv.Error):
            raise InputError(
                f"got {line[:60]!r}",
                path=path,
                line=number,
                expected="step, name and value",
                remedy="remove the line",
            ) from None
    return dict(metrics)


def _budgets(metrics: Metrics, measure: str) -> dict[float, Points]:
    """Map budget in percent -> step -> value."""
    at = re.compile(rf"robust/{measure}@([0-9]+\.?[0-9]*)")
    return {float(m[1]): points for key, points in metrics.items() if (m := at.fullmatch(key))}


def _plot(measure: str, title: str, x: str, curves: list[Curve]) -> list[Plot]:
    """Return the plot of some curves; none without curves."""
    name = "Success rate" if measure == SUCCESS else score_label(measure)
    unit = "success rate" if measure == SUCCESS else name
    return [Plot(f"{name} {title}", x, f"{unit}, %", tuple(curves))] if curves else []


def _curve(name: str, points: Points, metrics: Metrics) -> Curve:
    steps, epochs = sorted(points), metrics.get("epoch", {})
    known = tuple(epochs[step] for step in steps) if epochs.keys() >= points.keys() else ()
    return Curve(name, tuple(steps), tuple(points[step] for step in steps), known)


def _readable(budgets: list[float]) -> list[float]:
    """Choose at most as many budgets as there are line styles; keep the first and the last."""
    count = min(len(budgets), len(SERIES))
    if count < 2:
        return budgets
    return [budgets[round(i * (len(budgets) - 1) / (count - 1))] for i in range(count)]
