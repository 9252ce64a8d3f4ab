"""Plots of several systems put together, as long as they stay readable."""

from collections.abc import Sequence
from dataclasses import replace

from robustparse.report.folders import AttackFolder
from robustparse.report.plots import SERIES, Curve, Plot
from robustparse.report.training import TrainingRun, over_epochs


def merge_plots(systems: Sequence[AttackFolder], runs: Sequence[TrainingRun] = ()) -> list[Plot]:
    """Make one plot of those with the same title and axes; of more where they have too many lines.

    Where two systems call a curve alike, the curves of that plot are named after their systems.
    """
    groups: dict[tuple[str, str, str], list[tuple[str, Plot]]] = {}
    named = [(system.row.name, system.plots) for system in systems]
    for name, plots in [*named, *((run.name, run.plots) for run in runs)]:
        for plot in plots:
            key = (plot.title, plot.x_label, plot.y_label)
            groups.setdefault(key, []).append((name, plot))
    merged = []
    for (title, x, y), members in groups.items():
        together = _told_apart(members)
        for number, curves in enumerate(together, 1):
            part = f" ({number})" if len(together) > 1 else ""
            plot = Plot(title + part, x, y, curves)
            merged += [plot, *over_epochs(plot)]
    return merged


def _told_apart(members: Sequence[tuple[str, Plot]]) -> list[tuple[Curve, ...]]:
    """Return the curves of each plot to be made, by names that differ."""
    names = [curve.name for _, plot in members for curve in plot.curves]
    if len(set(names)) == len(names):
        return _fitting([plot.curves for _, plot in members])
    return _fitting(
        [
            tuple(replace(curve, name=f"{name}: {curve.name}") for curve in plot.curves)
            for name, plot in members
        ]
    )


def _fitting(systems: Sequence[tuple[Curve, ...]]) -> list[tuple[Curve, ...]]:
    """As many systems together as a plot has lines for; only one that has more is cut."""
    plots: list[tuple[Curve, ...]] = [()]
    for curves in systems:
        for start in range(0, len(curves), len(SERIES)):
            part = curves[start : start + len(SERIES)]
            if len(plots[-1]) + len(part) > len(SERIES):
                plots.append(())
            plots[-1] += part
    return plots
