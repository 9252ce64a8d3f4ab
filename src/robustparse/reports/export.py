r"""A report's plots and tables as files for a paper: PNG, SVG and LaTeX.

A plot or heat map is drawn twice: as PNG of 300 dots an inch, and as SVG whose letters are
outlines, so that it looks the same wherever it is included. A table is a ``tabular`` with
``\hline``, which needs no package: ``\input`` it into a ``table``, or copy its lines.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from robustparse.evaluation.tally import WHEN
from robustparse.files import write_bytes, write_text
from robustparse.metrics import score_label
from robustparse.reports.page import Contents, losses_of, plot_values
from robustparse.reports.plots import KINDS, Kind, Plot, picture
from robustparse.reports.tables.details import ARROW, MISSING, Table, shown
from robustparse.reports.tables.evaluated import evaluated_tables
from robustparse.reports.tables.heat_map import HeatMap, heat_map_picture
from robustparse.reports.tables.pairs import pairs_tables

_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        **{mark: f"\\{mark}" for mark in "&%$#_{}"},
        MISSING: "--",
        ARROW.strip(): r"$\to$",
    }
)


def export(contents: Contents, folder: Path) -> list[Path]:
    """Write each plot and each table of a report into a folder.

    A file is called as its title on the page, in lower case with hyphens, and numbered where there
    are several of a title. One that is there already is replaced.

    Args:
        contents: of the report.
        folder: is made if it is not there.

    Returns:
        The files.

    Raises:
        InputError: a file cannot be written; it is whole or the one before.
    """
    plots, tables = [*_pictures(contents)], [*_tables(contents)]
    paths = []
    for (_, draw), name in zip(plots, _names([title for title, _ in plots]), strict=True):
        for kind in KINDS:
            paths.append(folder / f"{name}.{kind}")
            write_bytes(paths[-1], draw(kind))
    for (_, table), name in zip(tables, _names([title for title, _ in tables]), strict=True):
        paths.append(folder / f"{name}.tex")
        write_text(paths[-1], tabular(table))
    return paths


def tabular(table: Table) -> str:
    """Write a table in LaTeX: the row's name to the left, all other cells to the right."""
    title = " ".join(f"{table.label}: {table.title}".removesuffix(": ").split())
    lines = [_row([" ".join(head.split()) for head in table.heads])]
    rows = [_row([name, *cells]) for name, cells in table.rows]
    body = "\n".join([r"\hline", *lines, r"\hline", *rows, r"\hline"])
    columns = "l" + "r" * (len(table.heads) - 1)
    return f"% {title}\n\\begin{{tabular}}{{{columns}}}\n{body}\n\\end{{tabular}}\n"


def _row(cells: list[str]) -> str:
    return " & ".join(cell.translate(_LATEX) for cell in cells) + r" \\"


def _names(titles: list[str]) -> list[str]:
    """Make names of files from titles, numbered from 1 where they would be the same."""
    plain = [re.sub(r"\W+", "-", title.lower()).strip("-") or "untitled" for title in titles]
    counts, seen = Counter(plain), Counter[str]()
    names = []
    for name in plain:
        seen[name] += 1
        names.append(f"{name}-{seen[name]}" if counts[name] > 1 else name)
    return names


def _pictures(contents: Contents) -> Iterator[tuple[str, Callable[[Kind], bytes]]]:
    """Yield the titles of the plots and heat maps, and what draws each."""
    for plot in contents.plots:
        yield plot.title, partial(picture, plot)
    for one in contents.heat_maps:
        yield f"transfer {one.score}", partial(heat_map_picture, one)


def _tables(contents: Contents) -> Iterator[tuple[str, Table]]:
    """Yield the tables with the titles that they go by."""
    parts = contents.parts
    for part in parts:
        of = f"{part.systems[0].task.name} " if len(parts) > 1 else ""
        yield f"{of}systems", _systems(part)
        for section in part.sections:
            for table in section.tables:
                yield of + section.title, table
    for table in pairs_tables(contents.pairs) if contents.pairs else ():
        yield f"{table.label} {table.title}", table
    for table in evaluated_tables(contents.evaluated):
        yield table.label, table
    for section in contents.of_evaluated:
        for table in section.tables:
            yield section.title, table
    for one in contents.heat_maps:
        yield f"transfer {one.score}", _heat_map(one)
    for plot in contents.plots:
        yield plot.title, _values(plot)


def _systems(part: Contents) -> Table:
    """Make the table of systems, without the picture of the fall."""
    rows, task = part.systems, part.systems[0].task
    several = len(rows) > 1
    strict = list(dict.fromkeys(n for row in rows for n in row.summary["strict_success_rate"]))
    labels = {score: score_label(score) for score in task.scores}
    heads = [f"{when} {label}" for label in labels.values() for when in ("Clean", "Attacked")]
    heads += [f"{labels[task.headline]} lost [95 %]"]
    heads += ["Lost more than the first"] if several else []
    heads += ["Success rate, %", *(f"Strict {score_label(name)}, %" for name in strict)]
    heads += ["Edits per sentence", "Sentences", "Attack"]
    cells = []
    for row, (lost, more) in zip(rows, losses_of(rows), strict=True):
        one = row.summary
        values = [one[when][score] for score in task.scores for when in WHEN]
        rates = [one["success_rate"], *(one["strict_success_rate"].get(name) for name in strict)]
        found = [*map(shown, values), lost, *([more] if several else []), *map(shown, rates)]
        found += [shown(one["edits_per_sentence"]), f"{one['n_sentences']:,}", str(one["attack"])]
        cells.append((row.name, found))
    return Table("Systems", ("System", *heads), cells)


def _heat_map(one: HeatMap) -> Table:
    rows = [
        (
            name,
            [f"{cell.rate} {cell.interval} ({cell.given or MISSING})" for cell in cells],
        )
        for name, cells in one.rows
    ]
    return Table("Transfer", ("Made against", *one.targets), rows, one.score)


def _values(plot: Plot) -> Table:
    heads, points = plot_values(plot)
    return Table("Values", ("Line", *heads), points, plot.title)
