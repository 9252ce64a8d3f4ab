"""The heat maps of a transfer: a row a source, a column a target, shaded by the rate."""

import textwrap
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from robustparse.files import as_written, read_json
from robustparse.metrics import score_label
from robustparse.reports.folders import Json, names_of, number
from robustparse.reports.plots import DPI, INK, SERIES, Kind, drawing, saved

FILE = "transfer.json"
REMEDY = "give a folder that `robustparse transfer --out` wrote, or run it again"
SHADES = 10
_CELL = (110, 60)  # width and height of a cell in a picture, in pixels
_NAMES = (150, 70)  # room for the names of sources and of targets


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


def heat_map_picture(one: HeatMap, kind: Kind) -> bytes:
    """Draw a heat map as the content of a file, as `plots.picture` draws plots.

    A cell shows the rate in percent of all sentences, and its interval.
    """
    cells = [cells for _, cells in one.rows]
    rows, columns = len(cells), len(one.targets)
    width, height = _NAMES[0] + columns * _CELL[0], _NAMES[1] + rows * _CELL[1]
    box = (_NAMES[0] / width, 0, columns * _CELL[0] / width, rows * _CELL[1] / height)
    shades = LinearSegmentedColormap.from_list("shades", ["white", SERIES[0]])
    with drawing(f"Transfer, {one.score}"):
        figure = Figure(figsize=(width / DPI, height / DPI), dpi=DPI)
        axes = figure.add_axes(box)
        rates = [[cell.shade / SHADES * 0.6 for cell in row] for row in cells]
        axes.imshow(rates, cmap=shades, vmin=0, vmax=1, aspect="auto")
        for y, row in enumerate(cells):
            for x, cell in enumerate(row):
                text = f"{cell.rate}\n{cell.interval}"
                axes.text(x, y, text, ha="center", va="center", color=INK)
        axes.xaxis.tick_top()
        axes.set_xticks(range(columns), [_folded(name, 14) for name in one.targets])
        axes.set_yticks(range(rows), [_folded(name, 18) for name, _ in one.rows])
        axes.tick_params(colors=INK, length=0, pad=6)
        axes.spines[:].set_visible(False)
        return saved(figure, kind)


def _folded(name: str, width: int) -> str:
    """Break a name into three lines at most."""
    return textwrap.fill(name, width, max_lines=3, placeholder="\N{HORIZONTAL ELLIPSIS}")


def _heat_map(score: str, rates: list[list[Json]], found: dict[str, Any]) -> HeatMap:
    targets, sources = _members(_texts(found["targets"])), short_names(_texts(found["sources"]))
    rows = [
        (source, [_cell(cell) for _, cell in zip(targets, cells, strict=True)])
        for source, cells in zip(sources, rates, strict=True)
    ]
    return HeatMap(score_label(score), targets, rows)


def _members(targets: list[str]) -> list[str]:
    """Name targets, which are paths of checkpoints, those of an ensemble with commas between."""
    members = [target.split(",") for target in targets]
    every = list(dict.fromkeys(chain.from_iterable(members)))
    names = dict(zip(every, short_names(every), strict=True))
    return [" + ".join(map(names.__getitem__, paths)) for paths in members]


def short_names(paths: list[str]) -> list[str]:
    """Name paths by what tells them apart; one path, or one that is given twice, as it is."""
    places = [Path(path) for path in paths]
    differ = len({place.resolve() for place in places}) == len(paths) > 1
    return names_of(places) if differ else paths


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
