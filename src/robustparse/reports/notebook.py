"""Scores and sentences for a notebook: HTML elements that bring their styles."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from markupsafe import Markup

from robustparse.reports.attacked_systems import most_telling, read_folder
from robustparse.reports.page import falls_of, losses_of, render
from robustparse.tasks.task import Task


def results_html(folder: Path, name: str, shown: int) -> str:
    """Show an attack's scores, and the sentences that show best what it does.

    Args:
        folder: the output folder of the attack.
        name: the name of the system.
        shown: the largest number of sentences.

    Raises:
        InputError: see `read_folder`.
    """
    system = read_folder(folder, name)
    pictures = [
        (each.record, Markup(system.task.pictures.draw(each.record)))
        for _, each in most_telling([system], shown)
    ]
    scores = {"rows": [system], "falls": falls_of([system]), "losses": losses_of([system])}
    return _element("results", **scores, saved=[], task=system.task, examples=pictures)


def example_html(task: Task, record: Mapping[str, Any]) -> str:
    """Show one sentence before and after an attack, and the answers to both."""
    return _element(
        "sentence", task=task, record=record, picture=Markup(task.pictures.draw(record))
    )


def scores_html(name: str, scores: Mapping[str, float | None]) -> str:
    """Show the scores of a system."""
    return _element("scores", name=name, scores=scores)


def _element(part: str, **values: Any) -> str:
    style = Markup(Path(__file__).with_name("notebook.css").read_text("utf-8"))
    return render("notebook", part=part, scoped=style, **values)
