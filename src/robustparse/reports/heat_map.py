"""The heat maps of a transfer: a row a source, a column a target, shaded by the rate."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from robustparse.files import as_written, read_json
from robustparse.reports.folders import Json, number
from robustparse.reports.plots import score_label

FILE = "transfer.json"
REMEDY = "give a folder that `robustparse transfer --out` wrote, or run it again"
SHADES = 10


@dataclass(frozen=True, slots=True)
class Cell:
    """One source's sentences given to one target.

    Args:
        rate: in percent of all sentences.
        interval: of the rate, 95 %.
        given: in percent of those that fooled the source.
        shade: 0 to `SHADES`.
    """

    rate: str
    interval: str
    given: str
    shade: int


@dataclass(frozen=True, slots=True)
class HeatMap:
    """The rates by one score.

    Args:
        score: what it is called on the page.
        targets: names of columns.
        rows: names of sources with their cells.
    """

    score: str
    targets: list[str]
    rows: list[tuple[str, list[Cell]]]


def read_heat_maps(folder: Path) -> list[HeatMap]:
    """Read the heat maps of a folder, one a score.

    Raises:
        InputError: ``transfer.json`` is not as `transfer` writes it.
    """
    path = folder / FILE
    found = read_json(path, dict, REMEDY)
    with as_written(path, "transfer"):
        return [_heat_map(score, rates, found) for score, rates in found["rates"].items()]


def _heat_map(score: str, rates: list[list[Json]], found: dict[str, Any]) -> HeatMap:
    targets, sources = map(_texts, (found["targets"], found["sources"]))
    rows = [
        (source, [_cell(cell) for _, cell in zip(targets, cells, strict=True)])
        for source, cells in zip(sources, rates, strict=True)
    ]
    return HeatMap(score_label(score), targets, rows)


def _texts(values: Any) -> list[str]:
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise TypeError(f"{values!r:.60} is no list of names")
    return values


def _cell(found: Json) -> Cell:
    rate, lower, upper = (number(found["rate"][part]) for part in ("estimate", "lower", "upper"))
    given = number(found["given_success"])
    if rate is None or lower is None or upper is None or not 0 <= rate <= 100:
        raise ValueError(f"a rate of {rate} from {lower} to {upper}")
    interval = f"[{lower:.1f}, {upper:.1f}]"
    shown = "" if given is None else f"{given:.1f}"
    return Cell(f"{rate:.1f}", interval, shown, round(rate / 100 * SHADES))
