"""Self-contained HTML pages: the report on attacked models, and adversarial examples of a training.

A page opens offline: no script, font, picture or style comes from elsewhere. Its content policy
allows only two scripts, identified by their hashes: one browses examples, one sorts the
leaderboard. Without scripts the rest of the page is complete. It is readable in light and dark mode
and on a narrow screen, and is well-formed XML. This module chooses the content; ``templates/`` and
``style.css`` define its look.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from robustparse import __version__
from robustparse.errors import InputError, say
from robustparse.evaluation.certificate_records import CERTIFICATES
from robustparse.evaluation.comparison import Difference, is_evaluated
from robustparse.evaluation.finished_folders import check_scored, read_scores
from robustparse.evaluation.records import EXAMPLES, SCORES, SUMMARY, TRANSFER, ScoresRecord
from robustparse.evaluation.rows import PERTURBED
from robustparse.evaluation.shared_adversaries import shared_adversaries
from robustparse.evaluation.significance import Interval
from robustparse.evaluation.worst_of_attacks import WorstOfAttacks
from robustparse.files.output_folders import check_no_input
from robustparse.files.reading import read_text
from robustparse.files.writing import write_text
from robustparse.metrics import score_label, score_name
from robustparse.reports.attack_tables import compared, details, recipes
from robustparse.reports.attacked_systems import (
    AttackedSystem,
    most_telling,
    names_of,
    noting,
    read_partly,
)
from robustparse.reports.browser import browse, script, script_hash
from robustparse.reports.certified_systems import CertifiedSystem, read_certified
from robustparse.reports.certified_systems import most_telling as most_telling_certificates
from robustparse.reports.certified_tables import (
    certified_tables,
    edit_plots,
    summarize_certified,
)
from robustparse.reports.curves import (
    WITHIN,
    NamedPlots,
    merge_plots,
    query_plots,
    with_budget_curves,
)
from robustparse.reports.evaluation_tables import (
    adversaries_section,
    evaluated_tables,
    pairs_tables,
    summarize_pairs,
)
from robustparse.reports.plots import EPOCH, Plot, draw_plot
from robustparse.reports.summary import same_attack, summarize
from robustparse.reports.tables import MISSING, Section, Table, by_task, formatted
from robustparse.reports.training import CONTROL, read_training
from robustparse.reports.training import FILE as METRICS
from robustparse.reports.transfer_maps import HeatMap, read_heat_maps
from robustparse.reports.worst_of_attacks import TITLE, worst_table
from robustparse.tasks.certificate_drawing import at_edits, most_edits
from robustparse.tasks.task import Task

_PAGE = ".html"  # a page may replace only such files of the folders
_FALL = (10.0, 110.0)  # left end and width, in pixels, of the picture of a score's fall


@dataclass(slots=True)
class Contents:
    """What a report shows.

    Args:
        systems: attacked systems; the first one of each task is the baseline.
        runs: plots of training runs.
        heat_maps: heat maps of transfers.
        scored: evaluated systems.
        differences: differences between the first systems, from `compare`.
        unread: messages about files that could not be read.
        of_evaluated: sections about several evaluated systems: their differences, and the
            adversaries that they share.
        controls: the command of the equal-compute control of each run with a defense.
        worst: the worst of several attacks on each of the first systems.
        certified: certified systems.
    """

    systems: list[AttackedSystem] = field(default_factory=list)
    runs: list[NamedPlots] = field(default_factory=list)
    heat_maps: list[HeatMap] = field(default_factory=list)
    scored: list[ScoresRecord] = field(default_factory=list)
    differences: Sequence[Difference] = ()
    unread: Sequence[str] = ()
    of_evaluated: list[Section] = field(default_factory=list)
    controls: list[tuple[str, str]] = field(default_factory=list)
    worst: Sequence[WorstOfAttacks] = ()
    certified: list[CertifiedSystem] = field(default_factory=list)

    @property
    def plots(self) -> list[Plot]:
        """The plots of all systems and runs; those with the same axes are merged."""
        attacked = [(system.name, system.plots) for system in self.systems]
        over_edits = edit_plots(self.certified, self.systems)
        return merge_plots(
            [*over_edits, *attacked, (WITHIN, query_plots(self.systems)), *self.runs]
        )

    @property
    def pairs(self) -> list[ScoresRecord]:
        """The systems that were scored on perturbed texts from files."""
        return [system for system in self.scored if system.perturbed_files]

    @property
    def evaluated(self) -> list[ScoresRecord]:
        """The systems that were also, or only, scored on other data."""
        return [each for each in self.scored if each.perturbed or not each.perturbed_files]

    @property
    def names(self) -> list[str]:
        """The names of systems and runs, each once."""
        every = [*(each.name for each in self.systems), *(each.name for each in self.scored)]
        every += [*(name for name, _ in self.runs), *(each.name for each in self.certified)]
        return list(dict.fromkeys(every))

    @property
    def tasks(self) -> list["Contents"]:
        """What it shows of each task, in the order of the tasks.

        Differences and the worst of attacks belong to the first.
        """
        contents = [*map(Contents, by_task(self.systems))]
        for first in contents[:1]:
            first.differences, first.worst = self.differences, self.worst
        return contents

    @property
    def sections(self) -> list[Section]:
        """The sections of tables about the systems, which are of one task."""
        names = [system.name for system in self.systems]
        worst = [Section(TITLE, "worst", [worst_table(self.worst)])] if self.worst else []
        return [
            *worst,
            *compared(names, self.differences),
            *details(self.systems),
        ]


def read_contents(
    folders: Sequence[Path],
    names: Sequence[str] | None = None,
    differences: Sequence[Difference] = (),
    worst: Sequence[WorstOfAttacks] = (),
) -> Contents:
    """Read everything that a report shows, as far as the files can be read.

    Training runs add their curves, transfers their heat maps, evaluations their scores; one folder
    may hold several of them.

    Args:
        folders: output folders of `attack`, `certify`, `fit`, `transfer` or `evaluate`, at least
            one.
        names: the names of the systems on the page; by default see `names_of`.
        differences: differences between the first folders, from `compare`.
        worst: the worst of attacks among the first folders, from `worst_of_attacks`.

    Raises:
        InputError: a folder is missing or, without ``names``, given twice; or none can be read.
    """
    if not folders:
        raise InputError("no folders given", expected="at least one that `attack` or `fit` wrote")
    contents, unread = Contents(worst=worst), list[InputError]()
    names = names or names_of(folders)
    for folder, name in zip(folders, names, strict=True):
        _read_folder(contents, folder, name, unread)
    if unread and not (contents.names or contents.heat_maps):
        raise unread[0]
    with noting(unread):
        contents.systems = with_budget_curves(contents.systems)
    if is_evaluated(folders[0]):
        contents.of_evaluated += compared(names, differences, "differences_evaluated")
    else:
        contents.differences = differences
    with noting(unread):
        contents.of_evaluated += _adversaries(folders, names)
    contents.unread = [str(error) for error in unread]
    return contents


def _read_folder(contents: Contents, folder: Path, name: str, unread: list[InputError]) -> None:
    """Add the results in a folder to the contents, and errors to ``unread``."""

    def read_evaluation() -> None:
        contents.scored.append(read_scores(folder, name))
        check_scored(folder)

    readers: dict[str, Callable[[], Any]] = {
        TRANSFER: lambda: contents.heat_maps.extend(read_heat_maps(folder)),
        SCORES: read_evaluation,
        CERTIFICATES: lambda: contents.certified.extend(
            filter(None, [read_certified(folder, name, unread)])
        ),
        METRICS: lambda: contents.runs.append((name, read_training(folder, name))),
        CONTROL: lambda: contents.controls.append((name, read_text(folder / CONTROL).strip())),
    }
    present = {file for file in readers if (folder / file).exists()}
    for file, read in readers.items():
        if file in present:
            with noting(unread):
                read()
    summarized = (folder / SUMMARY).exists() and CERTIFICATES not in present
    # A folder with other results need not hold an attack.
    if summarized or (folder / EXAMPLES).exists() or not present - {CONTROL}:
        contents.systems += filter(None, [read_partly(folder, name, unread)])


def _adversaries(folders: Sequence[Path], names: Sequence[str]) -> list[Section]:
    """Make the section about the adversaries that several evaluated systems share."""
    answered = {
        name: folder
        for name, folder in zip(names, folders, strict=True)
        if (folder / PERTURBED).exists()
    }
    if len(answered) < 2:
        return []
    return adversaries_section([*answered], shared_adversaries([*answered.values()]))


def build_report(
    folders: Sequence[Path],
    out: Path,
    names: Sequence[str] | None = None,
    differences: Sequence[Difference] = (),
    worst: Sequence[WorstOfAttacks] = (),
) -> Contents:
    """Write a page about folders of any commands.

    What could not be read is printed on standard error.

    Args:
        folders, names, differences, worst: see `read_contents`.
        out: the HTML file, written whole or not at all.

    Returns:
        The contents of the page.

    Raises:
        InputError: see `read_contents`; or `out` cannot be written, or is a file of a folder.
    """
    files = (file for folder in folders if folder.is_dir() for file in folder.iterdir())
    check_no_input(out, [str(file) for file in files if file.suffix != _PAGE])
    contents = read_contents(folders, names, differences, worst)
    write_text(out, render_report(contents))
    say(*(f"warning: {each}" for each in contents.unread))
    return contents


def render_report(contents: Contents) -> str:
    """Render the report as HTML text."""
    every = contents.names
    names = ", ".join(every) if len(every) < 5 else f"{len(every)} systems"
    return render(
        "report",
        title=f"Robustness report: {names}" if names else "Robustness report",
        version=__version__,
        parts=[_task_values(of_task) for of_task in contents.tasks],
        plots=[(plot, Markup(draw_plot(plot)), plot_values(plot)) for plot in contents.plots],
        heat_maps=contents.heat_maps,
        pairs=pairs_tables(contents.pairs) if contents.pairs else (),
        pairs_lead=summarize_pairs(contents.pairs),
        evaluated=evaluated_tables(contents.evaluated),
        of_evaluated=contents.of_evaluated,
        controls=contents.controls,
        certified=[
            {
                "task": systems[0].task,
                "sentences": [
                    (system.name, sentence, at_edits(most_edits(sentence.record)))
                    for system, sentence in most_telling_certificates(systems)
                ],
            }
            for systems in by_task(contents.certified)
        ],
        certified_tables=certified_tables(contents.certified),
        certified_lead=summarize_certified(contents.certified),
        browser=browse(contents.systems, contents.certified),
        unread=contents.unread,
    )


def _task_values(contents: Contents) -> dict[str, Any]:
    """Return the values that the template needs about the systems of one task."""
    rows = contents.systems
    return {
        "task": rows[0].task,
        "rows": rows,
        "lead": summarize(rows, contents.worst),
        "falls": falls_of(rows),
        "losses": losses_of(rows),
        "saved": saved_of(rows),
        "sentences": [
            (system.name, sentence, Markup(system.task.pictures.draw(sentence.record)))
            for system, sentence in most_telling(rows)
        ],
        "sections": contents.sections,
        "recipes": recipes(rows),
    }


def render_examples(task: Task, records: Iterable[Mapping[str, Any]], step: int) -> str:
    """Render a page about adversarial examples that a training run's evaluation found.

    Args:
        task: the task, which draws the answers.
        records: lines of ``examples.jsonl``.
        step: the training step.
    """
    drawn = [(record, Markup(task.pictures.draw(record))) for record in records]
    title = f"Adversarial examples after step {step}"
    return render("examples", title=title, task=task, examples=drawn)


def render_example(task: Task, record: Mapping[str, Any]) -> str:
    """Render one adversarial example for a page without our style sheet."""
    return render("example", record=record, picture=Markup(task.pictures.draw(record)))


@cache
def environment() -> Environment:
    """Return the environment of the templates."""
    environment = Environment(
        loader=PackageLoader("robustparse.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "score": formatted,
        "label": score_label,
        "name": score_name,
    }
    for name, file in (("style", "style"), ("notebook_style", "notebook")):
        style = Path(__file__).with_name(f"{file}.css").read_text("utf-8")
        environment.globals[name] = Markup(style)
    environment.globals["missing"] = MISSING
    for name, file in (("script", "browser"), ("sorter", "leaderboard")):
        environment.globals |= {name: script(file), f"{name}_hash": script_hash(file)}
    return environment


def render(template: str, **values: Any) -> str:
    """Render a template as HTML text."""
    return environment().get_template(f"{template}.html.j2").render(values)


def falls_of(rows: Sequence[AttackedSystem]) -> list[tuple[float, float] | None]:
    """Return positions of the scores before and after attacks on a common scale, in pixels."""
    scores = [s for row in rows for s in (row.before, row.after) if s is not None]
    low, high = min(scores, default=0.0), max(scores, default=0.0)

    def pixel(score: float) -> float:
        start, width = _FALL
        return start + width * (score - low) / ((high - low) or 1.0)

    return [
        None if row.before is None or row.after is None else (pixel(row.before), pixel(row.after))
        for row in rows
    ]


def losses_of(rows: Sequence[AttackedSystem]) -> list[str]:
    """Return the points of the headline score that each system loses, with a 95 % interval."""
    return [_interval_text(row.counts.lost()) if _is_scored(row) else MISSING for row in rows]


def saved_of(rows: Sequence[AttackedSystem]) -> list[str]:
    """Return how many points fewer than the first system each one loses, with a 95 % interval.

    It is empty unless all systems are models under one attack on the same sentences.
    """
    same = len({tuple(row.counts.counted) for row in rows}) == 1
    if len(rows) == 1 or not same or not same_attack(rows) or not all(map(_is_scored, rows)):
        return []
    first, *others = (row.counts for row in rows)
    return [MISSING, *(_interval_text(first.lost_beyond(other)) for other in others)]


def _is_scored(row: AttackedSystem) -> bool:
    return row.before is not None and row.after is not None and bool(row.counts.counted)


def _interval_text(interval: Interval) -> str:
    return f"{interval.estimate:.1f} [{interval.lower:.1f}, {interval.upper:.1f}]"


def plot_values(plot: Plot) -> Table:
    """Make a table of a plot's points, with a row for each."""
    with_epochs = any(curve.epochs for curve in plot.curves)
    points = []
    for curve in plot.curves:
        epochs = [f"{epoch:g}" for epoch in curve.epochs] or [MISSING] * len(curve.x)
        for x, epoch, y, upper in zip(
            curve.x, epochs, curve.y, curve.upper or curve.y, strict=True
        ):
            at = [plot.name_of(x), epoch] if with_epochs else [plot.name_of(x)]
            points.append((curve.name, [*at, f"{y:.2f}" + (f" to {upper:.2f}" * (upper > y))]))
    x_labels = [plot.x_label, EPOCH] if with_epochs else [plot.x_label]
    return Table("Values", ("Line", *x_labels, plot.y_label), points, plot.title)
