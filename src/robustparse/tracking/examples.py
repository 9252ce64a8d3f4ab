"""Adversarial examples as tables in W&B, and as a page in the run's folder for each evaluation."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from robustparse.evaluation.records import ExampleRecord, RobustnessRecord
from robustparse.files.writing import write_text
from robustparse.metrics import score_label
from robustparse.reports.page import render_example, render_examples
from robustparse.reports.plots import BUDGET
from robustparse.tasks.task import Task

FOLDER = "adversarial_examples"
# A cell of a W&B table has no style sheet of ours.
_STYLE = '<style>mark{background:#fff1c2;font-weight:700}</style><body style="background:#fff">'


def mark_edits(words: Sequence[str], edited: Sequence[int]) -> str:
    """Return a sentence as plain text with its edited words in brackets."""
    marked = (f"[{w}]" if position in edited else w for position, w in enumerate(words) if w)
    return " ".join(marked)


def example_rows(
    task: Task, lines: Sequence[ExampleRecord], pictures: Sequence[Any]
) -> tuple[list[str], list[list[Any]]]:
    """Make the column names of a table, and a row for each record with its picture."""
    score = score_label(task.scores.headline)
    names = ["sentence", "original", "adversarial", "edits"]
    columns = [*names, f"{score} before", f"{score} after", "answers"]
    rows = [
        [
            line["id"],
            mark_edits(line["tokens"], line["edited"]),
            mark_edits(line["adversarial_tokens"], line["edited"]),
            len(line["edited"]),
            line["clean"][task.scores.headline],
            line["attacked"][task.scores.headline],
            picture,
        ]
        for line, picture in zip(lines, pictures, strict=True)
    ]
    return columns, rows


def example_media(record: RobustnessRecord, step: int) -> dict[str, Any]:
    """Make the media for W&B: a table and a page of examples, and the curve over the budgets."""
    import wandb

    task = record.task
    media: dict[str, Any] = {}
    if record.examples:
        pictures = [
            wandb.Html(_STYLE + render_example(task, line), inject=False)
            for line in record.examples
        ]
        columns, rows = example_rows(task, record.examples, pictures)
        media["robust/examples"] = wandb.Table(columns=[*columns], data=rows)
        # W&B stores a table's pictures in an artifact, outside the run's files.
        page = render_examples(task, record.examples, step)
        media["robust/answers"] = wandb.Html(page, inject=False)
    if len(record.curve) > 1:
        names = [
            name for name in task.scores.names if all(name in s for s in record.curve.values())
        ]
        media["robust/curve"] = wandb.plot.line_series(
            xs=[100 * gamma for gamma in record.curve],
            ys=[[scores[name] for scores in record.curve.values()] for name in names],
            keys=[score_label(name) for name in names],
            title="Score against edit budget",
            xname=BUDGET,
        )
    return media


def write_example_page(
    folder: Path, record: RobustnessRecord, step: int, remove_from: int | None
) -> None:
    """Write ``step_00000199.html``, the page of an evaluation, into a folder.

    Args:
        folder: the folder of the pages.
        record: the evaluation.
        step: its step.
        remove_from: remove the pages of this step and later ones before; None removes none.
    """
    for old in folder.glob("step_*.html") if remove_from is not None else ():
        if old.name >= f"step_{remove_from:08}.html":
            old.unlink()
    page = render_examples(record.task, record.examples, step)
    write_text(folder / f"step_{step:08}.html", page)
