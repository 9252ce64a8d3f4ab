"""The page's tables of what attacked: the parts of each attack and their settings.

A score under attack means little without the models and thresholds that shaped the attack, whether
they are those of a paper or stand in for them.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from robustparse.evaluation.lines import RUN
from robustparse.files import as_written
from robustparse.reports.folders import AttackFolder
from robustparse.reports.tables.details import Table

HEADS = ("Part", "Is", "With")


def recipes(systems: Sequence[AttackFolder]) -> list[Table]:
    """Make a table of each attack; systems attacked with the same settings share one.

    Raises:
        InputError: a folder's ``run.json`` is not as `attack` writes it.
    """
    attacks: dict[str, list[AttackFolder]] = {}
    for system in systems:
        if "settings" in system.run:
            key = json.dumps(system.run["settings"], sort_keys=True)
            attacks.setdefault(key, []).append(system)
    tables = []
    for same in attacks.values():
        names = ", ".join(system.name for system in same)
        with as_written(same[0].path / RUN, "attack", key="settings"):
            rows = list(_rows(same[0].run["settings"]["init_args"]))
        title = names if len(attacks) > 1 else ""
        tables.append(Table(f"What attacked {names}", HEADS, rows, title))
    return tables


def _rows(arguments: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    for name, value in arguments.items():
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, Mapping):
                settings = part.get("init_args", {})
                yield name, [_kind(part), ", ".join(_settings(settings))]
            elif part is not None:
                yield name, [_written(part), ""]


def _settings(settings: Mapping[str, Any]) -> list[str]:
    return [f"{name}: {_written(value)}" for name, value in settings.items()]


def _written(value: Any) -> str:
    """Write a setting; a part among them has its own settings in brackets."""
    if isinstance(value, list):
        return f"[{', '.join(map(_written, value))}]"
    if isinstance(value, Mapping) and "class_path" in value:
        inner = ", ".join(_settings(value.get("init_args", {})))
        return f"{_kind(value)} ({inner})" if inner else _kind(value)
    return value if isinstance(value, str) else json.dumps(value)


def _kind(part: Mapping[str, Any]) -> str:
    """Name the class of a part without its module."""
    return str(part["class_path"]).rpartition(".")[2]
