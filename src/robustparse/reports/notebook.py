"""Scores and sentences for a notebook: elements with styles of their own, which need no page."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from markupsafe import Markup

from robustparse.reports.folders import most_telling, read_folder
from robustparse.reports.page import environment, falls_of, losses_of
from robustparse.tasks.task import Task

Line = Mapping[str, Any]


def results_html(folder: Path, name: str, shown: int) -> str:
    """Show an attack's scores, and the sentences that show best what it does.

    Args:
        folder: that it wrote.
        name: of the system.
        shown: sentences, at most.

    Raises:
        InputError: see `read_folder`.
    """
    found = read_folder(folder, name)
    pictures = [
        (each.line, Markup(found.task.draw(each.line)))
        for each in most_telling(found.successes, shown)
    ]
    of = {"rows": [found], "falls": falls_of([found]), "losses": losses_of([found])}
    return _element("results", **of, task=found.task, examples=pictures)


def example_html(task: Task, line: Line) -> str:
    """Show one sentence before and after an attack, and the answers to both."""
    return _element("sentence", task=task, line=line, picture=Markup(task.draw(line)))


def scores_html(name: str, scores: Mapping[str, float | None]) -> str:
    """Show the scores of a system."""
    return _element("scores", name=name, scores=scores)


def _element(part: str, **values: Any) -> str:
    template = environment().get_template("notebook.html.j2")
    return template.render(part=part, scoped=_style(), **values)


@cache
def _style() -> Markup:
    return Markup(Path(__file__).with_name("notebook.css").read_text("utf-8"))
