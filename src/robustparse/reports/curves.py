"""Plots of several systems: plots with the same axes are merged, and several attacks form a curve.

Attacks on one model whose settings (``run.json``) differ only in the search's ``gamma`` are the
points of a curve.
"""

import copy
import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from robustparse.evaluation.records import RUN, SUMMARY, RunRecord
from robustparse.files.json_text import as_written
from robustparse.metrics import score_label
from robustparse.reports.attacked_systems import AttackedSystem
from robustparse.reports.plots import BUDGET, SERIES, Curve, Plot
from robustparse.reports.training import over_epochs

WITHIN = "Success within a number of queries"
NamedPlots = tuple[str, Sequence[Plot]]
"""A system or a training run, and its plots."""


def with_budget_curves(systems: Sequence[AttackedSystem]) -> list[AttackedSystem]:
    """Add the plot of each curve to the first system among its points."""
    groups: dict[str, dict[float, int]] = defaultdict(dict)
    for index, system in enumerate(systems):
        run = copy.deepcopy(system.run)
        with as_written(system.path / RUN, "attack"):
            gamma = _take_gamma(run)
        if gamma is not None and system.after is not None:
            groups[json.dumps(run, sort_keys=True)][gamma] = index
    shown = list(systems)
    for members in groups.values():
        if len(members) > 1:
            first = min(members.values())
            label = score_label(systems[first].task.scores.headline)
            title = f"{label} against edit budget, by attack"
            plot = Plot(title, BUDGET, f"{label}, %", (_budget_curve(members, systems),))
            shown[first] = replace(shown[first], plots=(*shown[first].plots, plot))
    return shown


def success_within(systems: Sequence[AttackedSystem]) -> dict[str, dict[int, float]]:
    """Return each system's success rates in percent within budgets of queries.

    All systems get the same budgets; beyond a system's last budget its rate stays the same.

    Raises:
        InputError: a budget of a summary is not a number.
    """
    rates: dict[str, dict[int, float]] = {}
    for system in systems:
        within = system.summary.get("success_within") or {}
        with as_written(system.path / SUMMARY, "attack"):
            known = {int(most): rate for most, rate in within.items()}
        if known:
            rates[system.name] = known
    budgets = sorted({budget for known in rates.values() for budget in known})
    return {
        name: {budget: known.get(budget, known[max(known)]) for budget in budgets}
        for name, known in rates.items()
    }


def query_plots(systems: Sequence[AttackedSystem]) -> list[Plot]:
    """Plot success against queries if there are several systems."""
    curves = tuple(
        Curve(name, tuple(map(float, rates)), tuple(rates.values()))
        for name, rates in success_within(systems).items()
    )
    if len(curves) < 2:
        return []
    return [Plot(WITHIN, "queries a sentence", "success, %", curves, logarithmic=True)]


def merge_plots(systems: Iterable[NamedPlots]) -> list[Plot]:
    """Merge plots with the same title and axes; split those with too many lines.

    If two systems have a curve of the same name, the curves are named after their systems.
    """
    groups: dict[tuple[str, str, str], list[tuple[str, Plot]]] = {}
    for name, plots in systems:
        for plot in plots:
            key = (plot.title, plot.x_label, plot.y_label)
            groups.setdefault(key, []).append((name, plot))
    merged = []
    for members in groups.values():
        _, first = members[0]
        parts = _split(_rename(members))
        for index, curves in enumerate(parts, 1):
            part = f" ({index})" if len(parts) > 1 else ""
            plot = replace(first, title=first.title + part, curves=curves)
            merged += [plot, *over_epochs(plot)]
    return merged


def _rename(members: Sequence[tuple[str, Plot]]) -> list[tuple[Curve, ...]]:
    """Give the curves of several systems different names."""
    names = [curve.name for _, plot in members for curve in plot.curves]
    if len(set(names)) == len(names):
        return [plot.curves for _, plot in members]
    return [
        tuple(replace(curve, name=f"{name}: {curve.name}") for curve in plot.curves)
        for name, plot in members
    ]


def _split(systems: Sequence[tuple[Curve, ...]]) -> list[tuple[Curve, ...]]:
    """Put as many systems into a plot as fit; split a system only if it fills more than a plot."""
    plots: list[tuple[Curve, ...]] = [()]
    for curves in systems:
        for start in range(0, len(curves), len(SERIES)):
            chunk = curves[start : start + len(SERIES)]
            if len(plots[-1]) + len(chunk) > len(SERIES):
                plots.append(())
            plots[-1] += chunk
    return plots


def _budget_curve(members: dict[float, int], systems: Sequence[AttackedSystem]) -> Curve:
    chosen = {100 * gamma: systems[index] for gamma, index in sorted(members.items())}
    first = next(iter(chosen.values()))
    scores = {0.0: first.before, **{x: system.after for x, system in chosen.items()}}
    known = {x: y for x, y in scores.items() if y is not None}
    last = systems[next(reversed(members.values()))]
    # The name of the victim's folder, or the victim's name if it is not a file.
    victim = next(iter(last.run.get("victims", [])), last.name)
    name = Path(victim).parent.name or victim
    return Curve(name, tuple(known), tuple(known.values()))


def _take_gamma(run: RunRecord) -> float | None:
    """Remove the search's ``gamma`` from a run, so that the rest can be compared; return it."""
    settings: Any = run
    for key in ("settings", "init_args", "search", "init_args"):
        settings = settings.get(key, {})
    gamma = settings.pop("gamma", None)
    return None if gamma is None else float(gamma)
