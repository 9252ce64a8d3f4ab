r"""The plots and tables of a report as files for a paper: PNG, SVG and LaTeX.

Plots and heat maps are written as PNG (300 dots per inch) and as SVG, whose letters are outlines
and look the same everywhere. A table is a ``tabular`` with ``\hline`` and needs no package.
"""

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from robustparse.evaluation.records import WHEN
from robustparse.files.writing import write_bytes, write_text
from robustparse.metrics import score_label, score_name
from robustparse.reports.certified_tables import certified_tables
from robustparse.reports.evaluation_tables import evaluated_tables, pairs_tables
from robustparse.reports.page import Contents, losses_of, plot_values, saved_of
from robustparse.reports.plots import KINDS, Kind, picture
from robustparse.reports.tables import ARROW, MISSING, Table, formatted, numbered
from robustparse.reports.transfer_maps import HeatMap, heat_map_picture

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

    The name of a file is its title on the page in lower case with hyphens, and a number if the
    title repeats. Existing files are replaced.

    Args:
        contents: the contents of the report.
        folder: the folder, which is made if it does not exist.

    Returns:
        The files.

    Raises:
        InputError: a file cannot be written; an existing one is then left as it is.
    """
    tables, paths = [*titled_tables(contents)], list[Path]()
    plots: list[tuple[str, Callable[[Kind], bytes]]] = [
        *((plot.title, partial(picture, plot)) for plot in contents.plots),
        *(
            (f"transfer {each.score}", partial(heat_map_picture, each))
            for each in contents.heat_maps
        ),
    ]
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
    """Make file names from titles; equal names are numbered from 1."""
    plain = [re.sub(r"\W+", "-", title.lower()).strip("-") or "untitled" for title in titles]
    return numbered(plain, "{}-{}")


def titled_tables(contents: Contents) -> Iterator[tuple[str, Table]]:
    """Yield the tables with their titles."""
    for of_task in contents.tasks:
        prefix = f"{of_task.systems[0].task.name} " if len(contents.tasks) > 1 else ""
        yield f"{prefix}systems", _systems(of_task)
        for section in of_task.sections:
            for table in section.tables:
                yield prefix + section.title, table
    for table in pairs_tables(contents.pairs) if contents.pairs else ():
        yield f"{table.label} {table.title}", table
    for table in (*certified_tables(contents.certified), *evaluated_tables(contents.evaluated)):
        yield table.label, table
    for section in contents.of_evaluated:
        for table in section.tables:
            yield section.title, table
    for heat_map in contents.heat_maps:
        yield f"transfer {heat_map.score}", _heat_map(heat_map)
    for plot in contents.plots:
        yield plot.title, plot_values(plot)


def _systems(contents: Contents) -> Table:
    """Make the table of systems, without the picture of the fall."""
    rows, task = contents.systems, contents.systems[0].task
    saved = saved_of(rows)
    strict = list(dict.fromkeys(n for row in rows for n in row.strict))
    labels = {score: score_label(score) for score in task.scores.names}
    heads = [f"{when} {label}" for label in labels.values() for when in ("Clean", "Attacked")]
    heads += [f"{labels[task.scores.headline]} lost [95 %]"]
    heads += ["Points saved [95 %]"] if saved else []
    heads += ["Success rate, %", *(f"Strict success ({score_name(name)}), %" for name in strict)]
    heads += ["Edits per sentence", "Sentences", "Attack"]
    cells = []
    for row, *points in zip(rows, losses_of(rows), *([saved] if saved else []), strict=True):
        summary = row.summary
        values = [summary[when][score] for score in task.scores.names for when in WHEN]
        rates = [summary["success_rate"], *(row.strict.get(name) for name in strict)]
        texts = [*map(formatted, values), *points, *map(formatted, rates)]
        texts += [formatted(summary["edits_per_sentence"]), f"{summary['n_sentences']:,}"]
        cells.append((row.name, [*texts, str(summary["attack"])]))
    return Table("Systems", ("System", *heads), cells)


def _heat_map(heat_map: HeatMap) -> Table:
    rows = [
        (
            name,
            [f"{cell.rate} {cell.interval} ({cell.of_successes or MISSING})" for cell in cells],
        )
        for name, cells in heat_map.rows
    ]
    return Table("Transfer", ("Made against", *heat_map.targets), rows, heat_map.score)
