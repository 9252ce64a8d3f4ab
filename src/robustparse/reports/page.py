"""Self-contained HTML pages: the report on attacked models, and adversarial examples of a training.

A page opens offline: no script, font, picture or style comes from elsewhere. Its content policy
forbids them, and every script but the one by which a reader browses examples, which it knows by its
hash; without scripts the rest of the page is complete. It is readable in light and dark mode and on
a narrow screen, and is well-formed XML. What stands on it is decided here, how it is written in
``templates/`` and ``style.css``.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from robustparse import __version__
from robustparse.errors import InputError
from robustparse.evaluation.comparison import Difference, is_evaluated
from robustparse.evaluation.lines import EXAMPLES, SCORES, SUMMARY
from robustparse.evaluation.significance import Interval
from robustparse.files import write_text
from robustparse.metrics import score_label
from robustparse.reports.browser import browse, script, script_hash
from robustparse.reports.curves import (
    WITHIN,
    NamedPlots,
    merge_plots,
    query_plots,
    with_budget_curves,
)
from robustparse.reports.folders import (
    AttackedSentence,
    AttackFolder,
    most_telling,
    names_of,
    noting,
    read_partly,
)
from robustparse.reports.plots import EPOCH, Plot, draw_plot
from robustparse.reports.summary import comparable, summarize
from robustparse.reports.tables.details import MISSING, Section, compared, details, shown
from robustparse.reports.tables.evaluated import Evaluated, evaluated_tables, read_scores
from robustparse.reports.tables.heat_map import FILE as TRANSFER
from robustparse.reports.tables.heat_map import HeatMap, read_heat_maps
from robustparse.reports.tables.pairs import PairScores, pairs_section, summarize_pairs
from robustparse.reports.tables.recipes import recipes
from robustparse.reports.training import FILE as METRICS
from robustparse.reports.training import read_training
from robustparse.tasks.task import Task

_FALL = (10.0, 110.0)  # left end and width, in pixels, of the picture of a score's fall


@dataclass(frozen=True, slots=True)
class Contents:
    """What a report shows.

    Args:
        systems: attacked ones; the first of each task is the one compared with.
        runs: plots of training runs.
        heat_maps: of transfers.
        pairs: systems scored on perturbed texts.
        evaluated: systems scored otherwise.
        differences: of the first systems, as `compare` computed them.
        unread: what could not be read of the folders, and is left out.
        of_evaluated: the section about differences of evaluated systems.
    """

    systems: Sequence[AttackFolder]
    runs: Sequence[NamedPlots] = ()
    heat_maps: Sequence[HeatMap] = ()
    pairs: Sequence[PairScores] = ()
    evaluated: Sequence[Evaluated] = ()
    differences: Sequence[Difference] = ()
    unread: Sequence[str] = ()
    of_evaluated: Sequence[Section] = ()

    @property
    def plots(self) -> list[Plot]:
        """The plots of all systems and runs, those that share axes put together."""
        own = [(system.name, system.plots) for system in self.systems]
        return merge_plots([*own, (WITHIN, query_plots(self.systems)), *self.runs])

    @property
    def names(self) -> list[str]:
        """The names of systems and runs, each once."""
        every = [*(one.name for one in self.systems), *(one.name for one in self.pairs)]
        every += [*(one.name for one in self.evaluated), *(name for name, _ in self.runs)]
        return list(dict.fromkeys(every))

    @property
    def parts(self) -> list["Contents"]:
        """The systems of each task, in the order of the tasks; differences belong to the first."""
        tasks: dict[str, list[AttackFolder]] = {}
        for system in self.systems:
            tasks.setdefault(system.task.name, []).append(system)
        return [
            Contents(systems, differences=() if number else self.differences)
            for number, systems in enumerate(tasks.values())
        ]

    @property
    def sections(self) -> list[Section]:
        """The sections of tables about the systems, which are of one task."""
        names = [system.name for system in self.systems]
        return [*compared(names, self.differences), *details(self.systems)]


def read_contents(
    folders: Sequence[Path],
    names: Sequence[str] | None = None,
    differences: Sequence[Difference] = (),
) -> Contents:
    """Read what a report shows, as far as it can be read.

    Training runs among the folders, or in an attack's folder, add their curves, transfers their
    heat maps, evaluations their scores.

    Args:
        folders: folders that `robustparse attack`, `fit`, `transfer` or `evaluate` wrote, at least
            one.
        names: what the page calls them; by default see `names_of`.
        differences: of the first folders, as `compare` computed them.

    Raises:
        InputError: a folder is missing or given twice, or nothing can be read of any.
    """
    if not folders:
        raise InputError("no folders given", expected="one at least that `attack` or `fit` wrote")
    systems, runs, heat_maps = [], [], []
    pairs: list[PairScores] = []
    evaluated: list[Evaluated] = []
    unread: list[InputError] = []
    for folder, name in zip(folders, names or names_of(folders), strict=True):
        trained, transferred = (folder / METRICS).exists(), (folder / TRANSFER).exists()
        scores = (folder / SCORES).exists()
        if transferred:
            with noting(unread):
                heat_maps += read_heat_maps(folder)
        if scores:
            with noting(unread):
                reworded, others = read_scores(folder, name)
                pairs += filter(None, [reworded])
                evaluated += filter(None, [others])
        attacked = (folder / SUMMARY).exists() or (folder / EXAMPLES).exists()
        # Where something else is, no attack need be there too.
        if attacked or not (trained or transferred or scores):
            systems.append(read_partly(folder, name, unread))
        if trained:
            with noting(unread):
                runs.append((name, read_training(folder, name)))
    known = [system for system in systems if system is not None]
    if unread and not (known or runs or heat_maps or pairs or evaluated):
        raise unread[0]
    with noting(unread):
        known = with_budget_curves(known)
    parts = (known, runs, heat_maps, pairs, evaluated)
    said = [str(error) for error in unread]
    if is_evaluated(folders[0]):
        return Contents(*parts, (), said, compared(names or names_of(folders), differences))
    return Contents(*parts, differences, said)


def build_report(
    folders: Sequence[Path],
    out: Path,
    names: Sequence[str] | None = None,
    differences: Sequence[Difference] = (),
) -> Contents:
    """Write a page about any number of attacked systems, training runs and transfers.

    Args:
        folders: see `read_contents`.
        out: the HTML file, written whole or not at all.
        names: see `read_contents`.
        differences: see `read_contents`.

    Returns:
        What stands on the page.

    Raises:
        InputError: see `read_contents`; or `out` cannot be written.
    """
    contents = read_contents(folders, names, differences)
    write_text(out, render_report(contents))
    return contents


def render_report(contents: Contents) -> str:
    """Render the page about attacked systems, training runs and transfers, as HTML text."""
    every = contents.names
    names = ", ".join(every) if len(every) < 5 else f"{len(every)} systems"
    return _render(
        "report",
        title=f"Robustness report: {names}" if names else "Robustness report",
        version=__version__,
        parts=[_part(part) for part in contents.parts],
        plots=[(plot, _points(plot)) for plot in contents.plots],
        heat_maps=contents.heat_maps,
        pairs=pairs_section(contents.pairs) if contents.pairs else None,
        pairs_lead=summarize_pairs(contents.pairs),
        evaluated=evaluated_tables(contents.evaluated),
        of_evaluated=contents.of_evaluated,
        browser=browse(contents.systems),
        unread=contents.unread,
    )


def _part(part: Contents) -> dict[str, Any]:
    """Return what the page says of the systems of one task."""
    rows = part.systems
    return {
        "task": rows[0].task,
        "rows": rows,
        "lead": summarize(rows),
        "falls": falls_of(rows),
        "losses": losses_of(rows),
        "sentences": _drawn_sentences(rows),
        "sections": part.sections,
        "recipes": recipes(rows),
    }


def render_examples(task: Task, lines: Iterable[Mapping[str, Any]], step: int) -> str:
    """Render a page about adversarial examples that a training run's evaluation found.

    Args:
        task: draws them.
        lines: as of ``examples.jsonl``.
        step: the training step.
    """
    drawn = [(line, Markup(task.draw(line))) for line in lines]
    title = f"Adversarial examples after step {step}"
    return _render("examples", title=title, task=task, examples=drawn)


def render_example(task: Task, line: Mapping[str, Any]) -> str:
    """Render one adversarial example for a page that has no style sheet of ours."""
    return _render("example", line=line, picture=Markup(task.draw(line)))


@cache
def environment() -> Environment:
    """Return what renders the templates."""
    environment = Environment(
        loader=PackageLoader("robustparse.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "score": shown,
        "label": score_label,
    }
    style = Path(__file__).with_name("style.css").read_text("utf-8")
    environment.globals |= {"style": Markup(style), "missing": MISSING}
    environment.globals |= {"script": script(), "script_hash": script_hash()}
    return environment


def _render(template: str, **values: Any) -> str:
    return environment().get_template(f"{template}.html.j2").render(values)


def falls_of(rows: Sequence[AttackFolder]) -> list[tuple[float, float] | None]:
    """Place the headline scores before and after on one scale for all rows, in pixels."""
    scores = [s for row in rows for s in (row.before, row.after) if s is not None]
    low, high = min(scores, default=0.0), max(scores, default=0.0)

    def place(score: float) -> float:
        start, width = _FALL
        return start + width * (score - low) / ((high - low) or 1.0)

    return [
        None if row.before is None or row.after is None else (place(row.before), place(row.after))
        for row in rows
    ]


def losses_of(rows: Sequence[AttackFolder]) -> list[tuple[str, str]]:
    """Write what each system loses to the attack, and how much more than the first one it loses.

    Both are points of the headline score with a 95 % interval; the second is only known where all
    were attacked in the same way, or are one model, on the same sentences.
    """
    same = comparable(rows) and len({tuple(row.counts.counted) for row in rows}) == 1
    return [
        (MISSING, MISSING)
        if row.before is None or row.after is None or not row.counts.counted
        else (
            _lost(row.counts.lost()),
            _lost(row.counts.lost_beyond(rows[0].counts))
            if same and row is not rows[0]
            else MISSING,
        )
        for row in rows
    ]


def _lost(interval: Interval) -> str:
    return f"{interval.estimate:.1f} [{interval.lower:.1f}, {interval.upper:.1f}]"


def _points(plot: Plot) -> dict[str, Any]:
    """Draw a plot, and list its points for the table below it."""
    heads, points = plot_values(plot)
    return {"picture": Markup(draw_plot(plot)), "heads": heads, "points": points}


def plot_values(plot: Plot) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """List what the columns of a plot's table are, and its points: the line's name, and cells."""
    with_epochs = any(curve.epochs for curve in plot.curves)
    points = []
    for curve in plot.curves:
        epochs = [f"{epoch:g}" for epoch in curve.epochs] or [MISSING] * len(curve.x)
        for x, epoch, y in zip(curve.x, epochs, curve.y, strict=True):
            cells = [f"{x:g}", epoch, f"{y:.2f}"] if with_epochs else [f"{x:g}", f"{y:.2f}"]
            points.append((curve.name, cells))
    heads = [plot.x_label, *([EPOCH] if with_epochs else []), plot.y_label]
    return heads, points


def _drawn_sentences(systems: Sequence[AttackFolder]) -> list[tuple[str, AttackedSentence, Markup]]:
    """Choose the sentences to show; give the system, the sentence and its picture."""
    found = {id(one): system for system in systems for one in system.successes}
    chosen = most_telling([one for system in systems for one in system.successes])
    pairs = [(found[id(one)], one) for one in chosen]
    return [(system.name, one, Markup(system.task.draw(one.line))) for system, one in pairs]
