"""Robustness curves out of several attacks: one parser, one attack, several edit budgets.

What an attack was run with stands in the ``run.json`` of its folder; folders that differ in the
search's ``gamma`` alone are the points of one curve.
"""

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from robustparse.report.folders import AttackFolder
from robustparse.report.plots import Curve, Plot
from robustparse.report.runs import read_run
from robustparse.report.training import BUDGET

TITLE = "LAS against edit budget, by attack"


def with_budget_curves(
    systems: Sequence[AttackFolder], folders: Sequence[Path]
) -> list[AttackFolder]:
    """Return the systems; the first of those that belong to a curve has its plot besides.

    Args:
        systems: what was read from ``folders``, in their order.
        folders: of attacks; one without a ``run.json`` belongs to no curve.
    """
    groups: dict[str, dict[float, int]] = defaultdict(dict)
    names: dict[str, str] = {}
    for index, folder in enumerate(folders):
        run = read_run(folder)
        gamma = _take_gamma(run)
        if gamma is not None and systems[index].row.attacked_las is not None:
            key = json.dumps(run, sort_keys=True)
            groups[key][gamma] = index
            names[key] = _victim_name(run) or systems[index].row.name
    shown = list(systems)
    for key, members in groups.items():
        if len(members) > 1:
            first = min(members.values())
            plot = Plot(TITLE, BUDGET, "LAS, %", (_curve(names[key], members, systems),))
            shown[first] = replace(shown[first], plots=(*shown[first].plots, plot))
    return shown


def _curve(name: str, members: dict[float, int], systems: Sequence[AttackFolder]) -> Curve:
    rows = {gamma: systems[index].row for gamma, index in sorted(members.items())}
    points = {100 * gamma: row.attacked_las for gamma, row in rows.items()}
    clean = next(iter(rows.values())).clean_las
    every = {0.0: clean, **points}
    known = {x: y for x, y in every.items() if y is not None}
    return Curve(name, tuple(known), tuple(known.values()))


def _take_gamma(run: dict[str, Any]) -> float | None:
    """Return the search's budget, taken out of the run so that the rest can be compared."""
    part: Any = run
    for key in ("settings", "init_args", "search", "init_args"):
        part = part.get(key) if isinstance(part, dict) else None
    gamma = part.pop("gamma", None) if isinstance(part, dict) else None
    if isinstance(gamma, bool) or not isinstance(gamma, int | float):
        return None
    return float(gamma)


def _victim_name(run: dict[str, Any]) -> str:
    """Return the victim's run folder."""
    victims = run.get("victims")
    first = victims[0] if isinstance(victims, list) and victims else ""
    return Path(str(first)).parent.name
