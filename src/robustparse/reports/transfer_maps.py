"""Heat maps of a transfer: a row for each source, a column for each target, shaded by the rate."""

import textwrap
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TypedDict

from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from robustparse.evaluation.record_files import read_record
from robustparse.evaluation.records import TRANSFER
from robustparse.evaluation.transfer import Transfer
from robustparse.files.json_text import as_written
from robustparse.metrics import score_label
from robustparse.reports.attacked_systems import names_of
from robustparse.reports.plots import DPI, INK, SERIES, Kind, drawing, saved

REMEDY = "give a folder that `robustparse transfer --out` wrote, or run it again"
SHADES = 10
_CELL = (110, 60)  # width and height of a cell in a picture, in pixels
_NAMES = (150, 70)  # room for the names of sources and of targets


@dataclass(frozen=True, slots=True)
class Cell:
    """One source's sentences given to one target.

    Args:
        rate: percentage of all sentences that fool the target.
        interval: 95 % interval of the rate.
        of_successes: percentage of the sentences that fooled the source.
        shade: 0 to `SHADES`.
    """

    rate: str
    interval: str
    of_successes: str
    shade: int


@dataclass(frozen=True, slots=True)
class HeatMap:
    """The rates by one score.

    Args:
        score: the name of the score.
        targets: the names of the columns.
        rows: the names of the sources with their cells.
    """

    score: str
    targets: list[str]
    rows: list[tuple[str, list[Cell]]]


class TransferRecord(TypedDict):
    """What `transfer` writes: rates by score, source and target."""

    sources: list[str]
    targets: list[str]
    rates: dict[str, list[list[Transfer]]]


def read_heat_maps(folder: Path) -> list[HeatMap]:
    """Read the heat maps of a folder, one for each score.

    Raises:
        InputError: ``transfer.json`` is damaged.
    """
    path = folder / TRANSFER
    record = read_record(path, TransferRecord, REMEDY)
    with as_written(path, "transfer"):
        return [_heat_map(score, record) for score in record["rates"]]


def heat_map_picture(heat_map: HeatMap, kind: Kind) -> bytes:
    """Draw a heat map as the content of a file, as `plots.picture` draws plots.

    A cell shows the rate in percent of all sentences, and its interval.
    """
    cells = [cells for _, cells in heat_map.rows]
    rows, columns = len(cells), len(heat_map.targets)
    width, height = _NAMES[0] + columns * _CELL[0], _NAMES[1] + rows * _CELL[1]
    box = (_NAMES[0] / width, 0, columns * _CELL[0] / width, rows * _CELL[1] / height)
    shades = LinearSegmentedColormap.from_list("shades", ["white", SERIES[0]])
    with drawing(f"Transfer, {heat_map.score}"):
        figure = Figure(figsize=(width / DPI, height / DPI), dpi=DPI)
        axes = figure.add_axes(box)
        rates = [[cell.shade / SHADES * 0.6 for cell in row] for row in cells]
        axes.imshow(rates, cmap=shades, vmin=0, vmax=1, aspect="auto")
        for y, row in enumerate(cells):
            for x, cell in enumerate(row):
                text = f"{cell.rate}\n{cell.interval}"
                axes.text(x, y, text, ha="center", va="center", color=INK)
        axes.xaxis.tick_top()
        axes.set_xticks(range(columns), [_folded(name, 14) for name in heat_map.targets])
        axes.set_yticks(range(rows), [_folded(name, 18) for name, _ in heat_map.rows])
        axes.tick_params(colors=INK, length=0, pad=6)
        axes.spines[:].set_visible(False)
        return saved(figure, kind)


def _folded(name: str, width: int) -> str:
    """Break a name into three lines at most."""
    return textwrap.fill(name, width, max_lines=3, placeholder="\N{HORIZONTAL ELLIPSIS}")


def _heat_map(score: str, record: TransferRecord) -> HeatMap:
    targets, sources = _members(record["targets"]), short_names(record["sources"])
    rows = [
        (source, [_cell(cell) for _, cell in zip(targets, cells, strict=True)])
        for source, cells in zip(sources, record["rates"][score], strict=True)
    ]
    return HeatMap(score_label(score), targets, rows)


def _members(targets: list[str]) -> list[str]:
    """Return short names of targets: paths of checkpoints, separated by commas in an ensemble."""
    members = [target.split(",") for target in targets]
    every = list(dict.fromkeys(chain.from_iterable(members)))
    names = dict(zip(every, short_names(every), strict=True))
    return [" + ".join(map(names.__getitem__, paths)) for paths in members]


def short_names(paths: list[str]) -> list[str]:
    """Return unique ends of paths; a single path, or paths that repeat, stay as they are."""
    files = [Path(path) for path in paths]
    differ = len({file.resolve() for file in files}) == len(paths) > 1
    return names_of(files) if differ else paths


def _cell(transfer: Transfer) -> Cell:
    rate, of_successes = transfer.rate, transfer.given_success
    if not 0 <= rate.estimate <= 100:
        raise ValueError(f"a rate of {rate.estimate}")
    return Cell(
        f"{rate.estimate:.1f}",
        f"[{rate.lower:.1f}, {rate.upper:.1f}]",
        "" if of_successes is None else f"{of_successes:.1f}",
        round(rate.estimate / 100 * SHADES),
    )
