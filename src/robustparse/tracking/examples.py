"""Adversarial examples for people to look at: edits marked, answers drawn before and after.

W&B shows them as a table; the run's folder holds a page for each evaluation.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from robustparse.evaluation.tally import Line, RobustnessRecord
from robustparse.files import write_text
from robustparse.metrics import score_label
from robustparse.reports.page import render_example, render_examples
from robustparse.reports.plots import BUDGET
from robustparse.tasks.task import Task

FOLDER = "adversarial_examples"
# A cell of a W&B table has no style sheet of ours.
_STYLE = '<style>mark{background:#fff1c2;font-weight:700}</style><body style="background:#fff">'


def mark_edits(words: Sequence[str], edited: Sequence[int]) -> str:
    """Write a sentence as plain text, its edited words in brackets."""
    return " ".join(f"[{w}]" if position in edited else w for position, w in enumerate(words))


def example_rows(
    task: Task, lines: Sequence[Line], pictures: Sequence[Any]
) -> tuple[list[str], list[list[Any]]]:
    """Make a table's column names and its rows, one for each line, ending with its picture."""
    score = score_label(task.headline)
    names = ["sentence", "original", "adversarial", "edits"]
    columns = [*names, f"{score} before", f"{score} after", "answers"]
    rows = [
        [
            line["id"],
            mark_edits(line["tokens"], line["edited"]),
            mark_edits(line["adversarial_tokens"], line["edited"]),
            len(line["edited"]),
            line["clean"][task.headline],
            line["attacked"][task.headline],
            picture,
        ]
        for line, picture in zip(lines, pictures, strict=True)
    ]
    return columns, rows


def example_media(record: RobustnessRecord, step: int) -> dict[str, Any]:
    """Make what W&B shows of a record: a table and a page of examples, the curve over budgets."""
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
        # Pictures in a table are part of an artifact, which a run's own files do not hold.
        page = render_examples(task, record.examples, step)
        media["robust/answers"] = wandb.Html(page, inject=False)
    if len(record.curve) > 1:
        names = [name for name in task.scores if all(name in s for s in record.curve.values())]
        media["robust/curve"] = wandb.plot.line_series(
            xs=[100 * gamma for gamma in record.curve],
            ys=[[scores[name] for scores in record.curve.values()] for name in names],
            keys=[score_label(name) for name in names],
            title="Score against edit budget",
            xname=BUDGET,
        )
    return media


class ExamplePages:
    """Writes ``adversarial_examples/step_00000199.html`` into a run's folder.

    The first new page removes those of an earlier run, or with ``keep`` those from the step
    ``before`` on.
    """

    def __init__(self, folder: Path, keep: bool, before: int | None = None) -> None:
        self.folder = folder / FOLDER
        self._remove_from = before if keep else 0

    def write(self, record: RobustnessRecord, step: int) -> None:
        """Write the page of an evaluation.

        Raises:
            InputError, OSError: it cannot be written.
        """
        if self._remove_from is not None:
            for old in self.folder.glob("step_*.html"):
                if old.name >= _name(self._remove_from):
                    old.unlink()
            self._remove_from = None
        page = render_examples(record.task, record.examples, step)
        write_text(self.folder / _name(step), page)


def _name(step: int) -> str:
    return f"step_{step:08}.html"
