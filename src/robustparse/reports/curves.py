"""Plots of several systems: put together where they share axes, and made of several attacks.

Attacks of one parser that differ only in the search's ``gamma`` are the points of one curve; what
an attack was run with is in its ``run.json``.
"""

import copy
import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from robustparse.evaluation.lines import RUN, SUMMARY
from robustparse.files import as_written
from robustparse.metrics import score_label
from robustparse.reports.folders import AttackFolder, number
from robustparse.reports.plots import BUDGET, SERIES, Curve, Plot
from robustparse.reports.training import over_epochs

WITHIN = "Success within a number of queries"
NamedPlots = tuple[str, Sequence[Plot]]
"""A system or a training run, and its plots."""


def with_budget_curves(systems: Sequence[AttackFolder]) -> list[AttackFolder]:
    """Add the plot of each curve to the first system of those that are its points."""
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
            label = score_label(systems[first].task.headline)
            title = f"{label} against edit budget, by attack"
            plot = Plot(title, BUDGET, f"{label}, %", (_budget_curve(members, systems),))
            shown[first] = replace(shown[first], plots=(*shown[first].plots, plot))
    return shown


def success_within(systems: Sequence[AttackFolder]) -> dict[str, dict[int, float]]:
    """Return each system's success rates in percent within budgets of queries.

    All have the same budgets: a rate stays what it is beyond a system's last one.

    Raises:
        InputError: a summary is not as `attack` writes it.
    """
    rates: dict[str, dict[int, float]] = {}
    for one in systems:
        found = one.summary.get("success_within") or {}
        with as_written(one.path / SUMMARY, "attack"):
            known = {int(most): number(rate) for most, rate in found.items()}
            if None in known.values():
                raise TypeError("a rate of no value")
        if known:
            rates[one.name] = {most: rate for most, rate in known.items() if rate is not None}
    budgets = sorted({budget for known in rates.values() for budget in known})
    return {
        name: {budget: known.get(budget, known[max(known)]) for budget in budgets}
        for name, known in rates.items()
    }


def query_plots(systems: Sequence[AttackFolder]) -> list[Plot]:
    """Plot success against queries, if there are several systems to compare."""
    curves = tuple(
        Curve(name, tuple(map(float, rates)), tuple(rates.values()))
        for name, rates in success_within(systems).items()
    )
    if len(curves) < 2:
        return []
    return [Plot(WITHIN, "queries a sentence", "success, %", curves, logarithmic=True)]


def merge_plots(systems: Iterable[NamedPlots]) -> list[Plot]:
    """Merge plots with the same title and axes; split those with too many lines to be readable.

    Where two systems give a curve the same name, the curves of that plot are named after their
    systems.
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
    """Give the curves of several systems names that differ."""
    names = [curve.name for _, plot in members for curve in plot.curves]
    if len(set(names)) == len(names):
        return [plot.curves for _, plot in members]
    return [
        tuple(replace(curve, name=f"{name}: {curve.name}") for curve in plot.curves)
        for name, plot in members
    ]


def _split(systems: Sequence[tuple[Curve, ...]]) -> list[tuple[Curve, ...]]:
    """Draw as many systems together as a plot has lines for; cut only one that has more."""
    plots: list[tuple[Curve, ...]] = [()]
    for curves in systems:
        for start in range(0, len(curves), len(SERIES)):
            part = curves[start : start + len(SERIES)]
            if len(plots[-1]) + len(part) > len(SERIES):
                plots.append(())
            plots[-1] += part
    return plots


def _budget_curve(members: dict[float, int], systems: Sequence[AttackFolder]) -> Curve:
    chosen = {100 * gamma: systems[index] for gamma, index in sorted(members.items())}
    first = next(iter(chosen.values()))
    scores = {0.0: first.before, **{x: system.after for x, system in chosen.items()}}
    known = {x: y for x, y in scores.items() if y is not None}
    last = systems[next(reversed(members.values()))]
    name = _victim_name(last.run) or last.name
    return Curve(name, tuple(known), tuple(known.values()))


def _take_gamma(run: dict[str, Any]) -> float | None:
    """Remove the search's budget from the run, so that the rest can be compared, and return it."""
    part: Any = run
    for key in ("settings", "init_args", "search", "init_args"):
        part = part.get(key, {})
    return number(part.pop("gamma", None))


def _victim_name(run: dict[str, Any]) -> str:
    """Return the name of the victim's run folder, or of what is no file."""
    victims = run.get("victims")
    if not (isinstance(victims, list) and victims and isinstance(victims[0], str)):
        return ""
    return Path(victims[0]).parent.name or victims[0]
