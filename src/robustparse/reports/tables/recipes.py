"""The page's tables of what attacked: the parts of each attack and their settings.

A score under attack means little without the models and thresholds of the attack, above all where
they are not those of the paper.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from robustparse.reports.folders import AttackFolder
from robustparse.reports.tables.details import Table

HEADS = ("Part", "Is", "With")


def recipes(systems: Sequence[AttackFolder]) -> list[Table]:
    """Make a table of each attack; systems attacked with the same settings share one.

    Whatever ``run.json`` holds as settings is shown as far as it has parts.
    """
    attacks: dict[str, list[str]] = {}
    for system in systems:
        key = json.dumps(system.run.get("settings"))
        attacks.setdefault(key, []).append(system.name)
    tables = []
    for key, same in attacks.items():
        names, rows = ", ".join(same), list(_rows(_arguments(json.loads(key))))
        title = names if len(attacks) > 1 else ""
        tables += [Table(f"What attacked {names}", HEADS, rows, title)] if rows else []
    return tables


def _arguments(part: Any) -> Mapping[str, Any]:
    found = part.get("init_args") if isinstance(part, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _rows(arguments: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    for name, value in arguments.items():
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, Mapping):
                yield name, [_kind(part), ", ".join(_settings(_arguments(part)))]
            elif part is not None:
                yield name, [_written(part), ""]


def _settings(settings: Mapping[str, Any]) -> list[str]:
    return [f"{name}: {_written(value)}" for name, value in settings.items()]


def _written(value: Any) -> str:
    """Write a setting; a part among them has its own settings in brackets."""
    if isinstance(value, list):
        return f"[{', '.join(map(_written, value))}]"
    if isinstance(value, Mapping) and "class_path" in value:
        inner = ", ".join(_settings(_arguments(value)))
        return f"{_kind(value)} ({inner})" if inner else _kind(value)
    return value if isinstance(value, str) else json.dumps(value)


def _kind(part: Mapping[str, Any]) -> str:
    """Name the class of a part without its module."""
    return str(part.get("class_path", "")).rpartition(".")[2]
