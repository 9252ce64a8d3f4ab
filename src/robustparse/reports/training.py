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
    measures = _measures(metrics)
    kinds = (
        [_over_training(metrics, measure) for measure in measures],
        [_by_budget(metrics, measure) for measure in measures],
        [_against_budget(metrics, measure, name) for measure in measures],
    )
    return tuple(plot for plots in kinds for plot in plots if plot is not None)


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


def _measures(metrics: Metrics) -> list[str]:
    """List the scores that were evaluated, by name, then the success rate."""
    logged = re.compile(r"(?:clean|robust)/(\w+)(?:@[0-9.]+)?")
    names = {m[1] for name in metrics if (m := logged.fullmatch(name))} - {"queries"}
    return sorted(names, key=lambda measure: (measure == SUCCESS, measure))


def _over_training(metrics: Metrics, measure: str) -> Plot | None:
    keys = {f"{side}/{measure}": label for side, label in SIDES.items()}
    curves = [_curve(label, metrics[key], metrics) for key, label in keys.items() if key in metrics]
    return _plot(measure, "over training", STEP, curves)


def _by_budget(metrics: Metrics, measure: str) -> Plot | None:
    budgets = _budgets(metrics, measure)
    curves = [
        _curve(f"{gamma:g} %", budgets[gamma], metrics) for gamma in _readable(sorted(budgets))
    ]
    return _plot(measure, "over training, by edit budget", STEP, curves)


def _against_budget(metrics: Metrics, measure: str, name: str) -> Plot | None:
    budgets = _budgets(metrics, measure)
    step = max((step for points in budgets.values() for step in points), default=0)
    last = {gamma: points[step] for gamma, points in sorted(budgets.items()) if step in points}
    curves = [Curve(name, tuple(last), tuple(last.values()))] if last else []
    return _plot(measure, "against edit budget, last evaluation in training", BUDGET, curves)


def _budgets(metrics: Metrics, measure: str) -> dict[float, Points]:
    """Map budget in percent -> step -> value."""
    at = re.compile(rf"robust/{measure}@([0-9]+\.?[0-9]*)")
    return {float(m[1]): points for key, points in metrics.items() if (m := at.fullmatch(key))}


def _plot(measure: str, title: str, x: str, curves: list[Curve]) -> Plot | None:
    name = "Success rate" if measure == SUCCESS else score_label(measure)
    unit = "success rate" if measure == SUCCESS else name
    return Plot(f"{name} {title}", x, f"{unit}, %", tuple(curves)) if curves else None


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
