"""Tables and sections of the page."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from robustparse.evaluation.records import ScoresRecord
from robustparse.reports.attacked_systems import AttackedSystem
from robustparse.reports.certified_systems import CertifiedSystem

System = TypeVar("System", AttackedSystem, CertifiedSystem, ScoresRecord)

MISSING = "\N{EN DASH}"
ARROW = " \N{RIGHTWARDS ARROW} "


def formatted(value: float | None, form: str = ".1f") -> str:
    """Format a value; None becomes a dash."""
    return MISSING if value is None else format(value, form)


def by_task(systems: Sequence[System]) -> list[list[System]]:
    """Return the systems of each task, in the order of the tasks' first systems."""
    tasks: dict[str, list[System]] = {}
    for system in systems:
        tasks.setdefault(system.task.name, []).append(system)
    return list(tasks.values())


def numbered(names: Sequence[str], form: str = "{} ({})") -> list[str]:
    """Return the names; those that repeat are numbered from 1."""
    total, earlier, different = Counter(names), Counter[str](), []
    for name in names:
        earlier[name] += 1
        different.append(form.format(name, earlier[name]) if total[name] > 1 else name)
    return different


@dataclass(frozen=True, slots=True)
class Table:
    """A table; each row consists of its name and its other cells.

    Screen readers read the label; line breaks in headings are shown.
    """

    label: str
    heads: tuple[str, ...]
    rows: list[tuple[str, list[str]]]
    title: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """A heading, tables, the name of the note below them, and the models that gave perplexities."""

    title: str
    note: str
    tables: list[Table]
    models: str = ""
