"""Tables and sections of the page."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

MISSING = "\N{EN DASH}"
ARROW = " \N{RIGHTWARDS ARROW} "


def rounded(value: float | None, form: str = ".1f") -> str:
    """Format a value; None becomes a dash."""
    return MISSING if value is None else format(value, form)


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
